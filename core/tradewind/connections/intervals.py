"""Unions of time intervals."""

from collections.abc import Iterable

from tradewind.connections.page_load import Interval


def merge_intervals(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the union of intervals as disjoint ones, ordered by their start."""
    union: list[Interval] = []
    for begin, end in sorted(intervals):
        if union and begin <= union[-1][1]:
            union[-1] = (union[-1][0], max(union[-1][1], end))
        else:
            union.append((begin, end))
    return union


def compute_covered_s(intervals: Iterable[Interval]) -> float:
    """Return the time that the union of the intervals covers, s."""
    return sum(end - begin for begin, end in merge_intervals(intervals))


def clip_intervals(intervals: Iterable[Interval], last_s: float) -> list[Interval]:
    """Return the parts of the intervals between 0 and ``last_s``."""
    cut = ((max(begin, 0.0), min(end, last_s)) for begin, end in intervals)
    return [(begin, end) for begin, end in cut if begin < end]
