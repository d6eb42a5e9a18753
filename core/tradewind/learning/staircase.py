"""The best cost for every target of one SLA, a staircase, and how to cut it into few parts.

Notation
--------
n      certified settings, each with bound b (merit that it keeps at the confidence) and cost (what is minimised)
f      steps: settings for which no other one keeps as much for less; b and cost both rise
w      (f,) share of the demand whose target lies between one step's bound and the next lower one
R      (f, f) regret R[i, j] of serving a target of step i with the setting of step j ≥ i, relative

A target t is best served by the first step with b ≥ t. A cut serves each run of steps by its last one, which keeps
every target of the run.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MAX_STEPS = 256
"""Longer staircases keep this many evenly spaced steps: 30 of them are cut for each leaf."""
PRIOR_DEMANDS = 20
"""Requests that the prior is worth against targets seen so far."""
EASY_DEMAND = 0.2
"""Share of the prior for targets that the cheapest setting keeps anyway; the rest is uniform over the other steps."""

NEGLIGIBLE_GAIN = 0.1
"""Share of the regret that is not worth further parts."""


@dataclass(frozen=True, slots=True)
class Staircase:
    """Steps in order of rising bound.

    Attributes
    ----------
    bound, cost : (f,) both strictly rising.
    setting : (f,) index of the setting of each step.
    lowest : the lowest bound of any certified setting, where the range of targets begins.
    """

    bound: FloatArray
    cost: FloatArray
    setting: IntArray
    lowest: float

    def estimate_demand(self, targets: FloatArray | None = None) -> FloatArray:
        """Return the share of the demand on each step, (f,): a prior blended with the targets seen so far.

        Below the first step all targets have the same answer, however far the worst setting stretches the range: the
        prior there is a fixed share, or one cheap range would hide the regret of all others.

        Parameters
        ----------
        targets : merits that were asked for; those beyond the last step cannot be served and do not count.
        """
        f = len(self.bound)
        if f == 1:
            return np.ones(1)
        uniform = np.diff(self.bound) / (self.bound[-1] - self.bound[0])
        prior = np.concatenate([[EASY_DEMAND], (1 - EASY_DEMAND) * uniform])
        if targets is None:
            return prior
        seen = np.bincount(np.searchsorted(self.bound, targets, side="left"), minlength=f + 1)[:f]
        return np.asarray((PRIOR_DEMANDS * prior + seen) / (PRIOR_DEMANDS + seen.sum()))

    def refine(self, merits: FloatArray) -> "Staircase":
        """Return the staircase with further bounds at these merits, as far as they lie between its own.

        Each has the cost and the setting of the step that serves it, so no target is served otherwise than before.
        """
        inside = merits[(self.bound[0] < merits) & (merits < self.bound[-1])]
        bound = np.union1d(self.bound, inside)
        step = np.searchsorted(self.bound, bound)
        return Staircase(bound, self.cost[step], self.setting[step], self.lowest)


def build_staircase(bound: FloatArray, cost: FloatArray, *, gap: float = 0.0) -> Staircase:
    """Return the steps of n ≥ 1 certified settings, O(n log n).

    Parameters
    ----------
    gap : bounds closer than this are one step, that of the higher bound.
    """
    hardest_first = np.lexsort((cost, -bound))
    running = np.minimum.accumulate(cost[hardest_first])
    cheaper = np.concatenate([[True], running[1:] < running[:-1]])
    steps = hardest_first[cheaper][::-1]
    steps = steps[np.concatenate([np.diff(bound[steps]) > gap, [True]])]
    if len(steps) > MAX_STEPS:
        steps = steps[np.linspace(0, len(steps) - 1, MAX_STEPS).round().astype(np.int64)]
    return Staircase(bound[steps], cost[steps], steps.astype(np.int64), float(bound.min()))


def compute_regret_of_gain(cost: FloatArray) -> FloatArray:
    """R for a cost that is −ln of something wanted, such as throughput: the share lost, 1 − T_j / T_i."""
    return np.asarray(-np.expm1(cost[:, None] - cost[None, :]))


def compute_regret_of_expense(cost: FloatArray) -> FloatArray:
    """R for a cost that is ln of something spent, such as energy: the share spent beyond need, E_j / E_i − 1."""
    return np.asarray(np.expm1(cost[None, :] - cost[:, None]))


def compute_regret_of_difference(cost: FloatArray) -> FloatArray:
    """R for a cost on the linear scale that may be near or below 0: relative to at least a twentieth of the largest."""
    scale = np.maximum(np.abs(cost), np.abs(cost).max() / 20 or 1.0)
    return np.asarray((cost[None, :] - cost[:, None]) / scale[:, None])


@dataclass(frozen=True, slots=True)
class Cuts:
    """The best cuts of a staircase into 1, 2, … parts.

    Attributes
    ----------
    regret : (k_max,) demand-weighted mean regret of each number of parts, never rising.
    last_steps : for each number of parts, the last step of each part.
    """

    regret: FloatArray
    last_steps: tuple[tuple[int, ...], ...]

    def find_fewest_parts(self, goal: float) -> int:
        """Return the fewest parts with regret ≤ ``goal``, or within `NEGLIGIBLE_GAIN` of the least."""
        least = float(self.regret[-1])
        return int(np.flatnonzero(self.regret <= max(goal, least * (1 + NEGLIGIBLE_GAIN)))[0]) + 1


def sum_regret(regret: FloatArray, demand: FloatArray) -> FloatArray:
    """Return the demand-weighted regret of serving the steps i to j by step j, (f, f); ∞ where j < i.

    Parameters
    ----------
    regret : (f, f), see the notation; entries below the diagonal are not used.
    demand : (f,) sums to 1.
    """
    f = len(demand)
    summed = np.cumsum(demand[:, None] * np.triu(regret), axis=0)
    before = np.vstack([np.zeros(f), summed[:-1]])
    return np.where(np.tri(f, dtype=bool).T, np.diag(summed)[None, :] - before, np.inf)


def cut_into_parts(part: FloatArray, most: int) -> Cuts:
    """Cut the steps into parts by dynamic programming over the last step of the last part, O(k_max · f²).

    Parameters
    ----------
    part : (f, f) regret of a part from its first to its last step, see `sum_regret`.
    most : largest number of parts, k_max; no more than f are made.
    """
    f = len(part)
    best = part[0]
    regrets: list[float] = [float(best[-1])]
    cuts: list[tuple[int, ...]] = [(f - 1,)]
    first_of: list[IntArray] = []
    for _ in range(1, min(most, f)):
        total = np.concatenate([[np.inf], best[:-1]])[:, None] + part
        first = total.argmin(axis=0)
        first_of.append(first)
        best = total[first, np.arange(f)]
        regrets.append(float(best[-1]))
        cuts.append(_walk_back(first_of, f - 1))
    return Cuts(np.minimum.accumulate(regrets), tuple(cuts))


def _walk_back(first_of: list[IntArray], last: int) -> tuple[int, ...]:
    ends = [last]
    for first in reversed(first_of):
        ends.append(int(first[ends[-1]]) - 1)
    return tuple(reversed(ends))
