"""The nearest leaf of a link for a transfer, by data set, then by load (001 step 3).

`tradewind.learning.clustering.tiered` finds the leaves; looking one up needs arithmetic alone, so that a service or an
agent on its own can do it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tradewind.errors import InvalidValue

LOAD_MAX = 0.95
"""Highest load: something is always left for a new transfer."""


def compute_load_share(*, known_bps: float, unknown_bps: float, bandwidth_bps: float) -> float:
    """Return the external load ℓ: the share of the path taken by others, 0 … 0.95 (001 eq. 4)."""
    return min(max((known_bps + unknown_bps) / bandwidth_bps, 0.0), LOAD_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One cluster of a link: centre of its data sets (second tier) and of its load (third tier).

    Leaves of the same ``dataset_tier`` share their data set centre; ``load_tier`` counts from the lowest load.
    """

    dataset_tier: int
    load_tier: int
    log2_mean_file_bytes: float
    log2_file_count: float
    load: float
    row_count: int

    def compute_doublings_from(self, mean_file_bytes: float, file_count: float) -> float:
        """Return the distance of a data set from the centre, in doublings of mean file size and file count
        (Euclidean).
        """
        return math.hypot(
            compute_log2(mean_file_bytes) - self.log2_mean_file_bytes, compute_log2(file_count) - self.log2_file_count
        )


def compute_log2(value: float) -> float:
    """Return the base-2 logarithm; an empty file counts as one byte, a missing count as one file."""
    return math.log2(max(value, 1.0))


def find_nearest_leaf(
    leaves: Sequence[Leaf], *, mean_file_bytes: float, file_count: float, load: float
) -> tuple[int, float]:
    """Return the leaf whose data set centre is nearest and, among those that share it, whose load is nearest.

    Ties go to the lower tier, so that the order of ``leaves`` does not matter.

    Returns
    -------
    Its position among ``leaves``, and how far its data set centre is (see `Leaf.compute_doublings_from`).

    Raises
    ------
    InvalidValue : there is no leaf.
    """
    log2_mean_file_bytes, log2_file_count = compute_log2(mean_file_bytes), compute_log2(file_count)
    found, nearest = -1, math.inf
    for i, leaf in enumerate(leaves):
        distance = math.hypot(log2_mean_file_bytes - leaf.log2_mean_file_bytes, log2_file_count - leaf.log2_file_count)
        if distance < nearest or (distance == nearest and found >= 0 and _is_before(leaf, leaves[found], load)):
            found, nearest = i, distance
    if found < 0:
        raise InvalidValue("leaves", "a link without leaves has no nearest one")
    return found, nearest


def _is_before(one: Leaf, other: Leaf, load: float) -> bool:
    """Return whether, of two leaves at the same distance, ``one`` is of a lower tier or has the nearer load."""
    return (one.dataset_tier, abs(load - one.load), one.load_tier) < (
        other.dataset_tier,
        abs(load - other.load),
        other.load_tier,
    )
