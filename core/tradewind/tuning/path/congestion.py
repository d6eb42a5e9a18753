"""Congestion: when do others suffer from this transfer's streams, and how many does it then give up?

The sane form of GreenDataFlow's algorithm 2, which is inverted in print
(see `tradewind.tuning.reference.algorithms_1_2`).

Notation
--------
Q    queueing delay, srtt − min_rtt, s; where the path has become longer, by `base_rtt`
Q_e  what Q is without rivals: one CUBIC flow alone fills the queue. One shortest round trip, the usual depth of a
     buffer, or more where the 90th percentile of the cluster's history at that number of streams is more; history
     shows no shorter queue, since its transfers may have left the path half empty
L    share of the bytes that were sent again
L_0  what of it is tolerated, max(0.1 %, 3 · the path's baseline)
n    segments sent within the tick; c = 3 of them are lost together, so that the count of losses has variance c · n · L

Congested by loss where L > L_0 + 1.64 · √(c · L_0 / n): surely, not by the luck of one tick. By delay where Q > Q_e +
dead band, unless all of the queue is this transfer's (`queue_depth`). Then streams × 0.7 (multiplicative decrease), at
least one; after each quiet dwell one more is allowed (additive increase). n streams are cut after ⌈16 / n⌉ such ticks
in a row: few have cut for the slow start of those that came later, and of what they send a larger share is lost, as
each overflow takes some of every window. With one patience for all, who has less would give up more, and transfers that
share a bottleneck would not meet. Lossy ticks in a row count together, up to as many: so all judge by about as many
segments.

A cut that eases nothing was in vain: a deep buffer stays full, a radio goes on losing, and the rivals of a rival gain.
Loss of one's own making falls with the square of the streams (Mathis at a full pipe), to a half; where a cut leaves
more than 80 % of it, or 90 % of the queue, that cut is taken back and what is left becomes the expectation. Not so
for loss behind a full queue, which is always congestion: rivals take what a cut leaves them. Where the queue is neither
full nor short, three cuts must have been in vain.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate
from typing import Self

from tradewind.recommendation import CompactTable

DECREASE = 0.7
MIN_LOSS = 1e-3
LOSS_OVER_BASELINE = 3.0

SEGMENT_BYTES = 1448
"""Payload of a full packet with time stamps."""

LOST_TOGETHER = 3.0
"""Segments that are lost together when a queue overflows: several of one window."""

SURE_Z = 1.64
"""Excess of a tick's losses over the tolerated share, in standard deviations: by chance once in 20 ticks."""

PATIENCE = 16
"""Ticks in a row with a signal before one stream is cut; n streams wait ⌈16 / n⌉, so from 16 on they are cut at once.
"""

FEW_STREAMS = 8
"""A table that calls fewer streams sufficient shows noise."""

DEAD_BAND = 0.25
"""Share of the expected delay that is ignored; delays jitter."""

DEAD_BAND_S = 0.005
"""Least dead band, s: below it the delay comes from a host's scheduler, not from a queue."""

MIN_EXPECTED_DELAY_S = 0.05
"""Least expectation, s: access links buffer some 50 ms however short the path."""

MIN_BYTES_FOR_LOSS = 200_000
"""Below so many bytes sent within the tick a loss share says nothing (a download sends only requests)."""

DELAY_NOT_REDUCED = 0.9
LOSS_NOT_REDUCED = 0.8
"""If more than this share is left after a cut, the cut was in vain."""

ACCEPTED_MARGIN = 1.5
"""Loss that was accepted as the path's own may grow by half before it is a signal again."""

ROOM_SHARE = 0.25
"""A queue below this share of the expected one leaves room: the pipe is not full."""


class Signal(StrEnum):
    QUIET = "quiet"
    DELAY = "delay"
    LOSS = "loss"


@dataclass(frozen=True, slots=True)
class Loss:
    """The share lost of the ``sent_bytes`` of a tick."""

    share: float
    sent_bytes: float

    def exceeds_surely(self, tolerated: float) -> bool:
        """Return whether such a share is more than chance where ``tolerated`` is the true share."""
        luck = math.sqrt(LOST_TOGETHER * tolerated * SEGMENT_BYTES / self.sent_bytes)
        return self.share > tolerated + SURE_Z * luck


@dataclass(frozen=True, slots=True)
class StreamLimit:
    """State of the fairness control: what congestion permits, and what its cuts have shown.

    ``streams`` : most streams at present; ``None`` where congestion sets no limit. ``before`` : streams at the first
    cut; once regained, the limit is lifted. ``before_last`` : those at the last cut, or at the first of those in vain.
    ``before_delay`` : those at the first of the last cuts for delay, 0 without one.
    ``cut_delay_s``, ``cut_loss`` : what the last cut was for, 0 where not for that. ``accepted_delay_s``,
    ``accepted_loss`` : what turned out not to be of our making. ``limited_s`` : elapsed time of the last cut or raise.
    ``signs`` : ticks in a row with a signal, or with more loss than is tolerated, that have not been acted upon.
    ``signs_sent_bytes``, ``signs_lost_bytes`` : what the last of them that were lossy in a row sent, and sent again.
    ``in_vain`` : cuts in a row that eased nothing, before the last.
    """

    streams: int | None = None
    before: int = 0
    before_last: int = 0
    before_delay: int = 0
    cut_delay_s: float = 0.0
    cut_loss: float = 0.0
    accepted_delay_s: float = 0.0
    accepted_loss: float = 0.0
    limited_s: float = 0.0
    signs: int = 0
    signs_sent_bytes: float = 0.0
    signs_lost_bytes: float = 0.0
    in_vain: int = 0

    def join_loss(self, loss: Loss, streams: int) -> Loss:
        """Return the loss of a lossy tick and of those before it in a row, together.

        No more ticks count than so many streams wait: whoever shares a path then judges by about as many segments.
        """
        ticks = count_ticks_to_wait(streams)
        before = 1.0 if self.signs < ticks else 1.0 - 1.0 / ticks
        sent_bytes = before * self.signs_sent_bytes + loss.sent_bytes
        return Loss((before * self.signs_lost_bytes + loss.share * loss.sent_bytes) / sent_bytes, sent_bytes)

    def count_sign(self, signal: Signal, lasting: Loss | None = None) -> Self:
        """Return the state after one more tick with this signal, and what `join_loss` has of it if it is lossy.

        Loss that may be luck is no sign of a long queue: after lossy ticks one with delay alone is the first.
        """
        if lasting is None:
            if signal is Signal.QUIET:
                return self._forget_signs() if self.signs else self
            return replace(self._forget_signs(), signs=1 if self.signs_sent_bytes else self.signs + 1)
        lost_bytes = lasting.share * lasting.sent_bytes
        return replace(self, signs=self.signs + 1, signs_sent_bytes=lasting.sent_bytes, signs_lost_bytes=lost_bytes)

    def _forget_signs(self) -> Self:
        return replace(self, signs=0, signs_sent_bytes=0.0, signs_lost_bytes=0.0)

    def needs_another_sign(self, streams: int) -> bool:
        """Return whether the signal must come again before so many streams are cut."""
        return self.signs < count_ticks_to_wait(streams)

    def was_in_vain(self, signal: Signal, *, delay_s: float, loss: float) -> bool:
        """Return whether the last cut was for the same signal and has not reduced it; 0 stands for unknown."""
        if signal is Signal.LOSS:
            return self.cut_loss > 0 and loss > LOSS_NOT_REDUCED * self.cut_loss
        return self.cut_delay_s > 0 and delay_s > DELAY_NOT_REDUCED * self.cut_delay_s

    def cut(self, signal: Signal, streams: int, *, delay_s: float, loss: float, elapsed_s: float) -> Self:
        """Reduce the streams to 0.7 of the current ones, rounded up, by at least one; one stays."""
        again = self.was_in_vain(signal, delay_s=delay_s, loss=loss)
        return replace(
            self._forget_signs(),
            streams=max(1, min(streams - 1, math.ceil(DECREASE * streams))),
            before=max(self.before, streams),
            before_last=self.before_last if again else streams,
            before_delay=self.before_delay or streams if signal is Signal.DELAY else 0,
            cut_delay_s=delay_s if signal is Signal.DELAY else 0.0,
            cut_loss=loss if signal is Signal.LOSS else 0.0,
            limited_s=elapsed_s,
            in_vain=self.in_vain + 1 if again else 0,
        )

    def limit_to(self, streams: int) -> Self:
        """Limit the streams to these: more would only hurt other transfers."""
        return self if self.streams is None else replace(self, streams=min(self.streams, streams))

    def take_back(self, signal: Signal, *, delay_s: float, loss: float, elapsed_s: float) -> Self:
        """Undo cuts that were in vain, the first one with its limit; accept the present signal as the path's own."""
        is_loss = signal is Signal.LOSS
        accepted = replace(
            self._forget_signs(),
            accepted_loss=loss if is_loss else self.accepted_loss,
            accepted_delay_s=self.accepted_delay_s if is_loss else delay_s,
        )
        if self.before_last >= self.before:
            return accepted.lift()
        return accepted.raise_to(self.before_last, elapsed_s)

    def undo_delay_cuts(self, elapsed_s: float) -> Self:
        """Undo the cuts for delay, which a longer path explains; what was cut for loss before stays cut."""
        if self.before_delay >= self.before:
            return self.lift()
        return self._forget_signs().raise_to(self.before_delay, elapsed_s)

    def regain_after_quiet(self, elapsed_s: float, dwell_s: float) -> Self:
        """Permit one more stream after each quiet dwell; lift the limit once those of the first cut are regained.

        Ticks that are lossy, but not surely, count on as signs: else those that regain would never be cut.
        """
        if self.streams is None or elapsed_s - self.limited_s < dwell_s:
            return self
        return self.lift() if self.streams >= self.before else self.raise_to(self.streams + 1, elapsed_s)

    def raise_to(self, streams: int, elapsed_s: float) -> Self:
        """Return a higher limit; cuts that follow are the first."""
        return replace(
            self,
            streams=streams,
            before_delay=0,
            cut_delay_s=0.0,
            cut_loss=0.0,
            limited_s=elapsed_s,
            in_vain=0,
        )

    def lift(self) -> Self:
        """Return the state without a limit: its cause is gone."""
        return type(self)(accepted_delay_s=self.accepted_delay_s, accepted_loss=self.accepted_loss)


def count_ticks_to_wait(streams: int) -> int:
    """Return in how many ticks in a row so many streams must see a signal before they are cut."""
    return math.ceil(PATIENCE / streams)


def compute_expected_delay_s(tables: Iterable[CompactTable], streams: int, min_rtt_s: float) -> float:
    """Return Q_e: the depth of a usual buffer, or history's 90th percentile at this number of streams, the highest."""
    logged = [
        _interpolate_delay_s(table.queueing_delay_p90_s, streams) for table in tables if table.queueing_delay_p90_s
    ]
    return max(*logged, min_rtt_s, MIN_EXPECTED_DELAY_S)


def _interpolate_delay_s(delays_s: Mapping[int, float], streams: int) -> float:
    """Interpolate linearly between the logged stream counts; never return less than fewer streams have shown.

    A queue that few streams fill is filled by many, too: a lower value in the log means that fewer rows saw it.
    """
    counts = sorted(delays_s)
    delays_s = dict(zip(counts, accumulate((delays_s[count] for count in counts), max), strict=True))
    above = next((count for count in counts if count >= streams), counts[-1])
    below = next((count for count in reversed(counts) if count <= streams), counts[0])
    if above <= below:
        return delays_s[above]
    share = (streams - below) / (above - below)
    return delays_s[below] + share * (delays_s[above] - delays_s[below])


def compute_dead_band_s(expected_s: float) -> float:
    return max(DEAD_BAND_S, DEAD_BAND * expected_s)


def compute_tolerated_loss(loss_baseline: float, limit: StreamLimit) -> float:
    """Return L_0, including loss that was accepted as the path's own."""
    return max(MIN_LOSS, LOSS_OVER_BASELINE * loss_baseline, ACCEPTED_MARGIN * limit.accepted_loss)


def classify_signal(
    *,
    delay_s: float | None,
    expected_s: float,
    loss: Loss | None,
    lasting: Loss | None = None,
    tolerated_loss: float,
    limit: StreamLimit,
) -> Signal:
    """Return the path's signal; loss is graver (001 §IV-B) and comes first, be it of this tick or of lossy ones in a
    row.

    ``delay_s`` : of a queue that others may wait in; ``None`` where it is unknown, or this transfer's alone.
    ``lasting`` : as `StreamLimit.join_loss` has it; ``None`` where this tick is not lossy.
    """
    if any(each is not None and each.exceeds_surely(tolerated_loss) for each in (loss, lasting)):
        return Signal.LOSS
    tolerated_s = max(expected_s, limit.accepted_delay_s)
    if delay_s is not None and delay_s > tolerated_s + compute_dead_band_s(tolerated_s):
        return Signal.DELAY
    return Signal.QUIET


def has_room(delay_s: float | None, expected_s: float) -> bool:
    """Return whether more streams can carry more: the queue is short or unknown."""
    return delay_s is None or delay_s <= max(DEAD_BAND_S, ROOM_SHARE * expected_s)
