"""The gaps of a region's hours, found from the hours themselves; the service's database finds them by itself."""

from collections.abc import Sequence
from itertools import pairwise

from tradewind.grid.hours import HOUR, Gap, Hour


def find_gaps(hours: Sequence[Hour]) -> tuple[Gap, ...]:
    """Return the gaps of hours that are sorted."""
    return tuple(
        Gap(before.starts_at + HOUR, after.starts_at)
        for before, after in pairwise(hours)
        if after.starts_at - before.starts_at > HOUR
    )
