"""Values of rclone's stats, and which stats can be earlier ones of the same run."""

from collections.abc import Mapping
from datetime import datetime

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers import json_messages
from tradewind_agent.history.importers.fields import parse_number
from tradewind_agent.history.importers.json_messages import find_text

_LONGEST_RUN_S = 1e8


def are_complete(stats: Mapping[str, object]) -> bool:
    """Return whether stats say that all is moved."""
    bytes_left = read_count(stats, "totalBytes") - read_count(stats, "bytes")
    files_left = read_count(stats, "totalTransfers") - read_count(stats, "transfers")
    return bytes_left <= 0 and files_left <= 0 and not stats.get("transferring")


def can_become(stats: Mapping[str, object], later: Mapping[str, object]) -> bool:
    """Return whether stats can be of the run that has other stats later: what it counts only grows.

    Totals may fall where a file failed. With nothing in flight, no bytes come without a file that is done. Damaged
    stats are of no other run.
    """
    names = ["bytes", "transfers"]
    try:
        if read_count(stats, "errors") >= read_count(later, "errors"):
            names += ["totalBytes", "totalTransfers"]
        grown = {name: read_count(later, name) - read_count(stats, name) for name in names}
        is_done = are_complete(stats)
    except InvalidValue:
        return False
    if any(growth < 0 for growth in grown.values()):
        return False
    return not is_done or (grown["bytes"] == 0) == (grown["transfers"] == 0)


def is_same_work(stats: Mapping[str, object], later: Mapping[str, object]) -> bool:
    """Return whether stats time the same transfers to the nanosecond: the run only compared files in between."""
    busy_s = stats.get("transferTime")
    return bool(busy_s) and busy_s == later.get("transferTime") and stats.get("bytes") == later.get("bytes")


def read_seconds(stats: Mapping[str, object], key: str) -> float:
    """Return a time of stats, s; 0 where they lack it."""
    value = stats.get(key)
    if type(value) is float and 0 <= value <= _LONGEST_RUN_S:  # nearly always
        return value
    text = find_text(stats, key)
    seconds = parse_number(f"stats.{key}", text) if text else 0.0
    if seconds > _LONGEST_RUN_S:
        raise InvalidValue(f"stats.{key}", f"is no time of a run: {seconds:g} s")
    return seconds


def read_count(stats: Mapping[str, object], key: str) -> int:
    """Return a count of stats; 0 where they lack it."""
    return json_messages.read_count(f"stats.{key}", stats, key)


def parse_moment(text: str) -> datetime | None:
    """Return the time of a message; ``None`` where it has none.

    Raises
    ------
    InvalidValue : it is no time, or has no zone.
    """
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidValue("ended_at", f"is no time: {text[:40]!r}") from None
    if at.utcoffset() is None:
        raise InvalidValue("ended_at", f"has no zone: {text[:40]!r}")
    return at
