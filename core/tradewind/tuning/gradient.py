"""Search by trial, for paths that no table describes: Falcon's idea with steps that are doublings of the streams.

Falcon (Arifuzzaman and Arslan, SC'21) climbs the utility T/K^n − T·B·L one worker at a time, faster while the direction
holds. A tick of 5 s leaves 12 tries a minute, so steps here are a doubling at first and halve at each reversal; the
utility is the logarithm of that with a price per doubling of streams in place of K^n, which would cap n at 1/ln K =
50:

u = ln T − λ · log2 n − B · L         λ = 0.02, B = 10         under an energy objective −ln(J a byte) for ln T

A floor takes away what T has beyond it; a broken ceiling costs its excess.
"""

import math
from dataclasses import dataclass, replace
from typing import Self

from tradewind.tiers.setting_table import Objective
from tradewind.tuning.bank import Goal

STREAM_PRICE = 0.02
"""λ: twice as many streams must gain 2 %."""

LOSS_PRICE = 10.0
"""B of Falcon's utility."""

FINEST_STEP_DOUBLINGS = 0.5
"""Steps below this are lost in the noise of a tick."""

_BROKEN_CEILING_PRICE = 10.0
_ENOUGH = 1.03
"""A floor is aimed at with a margin of 3 %."""


@dataclass(frozen=True, slots=True)
class Search:
    """State of the search: ``streams`` are being tried, ``best_streams`` did best so far.

    ``step_doublings`` is the signed step from the best to the present try. ``ticks`` counts those at the present try.
    ``capped`` : the best was the most that was permitted.
    """

    streams: int
    best_streams: int
    best_utility: float | None = None
    step_doublings: float = 1.0
    has_converged: bool = False
    ticks: int = 0
    capped: bool = False

    def wait(self) -> Self:
        """Count one more tick of the present try: its slow start is not over."""
        return replace(self, ticks=self.ticks + 1)

    def confirm(self) -> Self:
        """Record that the best was seen again unchanged."""
        return replace(self, best_utility=None)

    def advance(self, utility: float, lowest: int, highest: int) -> Self:
        """Return the search after the present try has shown ``utility``: the next try, or converged at the best."""
        if self.has_converged:
            return self
        if self.best_utility is None or utility > self.best_utility:
            best, best_utility, step = self.streams, utility, self.step_doublings
        else:
            best, best_utility, step = self.best_streams, self.best_utility, -self.step_doublings / 2
        while abs(step) >= FINEST_STEP_DOUBLINGS:
            streams = max(lowest, min(round(best * 2**step), highest))
            if streams != best:
                return type(self)(streams, best, best_utility, step)
            step = -step / 2
        return type(self)(best, best, best_utility, step, has_converged=True)


def start_search(streams: int, doublings: float = 1.0) -> Search:
    """Start a search from the current streams; the first tick measures them."""
    return Search(streams=streams, best_streams=streams, step_doublings=doublings)


def compute_utility(
    goal: Goal,
    *,
    throughput_bps: float,
    streams: int,
    loss: float,
    power_w: float | None = None,
    j_per_byte: float | None = None,
) -> float:
    """Return u of a tick at a throughput above 0; power and energy of a byte are on the SLA's basis."""
    price = STREAM_PRICE * math.log2(streams) + LOSS_PRICE * loss
    if goal.ceiling_w is not None and power_w is not None and power_w > goal.ceiling_w:
        price += _BROKEN_CEILING_PRICE * math.log(power_w / goal.ceiling_w)
    if goal.ceiling_j_per_byte is not None and j_per_byte is not None and j_per_byte > goal.ceiling_j_per_byte:
        price += _BROKEN_CEILING_PRICE * math.log(j_per_byte / max(goal.ceiling_j_per_byte, 1e-300))
    if goal.floor_bps is not None:
        return math.log(min(throughput_bps, _ENOUGH * goal.floor_bps)) - price
    if goal.objective is Objective.ENERGY and j_per_byte is not None and j_per_byte > 0:
        return -math.log(j_per_byte) - price
    if goal.objective is Objective.EFFICIENCY and j_per_byte is not None and j_per_byte > 0:
        return math.log(throughput_bps) - math.log(j_per_byte) - price
    return math.log(throughput_bps) - price
