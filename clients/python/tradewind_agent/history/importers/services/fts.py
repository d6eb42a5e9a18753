"""Completion messages of FTS (a JSON object a file), and the files of its jobs as its REST interface returns them.

Messages hold strings in 2016, and typed values under ``data`` from 2017 on.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.transfer import Direction, Status
from tradewind_agent.history.importers.fields import check_instant, check_name, parse_count, parse_number, round_within
from tradewind_agent.history.importers.json_messages import find_message, find_object, find_text
from tradewind_agent.history.importers.log_text import Line
from tradewind_agent.history.importers.logged_transfer import LoggedTransfer, find_url_part, is_local_copy, name_end
from tradewind_agent.history.importers.ports import ImportContext, ImportReport
from tradewind_agent.history.importers.services.fts_files import is_file_of_job, read_file
from tradewind_agent.history.importers.sessions import SessionImporter

_STATUS: Mapping[str, Status] = MappingProxyType(
    {"ok": Status.SUCCEEDED, "error": Status.FAILED, "abort": Status.CANCELLED, "canceled": Status.CANCELLED}
)
_MS_PER_S = 1e3
_LATEST_MS = 4.1e12
_MOST_STREAMS = 32767


def _read_record(line: Line, context: ImportContext, report: ImportReport) -> LoggedTransfer | None:
    """Return the transfer of a message; ``None`` for what is no message of a transfer's end, which is counted.

    Raises
    ------
    InvalidValue : a message that is damaged, or has an impossible value.
    """
    if not line.text.lstrip().startswith("{"):
        report.skip("no messages of FTS")
        return None
    message = find_message(line.text)
    message = find_object(message, "data") or message
    if is_file_of_job(message):
        return read_file(message, context, report)
    if (kind := _find_kind_without_transfer(message)) is not None:
        report.skip(kind)
        return None
    status = _STATUS.get(find_text(message, "t_final_transfer_state").strip().lower())
    if status is None:
        raise InvalidValue("outcome.status", f"is unknown: {find_text(message, 't_final_transfer_state')[:40]!r}")
    if status is not Status.SUCCEEDED and find_text(message, "timestamp_tr_st") == "0":
        report.skip("copies that failed before they started")
        return None
    started_at = _parse_moment("started_at", message, "timestamp_tr_st")
    ended_at = _parse_moment("ended_at", message, "timestamp_tr_comp")
    moved = parse_count("outcome.bytes_moved", find_text(message, "tr_bt_transfered"))
    size = _read_size(message, "f_size") or _read_size(message, "file_size")
    if status is Status.SUCCEEDED:  # what was moved is as of the last report before the end
        moved = size or moved
        if moved == 0:
            report.skip("empty files")
            return None
    source = _name_end("source", message, "src", context)
    destination = _name_end("destination", message, "dst", context)
    return LoggedTransfer(
        started_at=started_at,
        ended_at=ended_at,
        source=source,
        destination=destination,
        mover="fts",
        protocol=_find_protocol(message),
        direction=Direction.THIRD_PARTY,
        status=status,
        moved_bytes=moved,
        total_bytes=max(size, moved),
        path=Path(
            buffer_bytes=_read_chosen("path.buffer_bytes", message, "tcp_buf_size")
            or _read_chosen("path.buffer_bytes", message, "buf_size"),
        ),
        parameters=Parameters(
            parallelism=_read_chosen("parameters.parallelism", message, "nstreams", _MOST_STREAMS),
            io_block_bytes=_read_chosen("parameters.io_block_bytes", message, "block_size"),
        ),
        identity=repr(message) if "tr_id" in message else "",  # brokers add heads of their own
    )


def _find_kind_without_transfer(message: Mapping[str, object]) -> str | None:
    """Return what a message is that is not of the end of a transfer, ``None`` for one that is."""
    if "t_final_transfer_state" not in message:
        return "messages of a start or of a state"
    return "copies within a host, and tests of FTS" if is_local_copy(_find_protocol(message)) else None


def _parse_moment(field: str, message: Mapping[str, object], key: str) -> datetime:
    """Parse a time in milliseconds since 1970; FTS writes 0 for what has not started."""
    ms = parse_number(field, find_text(message, key))
    if not 0 < ms < _LATEST_MS:
        raise InvalidValue(field, "is zero: the copy never began" if ms == 0 else f"is no time in ms: {ms:g}")
    return check_instant(field, datetime.fromtimestamp(ms / _MS_PER_S, UTC))


def _read_size(message: Mapping[str, object], key: str) -> int:
    """Return the size of a file, 0 where it is absent, or -1 as FTS writes what it does not know."""
    text = find_text(message, key).strip()
    return 0 if text in ("", "-1") else parse_count("dataset.total_bytes", text)


def _read_chosen(field: str, message: Mapping[str, object], key: str, highest: int = 1 << 40) -> int | None:
    """Return a setting, ``None`` where the message lacks it or says 0, the storage's own choice."""
    text = find_text(message, key)
    return (round_within(field, parse_number(field, text), 0, highest) or None) if text.strip() else None


def _name_end(end: str, message: Mapping[str, object], side: str, context: ImportContext) -> str:
    host = find_text(message, f"{side}_hostname").strip()
    return name_end(end, host or find_url_part(find_text(message, f"{side}_url"), "hostname"), context)


def _find_protocol(message: Mapping[str, object]) -> str:
    scheme = find_url_part(find_text(message, "src_url"), "scheme")
    return check_name("protocol", scheme) if scheme else "unknown"


FTS = SessionImporter(
    name="fts",
    read=_read_record,
    assumptions=("a transfer lasts from the begin to the end of copying, without the preparation by the storage",),
)
