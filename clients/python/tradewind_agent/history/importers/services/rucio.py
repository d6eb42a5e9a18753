"""Traces of rucio's clients and of pilots, and events of its conveyor: a file that was copied is a record."""

from collections.abc import Mapping
from types import MappingProxyType

from tradewind.transfer import Direction, Status
from tradewind_agent.history.importers.json_messages import find_message, find_text, read_count
from tradewind_agent.history.importers.log_text import Line
from tradewind_agent.history.importers.logged_transfer import LoggedTransfer, is_local_copy, name_end, parse_moment
from tradewind_agent.history.importers.ports import ImportContext, ImportReport
from tradewind_agent.history.importers.services.rucio_events import is_event, read_event
from tradewind_agent.history.importers.sessions import SessionImporter

_EVENTS: Mapping[str, Direction] = MappingProxyType(
    {
        **dict.fromkeys(("download", "get", "get_sm", "sm_get", "get_sm_a", "sm_get_a"), Direction.DOWNLOAD),
        **dict.fromkeys(("upload", "put", "put_sm", "sm_put", "put_sm_a", "sm_put_a"), Direction.UPLOAD),
    }
)
_DONE = "DONE"
_NOTHING_MOVED = frozenset(
    {
        "ALREADY_DONE", "FOUND_IN_PCACHE", "SKIPPED", "FOUND_ROOT", "FAILED_REMOTE_OPEN", "FILE_NOT_FOUND",
        "NO_REPLICA", "MISSINGOUTPUTFILE", "BAD_COPYTOOL",
    }
)  # fmt: skip
"""States of files that were there, that jobs read where they are, or that no program tried to copy."""


def is_message_of_rucio(message: Mapping[str, object]) -> bool:
    """Return whether a message is a trace or an event of rucio, of a transfer or not."""
    return is_trace(message) or is_event(message)


def is_trace(message: Mapping[str, object]) -> bool:
    """Return whether a message is a trace of rucio, of a transfer or not."""
    return "eventType" in message and bool({"traceId", "clientState", "eventVersion"} & message.keys())


def _read_record(line: Line, context: ImportContext, report: ImportReport) -> LoggedTransfer | None:
    """Return the transfer of a trace or an event; ``None`` for one of no transfer, which is counted.

    Raises
    ------
    InvalidValue : it is damaged, or lacks an end.
    """
    trace = find_message(line.text)
    if is_event(trace):
        return read_event(trace, context, report)
    direction = _EVENTS.get(find_text(trace, "eventType").lower())
    state = find_text(trace, "clientState").upper()
    protocol = find_text(trace, "protocol").lower()
    if direction is None or state in _NOTHING_MOVED or is_local_copy(protocol):
        report.skip("traces of no transfer")
        return None
    ended = next((text for key in ("transferEnd", "validateStart", "timeEnd") if (text := find_text(trace, key))), "")
    succeeded = state == _DONE
    if not succeeded and not (ended and find_text(trace, "transferStart")):
        report.skip("failures before the copy began")
        return None
    size = read_count("dataset.total_bytes", trace, "filesize")
    if succeeded and size == 0:
        report.skip("empty files, and files without a size")
        return None
    local, remote = find_text(trace, "localSite") or find_text(trace, "hostname"), find_text(trace, "remoteSite")
    is_download = direction is Direction.DOWNLOAD
    return LoggedTransfer(
        started_at=parse_moment("started_at", find_text(trace, "transferStart")),
        ended_at=parse_moment("ended_at", ended),
        source=name_end("source", remote if is_download else local, context),
        destination=name_end("destination", local if is_download else remote, context),
        mover="rucio",
        version=find_text(trace, "eventVersion") or None,
        protocol=protocol or "unknown",
        direction=direction,
        status=Status.SUCCEEDED if succeeded else Status.FAILED,
        moved_bytes=size if succeeded else 0,
        total_bytes=size,
        identity=line.text if "traceId" in trace else "",
    )


RUCIO = SessionImporter(
    name="rucio",
    read=_read_record,
    assumptions=("a failed file moved no bytes, as far as a trace or an event says",),
)
