"""The round trip without a queue (Vegas' BaseRTT), where the path has become longer.

The kernel reports the shortest one of five minutes; until then a longer path looks like a queue. But a queue swings
with every window that CUBIC cuts, and an empty one has one round trip: the path's. A crowd keeps a queue full, whose
round trips are equal, too, but it loses what the queue has no room for. Streams that a window limits keep one that
loses nothing, but it shrinks with the streams. So where the samples within a tick settle at a round trip, and soon
after, with fewer streams, at the same one, and nothing is lost beyond the path's own, no queue is there. BBR drains
the pipe for such a sample (ProbeRTT); here a cut for delay does, which the longer path has caused.
"""

from dataclasses import dataclass, replace
from typing import Self

from tradewind.tuning.sample import TickSample

SAME = 0.01
"""Settled round trips that differ by no more are equal."""

FEWER = 0.85
"""Share of the streams that leaves a queue of their own shorter by more than `SAME`; a cut leaves 0.7, rounded up."""

SOON_TICKS = 4
"""Ticks within which a round trip has to settle again."""


@dataclass(frozen=True, slots=True)
class BaseRtt:
    """The known round trip without a queue.

    ``found_s`` : that round trip, 0 while the kernel's shortest one holds. ``settled_s`` : round trip at which the
    samples of a tick have settled with most streams lately, 0 without one, ``streams`` those, and ``ticks`` since.
    """

    found_s: float = 0.0
    settled_s: float = 0.0
    streams: int = 0
    ticks: int = 0

    def update(self, sample: TickSample, streams: int, *, is_overflowing: bool) -> Self:
        """Return the state after one more tick.

        ``streams`` : in effect. ``is_overflowing`` : more was lost than the path's own, or may be.
        """
        if sample.rtt_s is None:
            return self
        found_s, settled_s = min(self.found_s, sample.rtt_s), None if is_overflowing else sample.settled_rtt_s
        if settled_s is None:
            is_recent = self.settled_s > 0 and self.ticks + 1 < SOON_TICKS
            return replace(self, found_s=found_s, ticks=self.ticks + 1) if is_recent else type(self)(found_s)
        if not self.settled_s or abs(settled_s / self.settled_s - 1) > SAME:
            return type(self)(found_s, settled_s, streams)
        if streams <= FEWER * self.streams:
            found_s = min(self.settled_s, settled_s)
        return type(self)(found_s, settled_s, max(streams, self.streams))

    def raise_to(self, least_rtt_s: float) -> Self:
        """Return the state where the path's round trip is at least this, s; 0 where nothing is known of it."""
        return self if least_rtt_s <= self.found_s else replace(self, found_s=least_rtt_s)

    def correct_sample(self, sample: TickSample) -> TickSample:
        """Return the sample with its shortest round trip raised to the path's."""
        if sample.min_rtt_s is None or sample.min_rtt_s >= self.found_s:
            return sample
        return replace(sample, min_rtt_s=self.found_s)
