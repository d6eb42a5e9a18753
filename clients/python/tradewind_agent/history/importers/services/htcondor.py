"""Transfer history of HTCondor: ClassAds of its file transfers, as daemons and plugins write them, in any notation.

An ad ends at a line of stars, at its bracket, at an empty line, or where an attribute begins it again. As JSON it is an
object.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction, Status, TransferRecord
from tradewind.units import compute_throughput_bps
from tradewind_agent.history.importers.fields import (
    parse_number,
    read_number_if_known,
    require_possible_rate,
    round_within,
)
from tradewind_agent.history.importers.json_messages import find_message, find_object
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.logged_transfer import (
    LoggedTransfer,
    find_url_part,
    is_local_copy,
    name_end,
    parse_moment,
)
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow, ImportReport, RefusedRow, refuse_row
from tradewind_agent.history.importers.sessions import add_concurrency

ATTRIBUTE = re.compile(r"\s*(?P<name>[A-Za-z]\w*)\s*=\s*(?P<value>.*?)\s*;?\s*")
_MOST_ATTRIBUTES = 1000
_LAST_ATTRIBUTES = frozenset({"TransferSuccess", "TransferType", "TransferUrl"})
"""Without one of these an ad that nothing ends is cut off."""


@dataclass(slots=True)
class _Ad:
    """An ad as far as it was read."""

    first: Line
    values: dict[str, str] = field(default_factory=dict)
    depth: int = 0
    lines: list[str] = field(default_factory=list)

    def to_line(self) -> Line:
        return self.first._replace(text="\n".join(self.lines))


def is_ad(message: Mapping[str, object]) -> bool:
    """Return whether a JSON object is the ad of a file's transfer."""
    return message.keys() >= {"TransferStartTime", "TransferEndTime", "TransferSuccess"}


def is_history(line: str) -> bool:
    """Return whether a line is an attribute that only a file transfer of HTCondor has."""
    return re.match(r"\s*Transfer(?:FileBytes|TotalBytes|StartTime|EndTime|Protocol|Success|Url)\s*=", line) is not None


class HtcondorImporter:
    """Transfer histories, which hold an attribute a line."""

    name = "htcondor"

    def read_rows(
        self, text: LogText, context: ImportContext, report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield a record a file; otherwise as ``Importer.read_rows``."""
        return add_concurrency(_list_rows(text, context, report), report)


def _list_rows(text: LogText, context: ImportContext, report: ImportReport) -> Iterator[ImportedRow | RefusedRow]:
    ad: _Ad | None = None
    for line in text.read_lines():
        if line.fault is not None:
            yield refuse_row(line.number, line.fault, line.text)
            continue
        if ad is None and line.text.startswith("{"):
            yield from _read_object(line, context, report)
            continue
        bare = line.text.strip().rstrip(";")
        found = ATTRIBUTE.fullmatch(line.text)
        if ad is not None and _ends(ad, bare, found):
            yield from _build_row(ad, context, report)
            ad = None
        if found is None:
            if ad is not None and bare == "]":
                ad.depth -= 1
            continue
        ad = ad or _Ad(line)
        if found["value"] in ("[", "{"):
            ad.depth += 1
        elif found["value"] not in ("[ ]", "[]") and len(ad.values) < _MOST_ATTRIBUTES:
            ad.values[found["name"]] = found["value"].strip('"')
            ad.lines.append(line.text)
    if ad is not None:
        yield from _build_last_row(ad, context, report)


def _build_last_row(ad: _Ad, context: ImportContext, report: ImportReport) -> Iterator[ImportedRow | RefusedRow]:
    if ad.values.keys() >= _LAST_ATTRIBUTES:
        yield from _build_row(ad, context, report)
    else:
        line = ad.to_line()
        yield refuse_row(line.number, InvalidValue("row", "is cut off: the log ends within this ad"), line.text)


def _read_object(line: Line, context: ImportContext, report: ImportReport) -> Iterator[ImportedRow | RefusedRow]:
    """Yield the row of an ad as JSON, whose members of the plugin stand in an object of their own."""
    try:
        message = find_message(line.text)
    except InvalidValue as invalid:
        yield refuse_row(line.number, invalid, line.text)
        return
    message = {**find_object(message, "DeveloperData"), **message}
    values = {name: str(value) for name, value in message.items() if isinstance(value, str | int | float)}
    yield from _build_row(_Ad(line, values, lines=[line.text]), context, report)


def _ends(ad: _Ad, bare: str, found: re.Match[str] | None) -> bool:
    """Return whether a line is the end of an ad, or the beginning of the next."""
    if bare.startswith("***"):
        return True
    if ad.depth:
        return False
    return not bare or bare in ("[", "]") or (found is not None and found["name"] in ad.values)


def _build_row(ad: _Ad, context: ImportContext, report: ImportReport) -> Iterator[ImportedRow | RefusedRow]:
    line = ad.to_line()
    try:
        record = _read_record(ad.values, line, context, report)
    except InvalidValue as invalid:
        yield refuse_row(line.number, invalid, line.text)
        return
    if record is not None:
        yield ImportedRow(record, line.number, text=line.text)


def _read_record(
    values: dict[str, str], line: Line, context: ImportContext, report: ImportReport
) -> TransferRecord | None:
    """Return the record of an ad; ``None`` for one that moved nothing, which is counted.

    Raises
    ------
    InvalidValue : it is damaged, or lacks an end.
    """
    if not {"TransferStartTime", "TransferEndTime"} <= values.keys():
        report.skip("ads of no file")
        return None
    protocol = values.get("TransferProtocol", "").lower()
    if is_local_copy(protocol):
        report.skip("copies within a host")
        return None
    succeeded = values.get("TransferSuccess", "").lower() == "true"
    moved = _count_bytes(values, succeeded=succeeded)
    started_at, ended_at = _find_span(values)
    if started_at == ended_at or (succeeded and moved == 0):
        report.skip("empty files, and files of less than a second")
        return None
    rate_bps = compute_throughput_bps(moved, (ended_at - started_at).total_seconds())
    require_possible_rate(rate_bps, context.bandwidth_bps)
    is_upload = values.get("TransferType", "").lower() == "upload"
    url = values.get("TransferUrl", "")
    remote = find_url_part(url, "hostname") or values.get("TransferHostName", "")
    local = values.get("TransferLocalMachineName", "")
    return LoggedTransfer(
        started_at=started_at,
        ended_at=ended_at,
        source=name_end("source", local if is_upload else remote, context),
        destination=name_end("destination", remote if is_upload else local, context),
        mover="htcondor",
        protocol=protocol or "unknown",
        direction=Direction.UPLOAD if is_upload else Direction.DOWNLOAD,
        status=Status.SUCCEEDED if succeeded else Status.FAILED,
        moved_bytes=moved,
        total_bytes=moved,
    ).to_record(line, context)


def _find_span(values: dict[str, str]) -> tuple[datetime, datetime]:
    """Return start and end, in full seconds; the time of the connection refines them where it agrees."""
    started_at = parse_moment("started_at", values["TransferStartTime"])
    ended_at = parse_moment("ended_at", values["TransferEndTime"])
    connected_s = parse_number("ended_at", values.get("ConnectionTimeSeconds", "0"))
    if connected_s > 0 and abs(connected_s - (ended_at - started_at).total_seconds()) <= 1:
        return started_at, started_at + timedelta(seconds=connected_s)
    return started_at, ended_at


def _count_bytes(values: dict[str, str], *, succeeded: bool) -> int:
    """Return the bytes that were moved: of a file that took several tries its size, as the total counts each try."""
    total, of_file = _read_count(values, "TransferTotalBytes"), _read_count(values, "TransferFileBytes")
    if succeeded and of_file and values.get("TransferTries", "1") != "1":
        return of_file
    return total or of_file


def _read_count(values: dict[str, str], name: str) -> int:
    return round_within(
        "outcome.bytes_moved", read_number_if_known("outcome.bytes_moved", values.get(name, "")) or 0, 0
    )
