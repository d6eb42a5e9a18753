"""What an emulated path does to packets, and what its link has counted."""

from dataclasses import dataclass, replace
from typing import Self

from benchmarks.support.direction import Direction
from benchmarks.testbed.lateness import Lateness
from tradewind.errors import InvalidValue
from tradewind.units import BITS_PER_BYTE, format_bps, format_bytes

LEAST_QUEUE_BYTES = 30_000
"""Twenty full packets: with less, even the initial window of one connection would not fit."""

_NS_PER_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class PathSpec:
    """A path with the same properties in both directions.

    Attributes
    ----------
    rate_bps : of the bottleneck, bit/s of IP packets.
    rtt_s : round trip of an empty path, half of it each way.
    loss_rate : probability that a packet is lost at random, each way.
    queue_bytes : the drop-tail queue before the bottleneck; one bandwidth-delay product unless given.
    """

    rate_bps: float
    rtt_s: float
    loss_rate: float = 0.0
    queue_bytes: int | None = None

    def __post_init__(self) -> None:
        if not 1e3 <= self.rate_bps <= 1e10:
            raise InvalidValue("rate_bps", f"must be within 1 kbit/s and 10 Gbit/s, got {self.rate_bps:g}")
        if not 0 <= self.rtt_s <= 10:
            raise InvalidValue("rtt_s", f"must be within 0 and 10 s, got {self.rtt_s:g}")
        if not 0 <= self.loss_rate < 1:
            raise InvalidValue("loss_rate", f"must be within 0 and 1, got {self.loss_rate:g}")
        if self.queue_bytes is not None and self.queue_bytes < 1500:
            raise InvalidValue("queue_bytes", f"must hold one packet of 1,500 bytes, got {self.queue_bytes}")

    @property
    def bdp_bytes(self) -> float:
        """Bandwidth-delay product."""
        return self.rate_bps * self.rtt_s / BITS_PER_BYTE

    @property
    def queue_limit_bytes(self) -> int:
        return self.queue_bytes if self.queue_bytes is not None else max(round(self.bdp_bytes), LEAST_QUEUE_BYTES)

    def with_rate(self, rate_bps: float) -> Self:
        """Return the path at another rate behind the same queue: buffers of routers do not change with the load."""
        return replace(self, rate_bps=rate_bps, queue_bytes=self.queue_limit_bytes)

    def format_settings(self) -> str:
        """Return one direction as the link's control socket takes it."""
        one_way_ns = round(self.rtt_s / 2 * _NS_PER_S)
        return f"{self.rate_bps:.0f} {one_way_ns} {self.loss_rate:.9f} {self.queue_limit_bytes}"

    def __str__(self) -> str:
        return (
            f"{format_bps(self.rate_bps)}, {1e3 * self.rtt_s:g} ms, {self.loss_rate:.3%} loss, "
            f"queue {format_bytes(self.queue_limit_bytes)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCounters:
    """What one direction of the link has carried.

    Attributes
    ----------
    forwarded, bytes : packets delivered and their size, IP headers included.
    dropped : packets that found the queue full.
    lost : packets taken by random loss.
    refused : packets that the emulation itself failed to carry; not 0 means that the machine was too slow.
    queued_bytes, queued_peak_bytes : in the queue now, and at most since the counters were last read.
    late : how late packets left against their due time, which includes the emulation's own delay.
    """

    forwarded: int
    bytes: int
    dropped: int
    lost: int
    refused: int
    queued_bytes: int
    queued_peak_bytes: int
    late: Lateness

    def subtract(self, earlier: Self) -> Self:
        """Return what was carried after ``earlier``; the queue is as it is now."""
        return replace(
            self,
            forwarded=self.forwarded - earlier.forwarded,
            bytes=self.bytes - earlier.bytes,
            dropped=self.dropped - earlier.dropped,
            lost=self.lost - earlier.lost,
            refused=self.refused - earlier.refused,
            late=self.late.subtract(earlier.late),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PathCounters:
    """Both directions: ``down`` from the server to the clients, ``up`` back."""

    down: LinkCounters
    up: LinkCounters

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read the link's answer, ``down key=value … up key=value …``."""
        head, _, up = line.partition(" up ")
        return cls(down=_parse_counters(head.removeprefix("down ")), up=_parse_counters(up))

    def subtract(self, earlier: Self) -> Self:
        return replace(self, down=self.down.subtract(earlier.down), up=self.up.subtract(earlier.up))

    def get_way(self, direction: Direction) -> LinkCounters:
        return self.up if direction is Direction.UP else self.down

    @property
    def late(self) -> Lateness:
        """Lateness of all packets, either way."""
        return self.down.late.add(self.up.late)


def _parse_counters(text: str) -> LinkCounters:
    values = {key: value for key, _, value in (pair.partition("=") for pair in text.split())}
    late = Lateness.parse(values.pop("late"))
    return LinkCounters(**{key: int(value) for key, value in values.items()}, late=late)
