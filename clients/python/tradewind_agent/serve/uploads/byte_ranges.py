"""Which bytes of a file are there: disjoint ranges, merged as they grow."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator


class ByteRanges:
    """A set of byte positions, kept as sorted ranges that neither overlap nor touch.

    Adding costs O(log n) to find the place and O(n) to shift, n ranges; parts that arrive in order keep n near the
    number of connections.
    """

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in ranges:
            self.add(first, last)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(zip(self._firsts, self._lasts, strict=True))

    def __len__(self) -> int:
        return len(self._firsts)

    def add(self, first: int, last: int) -> None:
        """Add the positions ``first`` to ``last``, both included; first ≤ last."""
        rewrite = bisect_left(self._lasts, first - 1)
        end = rewrite
        while end < len(self._firsts) and self._firsts[end] <= last + 1:
            end += 1
        if rewrite < end:
            first, last = min(first, self._firsts[rewrite]), max(last, self._lasts[end - 1])
        self._firsts[rewrite:end] = [first]
        self._lasts[rewrite:end] = [last]

    def covers(self, total_bytes: int) -> bool:
        """Return whether every byte of a file of ``total_bytes`` is there."""
        return self._firsts == [0] and self._lasts[0] >= total_bytes - 1

    @property
    def count_bytes(self) -> int:
        return sum(last - first + 1 for first, last in zip(self._firsts, self._lasts, strict=True))

    def convert_to_lists(self) -> list[list[int]]:
        return [[first, last] for first, last in zip(self._firsts, self._lasts, strict=True)]
