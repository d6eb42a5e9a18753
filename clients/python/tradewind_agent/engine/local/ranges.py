"""Sets of byte positions as sorted, disjoint intervals; ends are inclusive, as in HTTP's Range header."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_SMALLEST_RANGE_BYTES = 256 * 1024
"""Below this length another request costs more than another stream gains."""


class ByteRange(NamedTuple):
    """Bytes ``first`` to ``last``, both included."""

    first: int
    last: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1


class RangeSet:
    """A set of bytes of a file, received or still to be requested. Adjacent ranges are merged."""

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._ranges: list[ByteRange] = []
        for first, last in ranges:
            self.add(first, last)

    def __iter__(self) -> Iterator[ByteRange]:
        return iter(self._ranges)

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RangeSet) and self._ranges == other._ranges

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        return f"RangeSet({[tuple(each) for each in self._ranges]})"

    @property
    def total_bytes(self) -> int:
        return sum([last - first + 1 for first, last in self._ranges])

    @property
    def unbroken_bytes(self) -> int:
        """Return the number of bytes from the first one of the file on that are in without a gap."""
        return self._ranges[0].last + 1 if self._ranges and self._ranges[0].first == 0 else 0

    def add(self, first: int, last: int) -> None:
        """Put ``first``..``last`` in; an empty range (``last < first``) changes nothing."""
        if last < first:
            return
        start = bisect_left(self._ranges, first, key=lambda each: each.last + 1)
        stop = start
        while stop < len(self._ranges) and self._ranges[stop].first <= last + 1:
            first, last = min(first, self._ranges[stop].first), max(last, self._ranges[stop].last)
            stop += 1
        self._ranges[start:stop] = [ByteRange(first, last)]

    def take(self, most_bytes: int) -> ByteRange:
        """Remove and return the lowest range, at most ``most_bytes`` ≥ 1 of it; the set must not be empty."""
        first, last = self._ranges[0]
        if last - first + 1 <= most_bytes:
            return self._ranges.pop(0)
        cut = first + most_bytes - 1
        self._ranges[0] = ByteRange(cut + 1, last)
        return ByteRange(first, cut)

    def find_missing(self, size_bytes: int) -> "RangeSet":
        """Return what lies within ``0 … size_bytes − 1`` but not in this set."""
        missing = RangeSet()
        position = 0
        for first, last in self._ranges:
            missing.add(position, min(first, size_bytes) - 1)
            position = last + 1
        missing.add(position, size_bytes - 1)
        return missing

    def holds(self, first: int, last: int) -> bool:
        """Return whether every byte from ``first`` to ``last`` is in; true of none."""
        return last < first or any(each.first <= first and last <= each.last for each in self._ranges)

    def covers(self, size_bytes: int) -> bool:
        """Return whether every byte of a file of ``size_bytes`` is in."""
        return size_bytes == 0 or (
            bool(self._ranges) and self._ranges[0].first == 0 <= size_bytes - 1 <= self._ranges[0].last
        )


def compute_range_length(undealt_bytes: int, even_bytes: int, streams: int, most_bytes: int) -> int:
    """Return the length of the next range of a file.

    A file whose even share is within ``most_bytes`` is cut evenly, one range a stream. A larger one goes in ranges of
    ``most_bytes`` that shrink towards its end, so that all streams finish together (guided self-scheduling).
    """
    if even_bytes <= most_bytes:
        return max(even_bytes, _SMALLEST_RANGE_BYTES)
    return min(most_bytes, max(-(-undealt_bytes // streams), _SMALLEST_RANGE_BYTES))
