"""Attempts of one transfer in a CSV log: the last of them decides, and those before it are no transfers."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tradewind.transfer import Status
from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.csv_logs.names import is_identity
from tradewind_agent.history.importers.csv_verdicts import NoTransfer
from tradewind_agent.history.importers.ports import ImportedRow, RefusedRow

Item = ImportedRow | RefusedRow | NoTransfer
Key = tuple[str, ...]

_HELD_ROWS = 4096
"""Rows held back until a further attempt may have been read."""

_ENDS = ("source", "destination")
_NUMBER = re.compile(r"\s*(\d{1,9})")


@dataclass(slots=True, eq=False)
class _HeldRow:
    item: Item
    key: Key
    attempt: int


def find_attempt(columns: Columns) -> Callable[[list[str]], tuple[Key, int]] | None:
    """Return how to tell which transfer a row is an attempt of, and its number.

    ``None`` without a column of attempts, or without one that names the transfer: many have the same ends and size.
    """
    at = columns.place.get("attempt")
    identities = [place for place, title in enumerate(columns.header) if is_identity(title)]
    if at is None or not identities:
        return None
    places = [*identities, *(columns.place[name] for name in _ENDS if name in columns.place)]
    width = len(columns.header)

    def find(row: list[str]) -> tuple[Key, int]:
        cells = [*row, *[""] * width]
        number = _NUMBER.match(cells[at])
        return tuple(cells[place].strip() for place in places), int(number[1]) if number else 0

    return find


def take_last_attempts(items: Iterable[tuple[Item, Key, int]]) -> Iterator[Item]:
    """Yield rows in their order; a failed one with a further attempt becomes `NoTransfer.REPEATED`."""
    held: deque[_HeldRow] = deque()
    latest: dict[Key, _HeldRow] = {}
    for item, key, attempt in items:
        before = latest.get(key)
        if before is not None and before.attempt < attempt and _has_failed(before.item):
            before.item = NoTransfer.REPEATED
        if before is not None and before.attempt > attempt and _has_failed(item):  # the latest may stand first
            item = NoTransfer.REPEATED  # noqa: PLW2901
        row = _HeldRow(item, key, attempt)
        if before is None or before.attempt <= attempt:
            latest[key] = row
        held.append(row)
        if len(held) > _HELD_ROWS:
            yield _release(held, latest)
    while held:
        yield _release(held, latest)


def _has_failed(item: Item) -> bool:
    return isinstance(item, ImportedRow) and item.record.outcome.status is not Status.SUCCEEDED


def _release(held: deque[_HeldRow], latest: dict[Key, _HeldRow]) -> Item:
    row = held.popleft()
    if latest.get(row.key) is row:
        del latest[row.key]
    return row.item
