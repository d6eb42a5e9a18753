"""Where the targets of an SLA kind are cut into tiers: the same round bounds for all probabilities.

A provider sells tiers, so there are at most `MAX_TIERS` of a kind, none is narrower than `MIN_WIDTH`, and bounds are
preferred numbers (Renard's R20, ISO 3): they are easily read, and a refit that changes a surface a little leaves them
where they are. Among these numbers the cuts are chosen whose regret, on average over all probabilities, is least.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tradewind.learning.staircase import FloatArray, Staircase, cut_into_parts, sum_regret

REGRET_GOAL = 0.03
MAX_TIERS = 5

MIN_WIDTH = 0.1
"""Least width of a tier, as a share of its lower bound. Customers cannot tell narrower promises apart."""

DECADES = 3
"""Below the highest target: dynamic energy may come near 0, where preferred numbers would never end."""

R20 = (1.0, 1.12, 1.25, 1.4, 1.6, 1.8, 2.0, 2.24, 2.5, 2.8, 3.15, 3.55, 4.0, 4.5, 5.0, 5.6, 6.3, 7.1, 8.0, 9.0)


class Bound(NamedTuple):
    """``target`` in bit/s, J per byte or W; ``merit`` : see `tradewind.prediction`."""

    merit: float
    target: float


@dataclass(frozen=True, slots=True)
class WeightedStairs:
    """A staircase with the regret of its steps, and their demand.

    Attributes
    ----------
    regret : (f, f), see `tradewind.learning.staircase`.
    demand : (f,) sums to 1.
    """

    steps: Staircase
    regret: FloatArray
    demand: FloatArray

    def sum_over_ranges(self, merits: FloatArray) -> FloatArray:
        """Return the regret of serving the targets between two of n rising merits by the setting of the upper one.

        Returns
        -------
        (n + 1, n + 1) : row i begins at merit i − 1, the first one at the easiest target; column j ends at merit j,
            the last one at the hardest target. It is 0 where no target lies between them, and ∞ below the diagonal.
        """
        steps, hardest = self.steps.bound, len(self.steps.bound) - 1
        last = np.append(np.minimum(np.searchsorted(steps, merits), hardest), hardest)
        first = np.concatenate([[0], np.searchsorted(steps, merits, side="right")])
        part = sum_regret(self.regret, self.demand)
        regret = np.where(
            first[:, None] <= last[None, :], part[np.minimum(first, hardest)[:, None], last[None, :]], 0.0
        )
        return np.where(np.tri(len(last), dtype=bool).T, regret, np.inf)

    def compute_regret(self, easiest: float, hardest: float) -> float:
        """Return the mean regret of the targets in (easiest, hardest], served by the setting of the hardest one."""
        steps = self.steps.bound
        last = min(int(np.searchsorted(steps, hardest)), len(steps) - 1)
        first = min(int(np.searchsorted(steps, easiest, side="right")), last)
        values, weights = self.regret[first : last + 1, last], self.demand[first : last + 1]
        total = float(weights.sum())
        return float(weights @ values) / total if total > 0 else float(values.mean())


def list_round_targets(lowest: float, highest: float) -> tuple[float, ...]:
    """Return the preferred numbers between two targets, ascending, none closer to them than `MIN_WIDTH`."""
    if highest <= 0:
        return ()
    from_target = max(lowest, highest / 10**DECADES)
    decades = range(math.floor(math.log10(from_target)), math.floor(math.log10(highest)) + 1)
    numbers = (float(f"{each}e{decade}") for decade in decades for each in R20)
    return tuple(each for each in numbers if is_wide(lowest, each) and is_wide(each, highest))


def is_wide(lower: float, upper: float) -> bool:
    """Return whether targets between the two are enough for a tier."""
    return upper >= lower * (1 + MIN_WIDTH)


def choose_bounds(stairs: Sequence[WeightedStairs], candidates: Sequence[Bound]) -> tuple[Bound, ...]:
    """Return the bounds between tiers, by rising merit.

    Parameters
    ----------
    stairs : of each probability, refined at ``candidates``, which rise in merit.

    The fewest tiers are chosen whose regret is at most `REGRET_GOAL`, or nearly the least of `MAX_TIERS`.
    """
    merits = np.array([each.merit for each in candidates])
    regret = np.mean([each.sum_over_ranges(merits) for each in stairs], axis=0)
    cuts = cut_into_parts(regret, MAX_TIERS)
    ends = cuts.last_steps[cuts.find_fewest_parts(REGRET_GOAL) - 1]
    return tuple(candidates[end] for end in ends[:-1])


def drop_needless(steps: Staircase, bounds: Sequence[Bound]) -> list[Bound]:
    """Return the bounds between settings that differ: tiers with the same setting would be one tier, sold twice."""
    settings = steps.setting[np.searchsorted(steps.bound, [*(each.merit for each in bounds), steps.bound[-1]])]
    return [bound for bound, (own, harder) in zip(bounds, pairwise(settings.tolist()), strict=True) if own != harder]
