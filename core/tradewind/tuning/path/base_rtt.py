"""The round trip without a queue (Vegas' BaseRTT), where the path has become longer.

The kernel reports the shortest one of five minutes; until then a longer path looks like a queue. But a queue of this
transfer's own making keeps its pipe full, and swings with every window that CUBIC cuts. If a cut for delay has cost
throughput, and two round trips soon after one another were equal, no queue is left: what remains is the path.
"""

from dataclasses import dataclass, replace
from typing import Self

from tradewind.tuning.sample import TickSample

COSTLY = 0.95
"""Below this share of the throughput at the cut the pipe is not full: ticks with a full one differ by 1 or 2 %."""

SAME = 0.02
"""Round trips that differ by no more are equal; behind a queue they differ by 5 to 20 %."""

FULL_BETWEEN = 2
"""Ticks with a full pipe that may lie between the two: a pipe that a cut has emptied may fill in one tick only."""


@dataclass(frozen=True, slots=True)
class BaseRtt:
    """The known round trip without a queue.

    ``found_s`` : that round trip, 0 while the kernel's shortest one holds. ``last_s`` : round trip of the last tick
    whose pipe was not full, 0 without one, and ``full_since`` : ticks with a full pipe since.
    """

    found_s: float = 0.0
    last_s: float = 0.0
    full_since: int = 0

    def update(self, sample: TickSample, cut_bps: float) -> Self:
        """Return the state after one more tick; ``cut_bps``: throughput at the last cut for delay, 0 without one."""
        rtt_s = sample.rtt_s
        if rtt_s is None:
            return self
        found_s = min(self.found_s, rtt_s)
        if sample.throughput_bps >= COSTLY * cut_bps:
            continues = self.full_since < FULL_BETWEEN
            return type(self)(found_s, self.last_s if continues else 0.0, self.full_since + continues)
        if self.last_s and abs(rtt_s / self.last_s - 1) <= SAME:
            found_s = min(self.last_s, rtt_s)
        return type(self)(found_s, rtt_s)

    def correct_sample(self, sample: TickSample) -> TickSample:
        """Return the sample with its shortest round trip raised to the path's."""
        if sample.min_rtt_s is None or sample.min_rtt_s >= self.found_s:
            return sample
        return replace(sample, min_rtt_s=self.found_s)
