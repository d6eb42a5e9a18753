"""Rounds of a transfer in slow start: how many round trips a size takes, and how long.

A sender starts with a window of a few segments and, as long as nothing is lost, multiplies it each round trip until the
path is full; from then on it sends at the rate of the path.

Symbols: B, bytes; IW·MSS, initial window, bytes; g, factor of growth; R, round trip, s; C, rate of the path, bit/s.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tradewind.errors import InvalidValue
from tradewind.path import Path
from tradewind.units import BITS_PER_BYTE

INITIAL_WINDOW_SEGMENTS = 10
"""RFC 6928, and the paper, section 2.1."""

SEGMENT_BYTES = 1448
"""Payload of a segment on Ethernet with TCP timestamps; the paper counts 1500 for simplicity (section 2.1)."""

FLD_THRESHOLD_BYTES = 2_000_000
"""Flows up to here are short (section 2.1); whether the paper's MB are 10⁶ bytes it does not say."""


@dataclass(frozen=True, slots=True)
class WindowGrowth:
    """Factor of a window's growth each round trip while fewer than ``below_bytes`` were sent, and afterwards."""

    factor: int
    below_bytes: float = math.inf
    factor_beyond: int = 2

    def find_factor(self, sent_bytes: float) -> int:
        """Return the factor once ``sent_bytes`` were sent on the connection."""
        return self.factor if sent_bytes < self.below_bytes else self.factor_beyond


RENO = WindowGrowth(2)
"""CUBIC's slow start is the same."""

FLD_TCP = WindowGrowth(3, FLD_THRESHOLD_BYTES)
"""The paper's variant (section 2.1); what it does when it passes the threshold in slow start is not said: doubling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """How the sending side starts."""

    initial_window_segments: int = INITIAL_WINDOW_SEGMENTS
    segment_bytes: int = SEGMENT_BYTES
    growth: WindowGrowth = RENO

    def __post_init__(self) -> None:
        if self.initial_window_segments < 1 or self.segment_bytes < 1:
            raise InvalidValue("initial_window", "must be one segment or more, of one byte or more")

    @property
    def initial_window_bytes(self) -> int:
        return self.initial_window_segments * self.segment_bytes


@dataclass(frozen=True, slots=True)
class Window:
    """The state of a connection's sender: its window, and what it has sent so far; bytes."""

    window_bytes: float
    sent_bytes: float = 0.0

    @classmethod
    def of(cls, sender: Sender) -> "Window":
        """Return the window of a connection that was just opened."""
        return cls(sender.initial_window_bytes)

    def acknowledge_flight(self, flight_bytes: float, sender: Sender) -> "Window":
        """Return the window after a flight was acknowledged: it grows by what was acknowledged, times the factor less
        one.
        """
        sent = self.sent_bytes + flight_bytes
        return Window(self.window_bytes + (sender.growth.find_factor(sent) - 1) * flight_bytes, sent)

    def reset_after_pause(self, sender: Sender) -> "Window":
        """Return the window after a pause longer than the retransmission timeout: it starts again (RFC 5681, section
        4.1).

        So does the count of what was sent: FLD_TCP takes what follows for a flow of its own; others count nothing.
        """
        return Window(min(self.window_bytes, sender.initial_window_bytes))


@dataclass(frozen=True, slots=True)
class SendResult:
    """Result of a transfer by the model: its rounds, s from the request to the last byte, and the final window."""

    rounds: int
    duration_s: float
    window: Window


def count_rounds(size_bytes: float, sender: Sender) -> int:
    """Count the round trips from the first byte to the last where the path never fills, without the request's way.

    ⌈log_g(1 + B(g - 1)/(IW·MSS))⌉ below the threshold: each round sends g times the window of the one before. 500 kB in
    segments of 1500 bytes take 6 doubling and 4 tripling (section 2.1, Fig. 1).
    """
    return sum(1 for _ in _simulate_flights(size_bytes, sender, Window.of(sender)))


def send(size_bytes: float, sender: Sender, path: Path, window: Window | None = None) -> SendResult:
    """Simulate a transfer over a path, round by round.

    Each flight but the last holds the sender up for max(R, 8·w/C): a round trip, or longer once the window w is above
    the path's bandwidth-delay product, from where on it sends at the rate of the path. The last arrives R + 8·w/C after
    its begin.

    Parameters
    ----------
    path : its round trip must be known; a rate that is not known does not limit.
    window : of a connection that was used before.

    Raises
    ------
    InvalidValue : the round trip is not known.
    """
    rtt_s, rate_bps = path.rtt_s, path.bandwidth_bps or math.inf
    if rtt_s is None:
        raise InvalidValue("path.rtt_s", "must be known")
    flights = list(_simulate_flights(size_bytes, sender, window or Window.of(sender)))
    times_s = [BITS_PER_BYTE * flight_bytes / rate_bps for flight_bytes, _ in flights]
    duration_s = sum(max(rtt_s, time_s) for time_s in times_s[:-1]) + rtt_s + times_s[-1]
    return SendResult(len(flights), duration_s, flights[-1][1])


def _simulate_flights(size_bytes: float, sender: Sender, window: Window) -> Iterator[tuple[float, Window]]:
    """Yield the bytes of each round, and the window after it; one of 0 bytes for an object without bytes."""
    left = float(size_bytes)
    while True:
        flight = min(left, window.window_bytes)
        window = window.acknowledge_flight(flight, sender)
        left -= flight
        yield flight, window
        if left <= 0:
            return
