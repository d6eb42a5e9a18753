"""Files of the jobs of FTS, as ``GET /jobs/ID/files`` returns them: a file with its times is a transfer.

A file lasts for ``tx_duration``, the time of its copying; from its start to its finish FTS also prepares the storage
and compares checksums.
"""

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType

from tradewind.transfer import Direction, Status
from tradewind_agent.history.importers.fields import check_name, parse_count, parse_number
from tradewind_agent.history.importers.json_messages import find_text
from tradewind_agent.history.importers.logged_transfer import LoggedTransfer, find_url_part, name_end, parse_moment
from tradewind_agent.history.importers.ports import ImportContext, ImportReport

_STATUS: Mapping[str, Status] = MappingProxyType(
    {"FINISHED": Status.SUCCEEDED, "FAILED": Status.FAILED, "CANCELED": Status.CANCELLED}
)


def is_file_of_job(message: Mapping[str, object]) -> bool:
    """Return whether a message is a file of a job; messages of states name no addresses so."""
    return {"file_state", "source_surl", "dest_surl"} <= message.keys()


def read_file(message: Mapping[str, object], context: ImportContext, report: ImportReport) -> LoggedTransfer | None:
    """Return the transfer of a file; ``None`` for one that did not move anything, which is counted.

    Raises
    ------
    InvalidValue : it is damaged, or has an impossible value.
    """
    status = _STATUS.get(find_text(message, "file_state"))
    lasted_s = parse_number("ended_at", find_text(message, "tx_duration") or "0")
    if status is None or lasted_s == 0:
        report.skip("files that wait, go on, or ended before they were copied")
        return None
    size, moved = (_count_bytes(message, key) for key in ("filesize", "transferred"))
    moved = size or moved if status is Status.SUCCEEDED else moved
    if status is Status.SUCCEEDED and moved == 0:
        report.skip("empty files")
        return None
    ended_at = parse_moment("ended_at", find_text(message, "finish_time"))
    source, destination = find_text(message, "source_surl"), find_text(message, "dest_surl")
    scheme = find_url_part(source, "scheme")
    return LoggedTransfer(
        started_at=ended_at - timedelta(seconds=lasted_s),
        ended_at=ended_at,
        source=name_end("source", find_url_part(source, "hostname"), context),
        destination=name_end("destination", find_url_part(destination, "hostname"), context),
        mover="fts",
        protocol=check_name("protocol", scheme) if scheme else "unknown",
        direction=Direction.THIRD_PARTY,
        status=status,
        moved_bytes=moved,
        total_bytes=max(size, moved),
    )


def _count_bytes(message: Mapping[str, object], key: str) -> int:
    return parse_count("outcome.bytes_moved", find_text(message, key) or "0")
