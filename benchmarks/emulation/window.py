"""Congestion window of one sender: slow start, then a segment a round trip, halved by loss (RFC 5681).

Slow start ends at the first loss, or when a queue has delayed a complete round, as HyStart does in Linux (Ha & Rhee,
"Hybrid Slow Start for High-Bandwidth and Long-Distance Networks"): the bottleneck drops nothing, so that without it
every window would grow to the receiver's buffer.
"""

import math
import random

from benchmarks.emulation.profile import INITIAL_WINDOW_SEGMENTS, SEGMENT_BYTES

MULTIPLICATIVE_DECREASE = 0.5
# Linux's minimum retransmission timeout: a sender idle for longer starts again from the initial window (RFC 5681, 4.1).
MINIMUM_TIMEOUT_S = 0.2
# A round is delayed when its shortest round trip is longer by an eighth, within these bounds (Linux, tcp_cubic.c).
DELAY_FRACTION = 1 / 8
DELAY_BOUNDS_S = (0.004, 0.016)


class CongestionWindow:
    """Bytes that may be in flight, as acknowledgements and losses shape it.

    Parameters
    ----------
    limit_bytes : the receiver's buffer.
    loss_rate : probability that a segment is lost.
    random_source : draws the number of segments until the next loss.
    """

    def __init__(self, *, limit_bytes: int, rtt_s: float, loss_rate: float, random_source: random.Random) -> None:
        self.losses = 0
        self._limit_bytes = limit_bytes
        self._rtt_s = rtt_s
        self._loss_rate = loss_rate
        self._random = random_source
        self._window_bytes = float(INITIAL_WINDOW_SEGMENTS * SEGMENT_BYTES)
        self._slow_start_until_bytes = math.inf
        self._recovers_until_s = -math.inf
        self._round_started_s = -math.inf
        self._round_shortest_s = math.inf
        self._delay_threshold_s = _compute_delay_threshold_s(rtt_s)
        self._last_sent_s = -math.inf
        self._segments_until_loss = self._draw()

    def change(self, *, rtt_s: float, loss_rate: float) -> None:
        """Continue over another path with the same connection."""
        self._rtt_s, self._loss_rate = rtt_s, loss_rate
        self._delay_threshold_s = _compute_delay_threshold_s(rtt_s)
        self._segments_until_loss = self._draw()

    @property
    def bytes(self) -> float:
        return min(self._window_bytes, self._limit_bytes)

    def send(self, size_bytes: int, now_s: float) -> bool:
        """Count ``size_bytes`` as sent; return whether one of their segments is lost."""
        self._last_sent_s = now_s
        self._segments_until_loss -= math.ceil(size_bytes / SEGMENT_BYTES)
        if self._segments_until_loss > 0:
            return False
        self._segments_until_loss = self._draw()
        return True

    def restart_if_idle(self, now_s: float) -> None:
        """Forget a window that has not been used for a retransmission timeout."""
        if now_s - self._last_sent_s > self._rtt_s + MINIMUM_TIMEOUT_S:
            self._window_bytes = min(self._window_bytes, float(INITIAL_WINDOW_SEGMENTS * SEGMENT_BYTES))

    def acknowledge(self, size_bytes: int, *, sent_s: float, now_s: float, was_limiting: bool) -> None:
        """Grow, but only when the window was what limited the sender (RFC 7661)."""
        if self._window_bytes < self._slow_start_until_bytes:
            self._watch_delay(sent_s, now_s)
        if not was_limiting or self._window_bytes >= self._limit_bytes:
            return
        if self._window_bytes < self._slow_start_until_bytes:
            self._window_bytes += size_bytes
        else:
            self._window_bytes += SEGMENT_BYTES * size_bytes / self._window_bytes

    def lose(self, now_s: float) -> None:
        """Halve the window, once a round trip however many segments are lost in it."""
        if now_s < self._recovers_until_s:
            return
        self.losses += 1
        self._recovers_until_s = now_s + self._rtt_s
        self._window_bytes = max(self.bytes * MULTIPLICATIVE_DECREASE, 2.0 * SEGMENT_BYTES)
        self._slow_start_until_bytes = self._window_bytes

    def _watch_delay(self, sent_s: float, now_s: float) -> None:
        """End slow start after a round in which even the quickest answer came late."""
        if sent_s >= self._round_started_s:
            if self._delay_threshold_s <= self._round_shortest_s < math.inf:
                self._slow_start_until_bytes = self._window_bytes
            self._round_started_s, self._round_shortest_s = now_s, math.inf
        self._round_shortest_s = min(self._round_shortest_s, now_s - sent_s)

    def _draw(self) -> float:
        """Draw the number of segments until the next loss, geometric with mean 1/loss_rate."""
        if self._loss_rate <= 0:
            return math.inf
        return 1 + math.floor(math.log(1 - self._random.random()) / math.log1p(-self._loss_rate))


def _compute_delay_threshold_s(rtt_s: float) -> float:
    """Return the round trip from which on a round counts as delayed, s."""
    return rtt_s + min(max(DELAY_FRACTION * rtt_s, DELAY_BOUNDS_S[0]), DELAY_BOUNDS_S[1])
