"""Whether a transfer is alone at a full pipe: its rate is then constant, behind a standing queue.

TCP that does not fill its path, or shares it, shows 5 to 10 % from tick to tick (`belief.FIRST_NOISE`): of 137 ticks of
two to four equal transfers at one bottleneck none was the third in a row of the same rate. More streams carry no more
there, whatever a table of another path expects of them, and nobody has taken what was given up.
"""

from dataclasses import dataclass
from typing import Self

from tradewind.tuning.path.congestion import DEAD_BAND_S

STEADY = 0.01
"""Rates of ticks that differ by no more are equal."""

SURE_TICKS = 3

MISSED_TICKS = 2
"""Ticks that may fall short of a sure plateau in a row: after a lull of TCP's a full pipe has its rate again."""

RISING = 0.05
"""A rate that has grown by more than this within a tick grows on: TCP's windows have not reached their size."""


@dataclass(frozen=True, slots=True)
class Plateau:
    """``ticks`` of the rate ``mean_bps``, the first with a standing queue, which a tick's last moment may miss later.

    0 ticks without one; the rate is the last tick's then.

    ``missed`` : ticks in a row that have fallen short of it. ``is_rising`` : the rate still grows by itself.
    """

    mean_bps: float = 0.0
    ticks: int = 0
    missed: int = 0
    is_rising: bool = False

    def update(self, throughput_bps: float, queueing_delay_s: float | None) -> Self:
        """Return the state after one more tick."""
        is_rising = 0 < (1 + RISING) * self.mean_bps < throughput_bps
        if self.ticks and abs(throughput_bps / self.mean_bps - 1) <= STEADY:
            ticks = self.ticks + 1
            return type(self)(self.mean_bps + (throughput_bps - self.mean_bps) / ticks, ticks)
        if self.is_sure and throughput_bps < self.mean_bps and self.missed < MISSED_TICKS:
            return type(self)(self.mean_bps, self.ticks, self.missed + 1)
        if queueing_delay_s is None or queueing_delay_s < DEAD_BAND_S:
            return type(self)(throughput_bps, is_rising=is_rising)
        return type(self)(throughput_bps, 1, is_rising=is_rising)

    @property
    def is_likely(self) -> bool:
        """Return whether the last two rates were equal."""
        return self.ticks > 1 and not self.missed

    @property
    def is_sure(self) -> bool:
        return self.ticks >= SURE_TICKS
