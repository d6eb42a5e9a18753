"""Events of rucio's conveyor, as its daemon hermes sends them to brokers and to search: the end of a copy is a record.

An event is ``{"event_type": "transfer-done", "payload": {…}, "created_at": …}``. Monitoring of WLCG leaves out the
payload's own level and writes its names with underscores.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType

from tradewind.transfer import Direction, Status
from tradewind_agent.history.importers.fields import check_name, parse_number, round_within
from tradewind_agent.history.importers.json_messages import find_message, find_object, find_text, read_count
from tradewind_agent.history.importers.logged_transfer import (
    LoggedTransfer,
    find_url_part,
    is_local_copy,
    name_end,
    parse_moment,
)
from tradewind_agent.history.importers.ports import ImportContext, ImportReport

_ENDS: Mapping[str, Status] = MappingProxyType({"transfer-done": Status.SUCCEEDED, "transfer-failed": Status.FAILED})
_KINDS = ("transfer-", "deletion-", "stagein-", "stageout-", "rule_", "datasetlock_", "create_", "close", "erase")
_LONGEST_S = 10**8
_MEMBERS = frozenset({"src_rse", "dst_rse", "request_id", "transfer_id", "rse", "dataset"})


def is_event(message: Mapping[str, object]) -> bool:
    """Return whether a message is an event of rucio, of a transfer or not."""
    kind = find_text(message, "event_type").lower()
    if not kind.startswith(_KINDS):
        return False
    return bool({"payload", "payload_nolimit"} & message.keys() or _MEMBERS & {_rename(name) for name in message})


def _rename(name: str) -> str:
    return name.lower().replace("-", "_")


def read_event(message: Mapping[str, object], context: ImportContext, report: ImportReport) -> LoggedTransfer | None:
    """Return the transfer of an event; ``None`` for one of no transfer's end, which is counted.

    Raises
    ------
    InvalidValue : it is damaged, or lacks an end.
    """
    status = _ENDS.get(find_text(message, "event_type").lower())
    if status is None:
        report.skip("events of no transfer's end")
        return None
    event = _open_payload(message)
    protocol = find_text(event, "protocol").lower()
    if is_local_copy(protocol):
        report.skip("copies within a host, and tests of FTS")
        return None
    ended = find_text(event, "transferred_at")
    lasted_s = _read_duration(event)
    has_start = bool(find_text(event, "started_at")) or lasted_s is not None
    if status is Status.FAILED and not (has_start and ended):
        report.skip("failures before the copy began")
        return None
    size = read_count("dataset.total_bytes", event, "file_size") or read_count("dataset.total_bytes", event, "bytes")
    if status is Status.SUCCEEDED and size == 0:
        report.skip("empty files, and files without a size")
        return None
    ended_at = parse_moment("ended_at", ended)
    started_at = _find_start(event, ended_at, lasted_s)
    if started_at == ended_at:
        report.skip("copies of less than a second")
        return None
    return LoggedTransfer(
        started_at=started_at,
        ended_at=ended_at,
        source=_name_end("source", event, "src", context),
        destination=_name_end("destination", event, "dst", context),
        mover="rucio",
        protocol=check_name("protocol", protocol) if protocol else "unknown",
        direction=Direction.THIRD_PARTY,
        status=status,
        moved_bytes=size if status is Status.SUCCEEDED else 0,
        total_bytes=size,
        identity=f"{status} {find_text(event, 'request_id')}" if "request_id" in event else "",
    )


def _read_duration(event: Mapping[str, object]) -> float | None:
    """Return how long a copy took, s; ``None`` where an event does not say, for which rucio writes -1."""
    text = find_text(event, "duration").strip()
    return None if not text or text.startswith("-") else parse_number("duration", text) or None


def _find_start(event: Mapping[str, object], ended_at: datetime, lasted_s: float | None) -> datetime:
    """Return when a copy began: as the event says it, or else by how long it took."""
    started = find_text(event, "started_at")
    if started or lasted_s is None:
        return parse_moment("started_at", started)
    round_within("duration", lasted_s, 0, _LONGEST_S)
    return ended_at - timedelta(seconds=lasted_s)


def _open_payload(message: Mapping[str, object]) -> Mapping[str, object]:
    """Return what an event says of its transfer, by names with underscores; a longer payload has a name of its own."""
    inner: Mapping[str, object] = {}
    for name in ("payload_nolimit", "payload"):
        held = message.get(name)
        inner = inner or (find_message(held, "payload") if isinstance(held, str) else find_object(message, name))
    return {_rename(name): value for name, value in (inner or message).items()}


def _name_end(end: str, event: Mapping[str, object], side: str, context: ImportContext) -> str:
    site = find_text(event, f"{side}_rse").strip()
    return name_end(end, site or find_url_part(find_text(event, f"{side}_url"), "hostname"), context)
