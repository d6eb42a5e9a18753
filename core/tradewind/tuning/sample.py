"""One tick of a running transfer, as the end that moves it sees it."""

import math
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from tradewind.dataset import ChunkKind
from tradewind.energy.ends import LivePower
from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.units import BITS_PER_BYTE

MAX_BPS = 1e16
"""Beyond any network: such a value is corrupt."""

MIN_BPS = 1.0
"""A slower transfer or chunk counts as stalled, since its logarithm carries no information."""

MIN_W = 1e-3
"""A meter that shows less is not measuring."""

MAX_S = 1e7
"""Longest plausible interval or round trip, about four months."""

MAX_STREAMS = 4096
"""No transfer has more; splitting so many would take the service's time from other requests."""

_HIGHEST = {
    "sequence": math.inf,
    "bytes_moved": math.inf,
    "remaining_bytes": math.inf,
    "remaining_files": math.inf,
    "sent_bytes": math.inf,
    "retransmitted_bytes": math.inf,
    "throughput_bps": MAX_BPS,
    "interval_s": MAX_S,
    "rtt_s": MAX_S,
    "min_rtt_s": MAX_S,
    "settled_rtt_s": MAX_S,
    "power_w": MAX_BPS,
}
"""None of these is below 0."""

_bounded = attrgetter(*_HIGHEST)


class ChunkProgress(NamedTuple):
    """One chunk of the tick: its current parameters, its mean rate within the interval, and what is left of it."""

    kind: ChunkKind
    parameters: Parameters
    throughput_bps: float
    remaining_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TickSample:
    """One tick.

    Rates are means over the last ``interval_s`` seconds. ``bytes_moved``, ``sent_bytes`` and ``retransmitted_bytes``
    count from the transfer's start, so that a lost tick loses nothing. ``at_s`` is any clock in seconds: it may jump,
    the controller then counts intervals. Sequence 0 precedes the first byte and has an interval of 0. Where ``chunks``
    is empty, as of a tool that reports only sums, the sums are split over the chunks of the plan. ``power_ends``
    gives power by end; where it is empty, ``power_w`` is of all the ends that the SLA counts. ``settled_rtt_s`` is the
    round trip that half of the tick's samples share, as those of an empty queue do; ``None`` where they differ.

    Raises
    ------
    InvalidValue : a value that no transfer can have, by its field.
    """

    sequence: int
    at_s: float
    interval_s: float
    bytes_moved: int
    throughput_bps: float
    remaining_bytes: int
    remaining_files: int
    rtt_s: float | None = None
    min_rtt_s: float | None = None
    settled_rtt_s: float | None = None
    sent_bytes: int | None = None
    retransmitted_bytes: int | None = None
    power_w: float | None = None
    power_ends: tuple[LivePower, ...] = ()
    chunks: tuple[ChunkProgress, ...] = ()

    def __post_init__(self) -> None:
        if not math.isfinite(self.at_s):
            raise InvalidValue("at", f"must be a time, got {self.at_s}")
        for value, (name, highest) in zip(_bounded(self), _HIGHEST.items(), strict=True):
            if value is not None and not 0 <= value <= highest:
                reason = "not be negative" if highest == math.inf else f"be within 0 and {highest:g}"
                raise InvalidValue(name, f"must {reason}, got {value:g}")
        if self.sent_bytes is not None and (self.retransmitted_bytes or 0) > self.sent_bytes:
            raise InvalidValue("retransmitted_bytes", "is more than sent_bytes")
        self._check_power_ends()
        self._check_chunks()

    def _check_power_ends(self) -> None:
        hosts = [end.host for end in self.power_ends]
        if len(set(hosts)) < len(hosts) or (None in hosts and len(hosts) > 1):
            raise InvalidValue("power_ends", "must name each end once")
        for i, end in enumerate(self.power_ends):
            if not 0 <= end.power_w <= MAX_BPS:
                raise InvalidValue(f"power_ends.{i}.power_w", f"cannot be {end.power_w:g}")

    def _check_chunks(self) -> None:
        streams = sum(chunk.parameters.streams for chunk in self.chunks)
        if streams > MAX_STREAMS:
            raise InvalidValue("chunks", f"have {streams} streams, above the {MAX_STREAMS} that a transfer may have")
        for i, chunk in enumerate(self.chunks):
            if not 0 <= chunk.throughput_bps <= MAX_BPS:
                raise InvalidValue(f"chunks.{i}.throughput_bps", f"cannot be {chunk.throughput_bps:g}")
            if chunk.remaining_bytes < 0:
                raise InvalidValue(f"chunks.{i}.remaining_bytes", f"must not be negative, got {chunk.remaining_bytes}")
            if any(chunk.kind is other.kind for other in self.chunks[:i]):
                raise InvalidValue(f"chunks.{i}.chunk", f"{chunk.kind} is there twice")

    @property
    def queueing_delay_s(self) -> float | None:
        """Return the round trip beyond the shortest one seen, s; ``None`` where either is unknown."""
        if self.rtt_s is None or self.min_rtt_s is None:
            return None
        return max(self.rtt_s - self.min_rtt_s, 0.0)

    @property
    def remaining_bits(self) -> int:
        return BITS_PER_BYTE * self.remaining_bytes
