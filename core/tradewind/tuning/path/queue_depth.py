"""How much the queue of the bottleneck holds, and what delay is therefore the path's own.

A queue holds bytes, not seconds. Behind a bottleneck that becomes slower the same queue takes longer, but this transfer
carries less; where a rival comes, the queue takes as long and this transfer carries less, too. In both cases delay ×
throughput is no more than what the queue held when it overflowed. Where it is more, though this transfer has not become
faster, the rest of the delay is no queue: the path has become longer.

Notation
--------
D    most bits of this transfer that the queue held in a tick that lost packets behind a full queue: max Q · T
T_D  the throughput of that tick, bit/s
B    round trip that a tick shows to be the path's at least, srtt − D / T; the settled one where the path is known to
     have become longer and the pipe is not full, as half of a tick's samples are equal only behind an empty queue

Where Q · T is nearly D, all of the queue is this transfer's, however long it takes: no rival waits in it.

A tick's throughput is a mean, its round trip is of the tick's end: where the bottleneck becomes slower within a tick,
Q · T is too high once. So two ticks in a row must agree, and the lower B counts. Until then no stream is given up for
the delay.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from tradewind.tuning.path.congestion import compute_dead_band_s
from tradewind.tuning.sample import TickSample

OWN_SHARE = 0.65
"""From this much of D on the queue holds next to nothing of others: CUBIC empties it by 0.3 whenever it overflows."""

MARGIN = 1.25
"""Q · T above this many D is no queue: smoothed round trips miss a queue's peak by up to a tenth."""

FASTER = 1.1
"""Above this many T_D the transfer has more of the queue than before: a rival has left, or the path is faster."""


NOT_FULL = 0.9
"""Below this many T_D a transfer whose round trips settle does not fill its pipe: the queue is empty."""


class QueueVerdict(NamedTuple):
    """What a tick shows: the depth with it, and the path's round trip at least, s; 0 where it shows none."""

    depth: "QueueDepth"
    least_rtt_s: float


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """``held_bits``, ``at_bps`` : D and T_D, 0 before a queue has overflowed. ``doubted_s`` : B of the last tick, 0
    where its delay was a queue's.
    """

    held_bits: float = 0.0
    at_bps: float = 0.0
    doubted_s: float = 0.0

    @property
    def is_in_question(self) -> bool:
        """Return whether the last tick's delay was more than the queue holds."""
        return self.doubted_s > 0

    def is_own(self, sample: TickSample) -> bool:
        """Return whether the queue is this transfer's alone, so that nobody gains by fewer streams of it."""
        if not self.held_bits or self.is_in_question:
            return False
        return (sample.queueing_delay_s or 0.0) * sample.throughput_bps >= OWN_SHARE * self.held_bits

    def compute_full_delay_s(self, throughput_bps: float, expected_s: float) -> float:
        """Return how long a full queue takes, s: less than usual where the bottleneck has become faster."""
        if not self.held_bits or throughput_bps <= self.at_bps:
            return expected_s
        return min(expected_s, self.held_bits / throughput_bps)

    def judge(
        self, sample: TickSample, *, expected_s: float, is_overflowing: bool, is_full: bool, is_longer: bool
    ) -> QueueVerdict:
        """Return what one more tick shows.

        ``expected_s`` : usual queueing delay. ``is_overflowing`` : more was lost than the path's own. ``is_full`` : the
        queue is long enough for that to be its overflow. ``is_longer`` : the path is known to have become longer.
        """
        delay_s, rtt_s, throughput_bps = sample.queueing_delay_s, sample.rtt_s, sample.throughput_bps
        if delay_s is None or rtt_s is None or throughput_bps <= 0:
            return QueueVerdict(self, 0.0)
        bits = delay_s * throughput_bps
        is_unusual = delay_s > expected_s + compute_dead_band_s(expected_s)
        if self.held_bits and is_unusual and bits > MARGIN * self.held_bits and throughput_bps < FASTER * self.at_bps:
            least_rtt_s = rtt_s - self.held_bits / throughput_bps
            return QueueVerdict(replace(self, doubted_s=least_rtt_s), min(self.doubted_s, least_rtt_s))
        depth = replace(self, doubted_s=0.0) if self.doubted_s else self
        if is_overflowing:
            return QueueVerdict(type(self)(bits, throughput_bps) if is_full and bits > self.held_bits else depth, 0.0)
        is_empty = is_longer and throughput_bps < NOT_FULL * self.at_bps
        return QueueVerdict(depth, sample.settled_rtt_s or 0.0 if is_empty else 0.0)

    def forget(self) -> Self:
        """Return the state where a longer path turned out to be a queue, or the path is another one."""
        return type(self)()
