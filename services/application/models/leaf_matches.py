"""Match the leaves of a new model with those of the model before, one to one."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tradewind.cluster import Leaf


@dataclass(frozen=True, slots=True)
class LeafMatch:
    """The position of an old leaf, and whether the new one continues it or is only split from it."""

    old: int
    continues: bool


def match_leaves(before: Sequence[Leaf], after: Sequence[Leaf]) -> Sequence[LeafMatch | None]:
    """Return for each new leaf the old one that it continues, or that it is split from; ``None`` without old leaves.

    A data set belongs to the nearest data sets of the model before, and continues them where no other one is nearer.
    Within data sets that continue, the nearest loads are matched first. Each old leaf is continued at most once. A
    new leaf that continues none is split from the nearest old one: that one served its transfers until now.
    """
    if not before:
        return [None] * len(after)
    nearest = [_find_nearest(before, new) for new in after]
    continued = _pair_nearest(
        (_compute_distance(before[a], after[b])[0], after[b].dataset_tier, before[a].dataset_tier)
        for b, a in enumerate(nearest)
    )
    pairs = _pair_nearest(
        (abs(old.load - new.load), b, a)
        for b, new in enumerate(after)
        for a, old in enumerate(before)
        if continued.get(new.dataset_tier) == old.dataset_tier
    )
    return [LeafMatch(pairs.get(b, nearest[b]), b in pairs) for b in range(len(after))]


def _pair_nearest(pairs: Iterable[tuple[float, int, int]]) -> Mapping[int, int]:
    """Return by each new number of (distance, new, old) the old one; nearest first, each of them once."""
    found: dict[int, int] = {}
    taken: set[int] = set()
    for _, new, old in sorted(pairs):
        if new not in found and old not in taken:
            found[new] = old
            taken.add(old)
    return found


def _find_nearest(before: Sequence[Leaf], new: Leaf) -> int:
    return min(range(len(before)), key=lambda a: _compute_distance(before[a], new))


def _compute_distance(old: Leaf, new: Leaf) -> tuple[float, float]:
    """Return how far apart two leaves are: their data sets in doublings, and then their loads."""
    doublings = math.hypot(
        old.log2_mean_file_bytes - new.log2_mean_file_bytes, old.log2_file_count - new.log2_file_count
    )
    return doublings, abs(old.load - new.load)
