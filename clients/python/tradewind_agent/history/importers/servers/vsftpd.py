"""vsftpd's own log (``vsftpd_log_file``): a line a file, written when it ended, with its bytes and its rate.

The server's own name is not in a line. The rate, in KiB/s with two decimals, says how long a file took.
"""

import re
from datetime import timedelta

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction, Status
from tradewind.units import BITS_PER_BYTE, KIB
from tradewind_agent.history.importers.fields import round_within
from tradewind_agent.history.importers.instants import parse_spelled_end
from tradewind_agent.history.importers.log_text import Line
from tradewind_agent.history.importers.logged_transfer import TWO_IN_ONE, LoggedTransfer, name_server_and_client
from tradewind_agent.history.importers.ports import ImportContext, ImportReport
from tradewind_agent.history.importers.sessions import SessionImporter

_TIME = r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d \d{4}"
LINE = re.compile(
    rf"(?:(?P<ended>{_TIME}) \[pid \d{{1,10}}\] )?(?:\[[^\]]*\] )?(?P<result>OK|FAIL) (?P<way>DOWNLOAD|UPLOAD): "
    r"Client \"(?P<client>[^\"]*)\", \".*\"(?:, (?P<bytes>\d{1,18}) bytes)?, (?P<rate>\d{1,15}[.,]\d\d)Kbyte/sec"
)
MESSAGE = re.compile(
    rf"(?:{_TIME} \[pid \d{{1,10}}\] )?(?:\[[^\]]*\] )?"
    r"(?:(?:OK|FAIL) (?:LOGIN|DOWNLOAD|UPLOAD|MKDIR|RMDIR|DELETE|RENAME|CHMOD): |CONNECT: |FTP (?:command|response): "
    r"|DEBUG: )Client \""
)
"""How every line begins; one for syslog has no time and no process."""

_TRANSFER = re.compile(r" (?:DOWNLOAD|UPLOAD): Client \"")
_BEGINNING = re.compile(rf"{_TIME} \[pid \d")
_LONGEST_S = 1e8


def _read_record(line: Line, context: ImportContext, report: ImportReport) -> LoggedTransfer | None:
    """Return the transfer of a line; ``None`` for lines of no transfer, which are counted.

    Raises
    ------
    InvalidValue : the server's name is needed, the line has no time, or a value is impossible.
    """
    text = line.text.strip()
    if _BEGINNING.search(text, 1):
        raise InvalidValue("row", TWO_IN_ONE)
    found = LINE.fullmatch(text)
    if found is None and MESSAGE.match(text) and _TRANSFER.search(f" {text}"):
        raise InvalidValue("row", "is cut off, or in a notation that is not that of vsftpd")
    if found is None:
        report.skip("logins, commands, and lines of no transfer")
        return None
    succeeded = found["result"] == "OK"
    size = round_within("dataset.total_bytes", int(found["bytes"] or 0), 0)
    if size == 0:
        report.skip("empty files" if succeeded else "failures before the first byte")
        return None
    rate_bps = float(found["rate"].replace(",", ".")) * KIB * BITS_PER_BYTE
    if rate_bps == 0 or (duration_s := BITS_PER_BYTE * size / rate_bps) > _LONGEST_S:
        raise InvalidValue("outcome.throughput_bps", "is zero, or next to it")
    if found["ended"] is None:
        raise InvalidValue("ended_at", "is not in the line: syslog has the time; set syslog_enable=NO in vsftpd.conf")
    ended_at = parse_spelled_end(found["ended"], context.zone)
    is_sent = found["way"] == "DOWNLOAD"
    source, destination = name_server_and_client(found["client"], context, is_sent=is_sent)
    return LoggedTransfer(
        started_at=ended_at - timedelta(seconds=duration_s),
        ended_at=ended_at,
        source=source,
        destination=destination,
        mover="ftp",
        protocol="ftp",
        direction=Direction.DOWNLOAD if is_sent else Direction.UPLOAD,
        status=Status.SUCCEEDED if succeeded else Status.FAILED,
        moved_bytes=size,
        total_bytes=size,
        rate_bps=rate_bps,
    )


VSFTPD = SessionImporter(
    name="vsftpd",
    read=_read_record,
    assumptions=("a file lasts for its bytes over its rate, which the server rounds to 0.01 KiB/s",),
    has_zone=False,
)
