"""Transfer log of FTP servers (wu-ftpd, ProFTPD, vsftpd): a line a file, written when it ended, with whole seconds.

The server's own name is not in a line. See xferlog(5).
"""

import re
from datetime import timedelta

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction, Status
from tradewind_agent.history.importers.fields import check_name, round_within
from tradewind_agent.history.importers.instants import parse_spelled_end
from tradewind_agent.history.importers.log_text import Line
from tradewind_agent.history.importers.logged_transfer import TWO_IN_ONE, LoggedTransfer, name_server_and_client
from tradewind_agent.history.importers.ports import ImportContext, ImportReport
from tradewind_agent.history.importers.sessions import SessionImporter

LINE = re.compile(
    r"(?P<ended>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}) (?P<seconds>\d{1,9}(?:\.\d{1,9})?) "
    r"(?P<host>\S+) (?P<bytes>\d{1,18}) \S.* [ab] [CUT_]+ (?P<way>[oid]) [agr] \S+ (?P<service>\S+) [01] \S+"
    r"(?: (?P<end>[ci]))?"
)


_BEGINNING = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} [\d.]+ \S+ \d")
"""How a line of a transfer begins, also one that is cut off."""


def _read_record(line: Line, context: ImportContext, report: ImportReport) -> LoggedTransfer | None:
    """Return the transfer of a line; ``None`` for lines of no transfer, which are counted.

    Raises
    ------
    InvalidValue : the server's name is needed, or a value is impossible.
    """
    text = line.text.strip()
    found = LINE.fullmatch(text)
    if _BEGINNING.search(text, 1):
        raise InvalidValue("row", TWO_IN_ONE)
    if found is None and _BEGINNING.match(text):
        raise InvalidValue("row", "is cut off, or in a notation that is not that of xferlog(5)")
    if found is None or found["way"] == "d":
        report.skip("deletions, and lines of no transfer")
        return None
    size = round_within("dataset.total_bytes", int(found["bytes"]), 0)
    succeeded = found["end"] != "i"
    duration_s = float(found["seconds"])
    if size == 0 or duration_s == 0:
        report.skip("empty files, and transfers of less than a second, whose rate is unknown")
        return None
    ended_at = parse_spelled_end(found["ended"], context.zone)
    is_sent = found["way"] == "o"
    source, destination = name_server_and_client(found["host"], context, is_sent=is_sent)
    service = check_name("mover.name", found["service"])
    return LoggedTransfer(
        started_at=ended_at - timedelta(seconds=duration_s),
        ended_at=ended_at,
        source=source,
        destination=destination,
        mover=service,
        protocol=service.lower(),
        direction=Direction.DOWNLOAD if is_sent else Direction.UPLOAD,
        status=Status.SUCCEEDED if succeeded else Status.FAILED,
        moved_bytes=size,
        total_bytes=size,
    )


XFERLOG = SessionImporter(
    name="xferlog",
    read=_read_record,
    assumptions=("durations are in full seconds, as the server writes them",),
    has_zone=False,
)
