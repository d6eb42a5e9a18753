"""How many transfers of a host pair ran at once: concurrency for logs that write one line a file and no setting."""

from bisect import bisect_right, insort
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Generic, TypeVar

HELD_ROWS = 4096
"""Rows held back until those that overlap them have been read; servers write a line when a transfer ends."""

HostPair = tuple[str, str]
T = TypeVar("T")
_END = attrgetter("ended_s")


@dataclass(slots=True, eq=False)
class _PendingTransfer(Generic[T]):
    item: T
    pair: HostPair | None = None
    started_s: float = 0.0
    ended_s: float = 0.0
    busy_s: float = 0.0

    @property
    def concurrency(self) -> int | None:
        """Mean number of transfers under way during this one, itself included, rounded."""
        if self.pair is None:
            return None
        return max(1, round(self.busy_s / (self.ended_s - self.started_s)))


class OverlapWindow(Generic[T]):
    """Rows pass through in order, each with the mean number of transfers of its host pair that ran at the same time.

    Exact for any two transfers with fewer than ``HELD_ROWS`` lines between them; a row costs as many steps as transfers
    overlap it.
    """

    def __init__(self) -> None:
        self._rows: deque[_PendingTransfer[T]] = deque()
        self._by_pair: defaultdict[HostPair, list[_PendingTransfer[T]]] = defaultdict(list)

    def pass_row(self, item: T) -> Sequence[tuple[T, int | None]]:
        """Take a row that is no transfer; return rows that are done."""
        self._rows.append(_PendingTransfer(item))
        return self._release_beyond(HELD_ROWS)

    def transfer(
        self, item: T, pair: HostPair, started_at: datetime, ended_at: datetime
    ) -> Sequence[tuple[T, int | None]]:
        """Take a transfer that lasted for some time; return rows that are done."""
        started_s, ended_s = started_at.timestamp(), ended_at.timestamp()
        row = _PendingTransfer(item, pair, started_s, ended_s, ended_s - started_s)
        neighbours = self._by_pair[pair]
        for index in range(bisect_right(neighbours, started_s, key=_END), len(neighbours)):
            other = neighbours[index]
            shared_s = min(ended_s, other.ended_s) - max(started_s, other.started_s)
            if shared_s > 0:
                row.busy_s += shared_s
                other.busy_s += shared_s
        insort(neighbours, row, key=_END)
        self._rows.append(row)
        return self._release_beyond(HELD_ROWS)

    def release_rest(self) -> Sequence[tuple[T, int | None]]:
        """Return the rows that are still pending at the end of the log."""
        return self._release_beyond(0)

    def _release_beyond(self, held: int) -> Sequence[tuple[T, int | None]]:
        released = []
        while len(self._rows) > held:
            row = self._rows.popleft()
            if row.pair is not None:
                neighbours = self._by_pair[row.pair]
                neighbours.remove(row)
                if not neighbours:
                    del self._by_pair[row.pair]
            released.append((row.item, row.concurrency))
        return released
