"""How long a round trip takes behind no queue (Vegas' BaseRTT), where the path has become longer.

The kernel tells the shortest one of five minutes; a longer way looks like a queue until then. But a queue of this
transfer's making keeps its pipe full, and swings with every window that CUBIC cuts. Where a cut for delay has cost
throughput, and two round trips soon after another were the same, no queue is left: what remains is the path.
"""

from dataclasses import dataclass, replace
from typing import Self

from tradewind.tuning.sample import TickSample

COSTLY = 0.95
"""Share of the throughput at the cut below which the pipe is not full: ticks at a full one differ by 1 % or 2."""

SAME = 0.02
"""Round trips of ticks that differ by no more are the same; behind a queue they differ by 5 to 20 %."""

FULL_BETWEEN = 2
"""Ticks with a full pipe that may lie between the two: what a cut has emptied may fill in one tick and not the next."""


@dataclass(frozen=True, slots=True)
class BaseRtt:
    """What is known of it.

    ``found_s`` : a round trip behind no queue, 0 while the kernel's shortest stands. ``last_s`` : that of the last tick
    whose pipe was not full, 0 without one, and ``full_since`` : ticks with a full one since.
    """

    found_s: float = 0.0
    last_s: float = 0.0
    full_since: int = 0

    def update(self, sample: TickSample, cut_bps: float) -> Self:
        """After one more tick; ``cut_bps``: throughput at the last cut for delay, 0 without one."""
        rtt_s = sample.rtt_s
        if rtt_s is None:
            return self
        found_s = min(self.found_s, rtt_s)
        if sample.throughput_bps >= COSTLY * cut_bps:
            kept = self.full_since < FULL_BETWEEN
            return type(self)(found_s, self.last_s if kept else 0.0, self.full_since + kept)
        if self.last_s and abs(rtt_s / self.last_s - 1) <= SAME:
            found_s = min(self.last_s, rtt_s)
        return type(self)(found_s, rtt_s)

    def correct_sample(self, sample: TickSample) -> TickSample:
        """The sample with no shorter round trip than the path's."""
        if sample.min_rtt_s is None or sample.min_rtt_s >= self.found_s:
            return sample
        return replace(sample, min_rtt_s=self.found_s)
