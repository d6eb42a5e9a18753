"""Billing of dCache, as its text files and as the messages that it sends to Kafka: a transfer of a pool is a record.

The line is written when the transfer has ended; text has no year. The server's own name is not in it.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction, Status
from tradewind_agent.history.importers.fields import check_name, parse_number, round_within
from tradewind_agent.history.importers.json_messages import find_message, find_object, find_text, read_count
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.logged_transfer import (
    TWO_IN_ONE,
    LoggedTransfer,
    add_year,
    name_server_and_client,
    parse_moment,
)
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow, ImportReport, RefusedRow
from tradewind_agent.history.importers.sessions import SessionImporter

_TIME = (
    r"(?P<year>\d{4}[.-])?(?P<month>\d\d)[.-](?P<day>\d\d)[ T](?P<clock>\d\d:\d\d:\d\d)"
    r"(?:[:.,]\d+)?(?P<zone>Z|[+-]\d\d:?\d\d)?\S*"
)
LINE = re.compile(
    rf"{_TIME} \[pool:[^\]]+:transfer\] \[[^,\]]*,-?\d+\] (?:\[.*?\] )?(?:\S+@\S+|<[Uu]nknown>) (?P<moved>\d{{1,18}}) "
    r"(?P<ms>\d{1,15}) (?P<created>true|false) \{(?P<protocol>[^}]*)\}(?P<rest>.*)"
)
BILLING = re.compile(rf"{_TIME} \[(?:pool|door):[^\]]+:\w+\] ")
"""How every line of billing begins."""

_TRANSFER = re.compile(rf"{_TIME} \[pool:[^\]]+:transfer\] ")
_RESULT = re.compile(r'\{(-?\d+):"')
_PROTOCOL = re.compile(r"(?P<name>\w+)-[\d.]+[:, ]\s*(?P<rest>.+)")
_CLIENT = re.compile(
    r"\[(?P<v6>[^\]]+)\]|(?P<bare>(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4})(?=:|$)"
    r"|(?P<host>[^\s:]+)(?:[: ]\d+)?(?=[: ]|$)"
)
"""Java writes all eight groups of an IPv6 address, often without brackets, before the port."""

_LAYOUT = re.compile(r"^## mover-info-message (?P<parts>.*)", re.MULTILINE)
"""In which order the lines of a file have their parts, as dCache writes it at its beginning."""

_USUAL_PARTS = "$transferred$ $connectionTime$ $created$ {$protocol$}"
_SHORT_V6 = re.compile(r"[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,}")
_UNLIKE_OTHERS_MS = 1000
"""Transfers of a file to one client in the same second rarely last equally long, to the ms, from here on."""

_COPIES_INSIDE = "copies between pools"


def _read_record(line: Line, context: ImportContext, report: ImportReport) -> LoggedTransfer | None:
    """Return the transfer of a line or message; ``None`` for what is no transfer, which is counted.

    Raises
    ------
    InvalidValue : the server's name is needed, or a value is impossible.
    """
    if line.text.startswith("{"):
        return _read_message(line, context, report)
    text = line.text.strip()
    found, begin = LINE.fullmatch(text), BILLING.match(text)
    if BILLING.search(text, 1 if begin is None else begin.end()):
        raise InvalidValue("row", TWO_IN_ONE)
    if found is None and _TRANSFER.match(text):
        raise InvalidValue("row", "is cut off, or a transfer in a notation that is not that of dCache's default")
    if found is None:
        report.skip("requests, removals and copies to tape")
        return None
    if "[pool:" in found["rest"] or "[p2p=true]" in found["rest"]:
        report.skip(_COPIES_INSIDE)
        return None
    result, protocol = _RESULT.search(found["rest"]), _PROTOCOL.match(found["protocol"])
    client = protocol and _CLIENT.match(protocol["rest"])
    if protocol is None or client is None:
        raise InvalidValue("protocol", f"names no client: {found['protocol'][:40]!r}")
    if client["host"] and "::" in (_SHORT_V6.match(protocol["rest"]) or " ")[0]:
        raise InvalidValue("protocol", f"has an address whose end is unclear: {found['protocol'][:40]!r}")
    return _build_transfer(
        context,
        report,
        ended_at=_read_time(found, context, report),
        duration_ms=float(found["ms"]),
        moved=int(found["moved"]),
        succeeded=result is not None and result[1] == "0",
        is_sent=found["created"] == "false",
        client=client["v6"] or client["bare"] or client["host"],
        protocol=protocol["name"],
        text=text,
    )


def _read_message(line: Line, context: ImportContext, report: ImportReport) -> LoggedTransfer | None:
    message = find_message(line.text)
    if find_text(message, "msgType") != "transfer":
        report.skip("requests, removals and copies to tape")
        return None
    if message.get("isP2p") in (True, "true"):
        report.skip(_COPIES_INSIDE)
        return None
    protocol = find_object(message, "protocolInfo")
    return _build_transfer(
        context,
        report,
        ended_at=parse_moment("ended_at", find_text(message, "date"), context.zone),
        duration_ms=parse_number("ended_at", find_text(message, "transferTime")),
        moved=read_count("outcome.bytes_moved", message, "transferSize"),
        succeeded=find_text(find_object(message, "status"), "code") == "0",
        is_sent=find_text(message, "isWrite") != "write",
        client=find_text(protocol, "host"),
        protocol=find_text(protocol, "protocol"),
        text=line.text,
    )


def _build_transfer(
    context: ImportContext,
    report: ImportReport,
    *,
    ended_at: datetime,
    duration_ms: float,
    moved: int,
    succeeded: bool,
    is_sent: bool,
    client: str,
    protocol: str,
    text: str,
) -> LoggedTransfer | None:
    if duration_ms == 0 or (succeeded and moved == 0):
        report.skip("empty files, and transfers of less than a millisecond")
        return None
    source, destination = name_server_and_client(client, context, is_sent=is_sent)
    size = round_within("dataset.total_bytes", moved, 0)
    return LoggedTransfer(
        started_at=ended_at - timedelta(milliseconds=round_within("ended_at", duration_ms, 0, 10**13)),
        ended_at=ended_at,
        source=source,
        destination=destination,
        mover="dcache",
        protocol=check_name("protocol", protocol).lower(),
        direction=Direction.DOWNLOAD if is_sent else Direction.UPLOAD,
        status=Status.SUCCEEDED if succeeded else Status.FAILED,
        moved_bytes=size,
        total_bytes=size,
        identity=text if duration_ms >= _UNLIKE_OTHERS_MS else "",
    )


def _read_time(found: re.Match[str], context: ImportContext, report: ImportReport) -> datetime:
    """Return the time of a line; its default notation has no year."""
    year = found["year"]
    try:
        at = datetime.fromisoformat(f"{year[:4] if year else 2000}-{found['month']}-{found['day']}T{found['clock']}")
    except ValueError:
        raise InvalidValue("ended_at", f"does not exist: {found[0][:20]!r}") from None
    if found["zone"]:
        return parse_moment("ended_at", f"{at.isoformat()}{found['zone']}")
    at = at.replace(tzinfo=context.zone)
    return (at if year else add_year(at, context, report)).astimezone(UTC)


class DcacheImporter:
    """Billing whose lines have the usual parts in the usual order."""

    name = "dcache"

    def read_rows(
        self, text: LogText, context: ImportContext, report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield a record a transfer; otherwise as ``Importer.read_rows``."""
        layouts = _LAYOUT.findall(text.read_sample())
        if any(_USUAL_PARTS not in parts for parts in layouts):
            raise InvalidValue("file", f"has lines in another layout than dCache's own, which has {_USUAL_PARTS}")
        return _TRANSFERS.read_rows(text, context, report)


_TRANSFERS = SessionImporter(
    name="dcache",
    read=_read_record,
    assumptions=("a transfer lasts as long as its client was connected",),
    has_zone=False,
)
