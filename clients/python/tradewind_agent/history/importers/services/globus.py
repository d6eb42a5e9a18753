"""Tasks of the Globus transfer service, as ``globus task list -F json`` and ``task show -F json`` print them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction, Status, TransferRecord
from tradewind_agent.history.importers.endpoints import name_endpoint
from tradewind_agent.history.importers.fields import check_instant, check_name, parse_number, round_within
from tradewind_agent.history.importers.json_messages import find_message, find_text
from tradewind_agent.history.importers.log_text import Line
from tradewind_agent.history.importers.logged_transfer import LoggedTransfer
from tradewind_agent.history.importers.ports import ImportContext, ImportReport
from tradewind_agent.history.importers.sessions import SessionImporter

_STATUS: Mapping[str, Status] = MappingProxyType({"SUCCEEDED": Status.SUCCEEDED, "FAILED": Status.FAILED})
_NOT_ENDED = frozenset({"ACTIVE", "INACTIVE"})


def _read_record(line: Line, context: ImportContext, report: ImportReport) -> TransferRecord | None:
    """Return the record of a task; ``None`` for one that moved nothing or goes on, which is counted.

    Raises
    ------
    InvalidValue : it is damaged, or has an impossible value.
    """
    task = find_message(line.text)
    state = find_text(task, "status")
    if find_text(task, "type") not in ("", "TRANSFER") or state in _NOT_ENDED:
        report.skip("deletions, and tasks that go on")
        return None
    status = _STATUS.get(state)
    if status is None:
        raise InvalidValue("outcome.status", f"is unknown: {state[:40]!r}")
    moved = _read_count("outcome.bytes_moved", task, "bytes_transferred")
    if moved == 0 and status is Status.SUCCEEDED:
        report.skip("tasks that moved no byte")
        return None
    started_at, ended_at = (
        _parse_moment("started_at", task, "request_time"),
        _parse_moment("ended_at", task, "completion_time"),
    )
    source = _name_end("source", task, context.source, context)
    destination = _name_end("destination", task, context.destination, context)
    done = _read_count("outcome.files_done", task, "files_transferred")
    files = max(
        _read_count("dataset.file_count", task, "files") - _read_count("dataset.file_count", task, "files_skipped"),
        done,
        1,
    )
    return LoggedTransfer(
        started_at=started_at,
        ended_at=ended_at,
        source=source,
        destination=destination,
        mover="globus",
        direction=Direction.THIRD_PARTY,
        status=status,
        moved_bytes=moved,
        total_bytes=max(moved, 1),
        file_count=files,
        files_done=done if status is Status.FAILED else None,
    ).to_record(line, context)


def _read_count(name: str, task: Mapping[str, object], key: str) -> int:
    text = find_text(task, key)
    return round_within(name, parse_number(name, text), 0) if text else 0


def _parse_moment(name: str, task: Mapping[str, object], key: str) -> datetime:
    text = find_text(task, key)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidValue(name, f"is no time: {text[:40]!r}" if text else "is missing") from None
    return check_instant(name, at if at.utcoffset() is not None else at.replace(tzinfo=UTC))


def _name_end(end: str, task: Mapping[str, object], given: str | None, context: ImportContext) -> str:
    for key in (f"{end}_endpoint_display_name", f"{end}_endpoint", f"{end}_endpoint_id"):
        if name := find_text(task, key).strip():
            return check_name(end, name_endpoint(name, context.aliases))
    if given is None:
        raise InvalidValue(end, f"is not in the task; give it with --{end}")
    return check_name(end, given)


GLOBUS = SessionImporter(
    name="globus",
    read=_read_record,
    assumptions=("a task lasts from its request to its completion, with the time in the queue",),
)
