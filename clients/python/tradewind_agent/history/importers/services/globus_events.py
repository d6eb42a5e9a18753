"""Events of a Globus task: what it moved is the sum of its progress, and its start says the settings.

The list does not name the ends, and holds the events of one task, the latest first.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.transfer import Direction, Status, TransferRecord
from tradewind.units import compute_throughput_bps
from tradewind_agent.history.importers.fields import parse_setting, require_possible_rate
from tradewind_agent.history.importers.json_messages import find_message, find_text, read_count
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.logged_transfer import LoggedTransfer, name_end, parse_moment
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow, ImportReport, RefusedRow, refuse_row

_ENDS: Mapping[str, Status] = MappingProxyType(
    {"SUCCEEDED": Status.SUCCEEDED, "FAILED": Status.FAILED, "CANCELED": Status.CANCELLED, "EXPIRED": Status.FAILED}
)
_MOST_EVENTS = 100_000


@dataclass(frozen=True, slots=True)
class _Event:
    at: datetime
    code: str
    details: Mapping[str, object]
    line: Line


def read_events(text: LogText, context: ImportContext, report: ImportReport) -> Iterator[ImportedRow | RefusedRow]:
    """Yield a record a task; otherwise as ``Importer.read_rows``."""
    if context.in_parts:
        raise InvalidValue("file", "is the events of a task, the latest first; `logs upload` reads it")
    report.assume("a task lasts from its start to its end; its events do not name its ends")
    events: list[_Event] = []
    for line in text.read_lines():
        try:
            if line.fault is not None:
                raise line.fault
            if line.text.strip() and len(events) < _MOST_EVENTS:
                events.append(_read_event(line))
        except InvalidValue as invalid:
            yield refuse_row(line.number, invalid, line.text)
    task: list[_Event] = []
    for event in _sort_events(list(_drop_repeated(events))):
        task.append(event)
        if event.code in _ENDS:
            yield from _build_row(task, context, report)
            task = []
    if task:
        report.skip("events of a task that goes on")


def _sort_events(events: list[_Event]) -> list[_Event]:
    """Return events in the order in which they came: those of one second stand as the list does, the latest first."""
    is_latest_first = bool(events) and events[0].at >= events[-1].at
    return sorted(reversed(events) if is_latest_first else events, key=lambda each: each.at)


def _drop_repeated(events: list[_Event]) -> Iterator[_Event]:
    """Yield events once: pages of a list may overlap."""
    seen: set[tuple[datetime, str, str]] = set()
    for event in events:
        key = event.at, event.code, repr(event.details)
        if key not in seen:
            seen.add(key)
            yield event


def _read_event(line: Line) -> _Event:
    event = find_message(line.text)
    at = parse_moment("started_at", find_text(event, "time"))
    try:
        details = find_message(find_text(event, "details"))
    except InvalidValue:
        details = {}
    return _Event(at, find_text(event, "code"), details, line)


def _build_row(task: list[_Event], context: ImportContext, report: ImportReport) -> Iterator[ImportedRow | RefusedRow]:
    line = task[-1].line
    try:
        record = _build_record(task, context, report)
    except InvalidValue as invalid:
        yield refuse_row(line.number, invalid, line.text)
        return
    if record is not None:
        yield ImportedRow(record, line.number)


def _build_record(task: list[_Event], context: ImportContext, report: ImportReport) -> TransferRecord | None:
    progress = (event.details for event in task if event.code == "PROGRESS")
    moved = sum(read_count("outcome.bytes_moved", details, "bytes_transferred") for details in progress)
    if moved == 0:
        report.skip("tasks that moved no byte")
        return None
    last, started = task[-1], next((event for event in task if event.code == "STARTED"), None)
    if started is None:
        raise InvalidValue("started_at", "is not among the events; list all of them by --limit 1000")
    lasted_s = max((last.at - started.at).total_seconds(), 1e-6)
    require_possible_rate(compute_throughput_bps(moved, lasted_s), context.bandwidth_bps)
    return LoggedTransfer(
        started_at=started.at,
        ended_at=last.at,
        source=name_end("source", "", context),
        destination=name_end("destination", "", context),
        mover="globus",
        direction=Direction.THIRD_PARTY,
        status=_ENDS[last.code],
        moved_bytes=moved,
        total_bytes=moved,
        parameters=_read_parameters(started.details),
    ).to_record(last.line, context)


def _read_parameters(details: Mapping[str, object]) -> Parameters:
    return Parameters(
        concurrency=parse_setting("parameters.concurrency", find_text(details, "concurrency")),
        parallelism=parse_setting("parameters.parallelism", find_text(details, "parallelism")),
        pipelining=parse_setting("parameters.pipelining", find_text(details, "pipelining"), lowest=0),
    )
