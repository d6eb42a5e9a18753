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


@dataclass(frozen=True, slots=True)
class Plateau:
    """``ticks`` in a row with a standing queue and the rate ``mean_bps``."""

    mean_bps: float = 0.0
    ticks: int = 0

    def update(self, throughput_bps: float, queueing_delay_s: float | None) -> Self:
        """Return the state after one more tick."""
        if queueing_delay_s is None or queueing_delay_s < DEAD_BAND_S:
            return type(self)()
        if not self.ticks or abs(throughput_bps / self.mean_bps - 1) > STEADY:
            return type(self)(throughput_bps, 1)
        ticks = self.ticks + 1
        return type(self)(self.mean_bps + (throughput_bps - self.mean_bps) / ticks, ticks)

    @property
    def is_sure(self) -> bool:
        return self.ticks >= SURE_TICKS
