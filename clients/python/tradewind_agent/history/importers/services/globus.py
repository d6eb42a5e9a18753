"""Tasks of the Globus transfer service, and the events of one, as its command line prints them with ``-F json``.

``globus task list`` and ``task show`` print tasks; ``task event-list`` what one task did, the latest event first.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction, Status
from tradewind_agent.history.importers.json_messages import find_message, find_object, find_text, read_count
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.logged_transfer import LoggedTransfer, name_end, parse_moment
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow, ImportReport, RefusedRow
from tradewind_agent.history.importers.services.globus_events import read_events
from tradewind_agent.history.importers.sessions import SessionImporter

_STATUS: Mapping[str, Status] = MappingProxyType({"SUCCEEDED": Status.SUCCEEDED, "FAILED": Status.FAILED})
_EVENT = re.compile(r'"DATA_TYPE": ?"event"')
_NOT_ENDED = frozenset({"ACTIVE", "INACTIVE"})


def _read_record(line: Line, context: ImportContext, report: ImportReport) -> LoggedTransfer | None:
    """Return the transfer of a task; ``None`` for one that moved nothing or goes on, which is counted.

    Raises
    ------
    InvalidValue : it is damaged, or has an impossible value.
    """
    task = find_message(line.text)
    state = find_text(task, "status")
    if find_text(task, "type") not in ("", "TRANSFER") or state in _NOT_ENDED:
        report.skip("deletions, and tasks that go on")
        return None
    status = Status.CANCELLED if _was_cancelled(task) else _STATUS.get(state)
    if status is None:
        raise InvalidValue("outcome.status", f"is unknown: {state[:40]!r}")
    moved = read_count("outcome.bytes_moved", task, "bytes_transferred")
    if moved == 0 and status is Status.SUCCEEDED:
        report.skip("tasks that moved no byte")
        return None
    started_at, ended_at = (
        parse_moment("started_at", find_text(task, "request_time")),
        parse_moment("ended_at", find_text(task, "completion_time")),
    )
    if started_at == ended_at:
        report.skip("tasks of less than a second")
        return None
    if (source_id := find_text(task, "source_endpoint_id")) and source_id == find_text(task, "destination_endpoint_id"):
        report.skip("tasks within one endpoint")
        return None
    source = _name_end("source", task, context)
    destination = _name_end("destination", task, context)
    done = read_count("outcome.files_done", task, "files_transferred")
    skipped = ("files_skipped", "subtasks_skipped_errors")
    left_out = sum(read_count("dataset.file_count", task, key) for key in skipped)
    files = max(read_count("dataset.file_count", task, "files") - left_out, done, 1)
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
        files_done=None if status is Status.SUCCEEDED else done,
        identity=line.text if "task_id" in task else "",
    )


def _was_cancelled(task: Mapping[str, object]) -> bool:
    """Return whether a user ended a task, which Globus counts among the failed ones."""
    return find_text(find_object(task, "fatal_error"), "code") == "CANCELED"


def _name_end(end: str, task: Mapping[str, object], context: ImportContext) -> str:
    keys = (f"{end}_endpoint_display_name", f"{end}_endpoint", f"{end}_endpoint_id")
    return name_end(end, next((name for key in keys if (name := find_text(task, key).strip())), ""), context)


_TASKS = SessionImporter(
    name="globus",
    read=_read_record,
    assumptions=("a task lasts from its request to its completion, with the time in the queue",),
)


class GlobusImporter:
    """Documents of tasks or of events."""

    name = "globus"

    def read_rows(
        self, text: LogText, context: ImportContext, report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield a record a task; otherwise as ``Importer.read_rows``."""
        has_events = _EVENT.search(text.read_sample()) is not None
        return read_events(text, context, report) if has_events else _TASKS.read_rows(text, context, report)
