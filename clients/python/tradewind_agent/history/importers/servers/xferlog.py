"""Transfer log of FTP servers (wu-ftpd, ProFTPD, vsftpd): a line a file, written when it ended, with whole seconds.

The server's own name is not in a line. See xferlog(5). Pure-FTPd writes the same in an order of its own (``stats``).
"""

import re
from datetime import datetime, timedelta

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction, Status
from tradewind_agent.history.importers.fields import check_name, round_within
from tradewind_agent.history.importers.instants import parse_spelled_end
from tradewind_agent.history.importers.log_text import Line
from tradewind_agent.history.importers.logged_transfer import (
    TWO_IN_ONE,
    LoggedTransfer,
    name_server_and_client,
    parse_moment,
)
from tradewind_agent.history.importers.ports import ImportContext, ImportReport
from tradewind_agent.history.importers.sessions import SessionImporter

LINE = re.compile(
    r"(?P<ended>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d \d{4}) (?P<seconds>\d{1,9}(?:\.\d{1,9})?) "
    r"(?P<host>\S+) (?P<bytes>\d{1,18}) \S.* [ab] [CUT_]+ (?P<way>[oid]) [agr] "
    r"\S+(?: \S+){0,3} (?P<service>\S+) [01] \S+(?: (?P<end>[ci]))?"
)


STATS = re.compile(
    r"(?P<ended>\d{9,11}) [0-9a-f]{1,16}\.[0-9a-f]{1,16} \S+ (?P<host>\S+) (?P<way>[UD]) (?P<bytes>\d{1,18}) "
    r"(?P<seconds>\d{1,9}) \S.*"
)
"""Line of Pure-FTPd with ``AltLog stats:``: end, session, user, client, direction, size, duration, file."""

_BEGINNING = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d \d{4} [\d.]+ \S+ \d")
"""How a line of a transfer begins, also one that is cut off."""


def _read_record(line: Line, context: ImportContext, report: ImportReport) -> LoggedTransfer | None:
    """Return the transfer of a line; ``None`` for lines of no transfer, which are counted.

    Raises
    ------
    InvalidValue : the server's name is needed, or a value is impossible.
    """
    text = line.text.strip()
    if (stats := STATS.fullmatch(text)) is not None:
        return _build_transfer(
            stats, context, report, parse_moment("ended_at", stats["ended"]), is_sent=stats["way"] == "D", service="ftp"
        )
    found = LINE.fullmatch(text)
    if _BEGINNING.search(text, 1):
        raise InvalidValue("row", TWO_IN_ONE)
    if found is None and _BEGINNING.match(text):
        raise InvalidValue("row", "is cut off, or in a notation that is not that of xferlog(5)")
    if found is None or found["way"] == "d":
        report.skip("deletions, and lines of no transfer")
        return None
    succeeded = found["end"] != "i"
    service = check_name("mover.name", found["service"])
    ended_at = parse_spelled_end(found["ended"], context.zone)
    return _build_transfer(
        found, context, report, ended_at, is_sent=found["way"] == "o", service=service, succeeded=succeeded
    )


def _build_transfer(
    found: re.Match[str],
    context: ImportContext,
    report: ImportReport,
    ended_at: datetime,
    *,
    is_sent: bool,
    service: str,
    succeeded: bool = True,
) -> LoggedTransfer | None:
    size, duration_s = round_within("dataset.total_bytes", int(found["bytes"]), 0), float(found["seconds"])
    if size == 0 or duration_s == 0:
        report.skip("empty files, and transfers of less than a second, whose rate is unknown")
        return None
    source, destination = name_server_and_client(found["host"], context, is_sent=is_sent)
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
