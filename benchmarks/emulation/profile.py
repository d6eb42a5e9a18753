"""The properties of an emulated path."""

from dataclasses import asdict, dataclass

from tradewind.errors import InvalidValue
from tradewind.units import BITS_PER_BYTE, KIB, MIB

SEGMENT_BYTES = 1460  # Ethernet's 1500 without IPv4 and TCP headers
INITIAL_WINDOW_SEGMENTS = 10  # RFC 6928

NATURE = "user-space emulation of a network path (window, latency and bottleneck model), not a packet-level simulation"


@dataclass(frozen=True, slots=True, kw_only=True)
class PathProfile:
    """A path between two hosts, the same in both directions.

    Attributes
    ----------
    rate_bps : rate of the bottleneck, each direction.
    rtt_s : propagation there and back.
    loss_rate : probability that a segment is lost by something other than congestion, 0..1.
    receive_buffer_bytes : most that one connection may have in flight, each direction.
    cross_traffic : mean fraction of the bottleneck that other traffic takes, 0..1; its level changes every second.
    seed : seed of the losses and of the cross traffic's level.
    """

    rate_bps: float
    rtt_s: float
    loss_rate: float = 0.0
    receive_buffer_bytes: int = 4 * MIB
    cross_traffic: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.rate_bps <= 0:
            raise InvalidValue("rate_bps", "must be above 0")
        if self.rtt_s < 0:
            raise InvalidValue("rtt_s", "must not be negative")
        if not 0 <= self.loss_rate < 1:
            raise InvalidValue("loss_rate", "must be within 0..1")
        if not 0 <= self.cross_traffic <= 0.9:
            raise InvalidValue("cross_traffic", "must be within 0..0.9")
        if self.receive_buffer_bytes < SEGMENT_BYTES:
            raise InvalidValue("receive_buffer_bytes", f"must hold a segment of {SEGMENT_BYTES} bytes")

    @property
    def chunk_bytes(self) -> int:
        """Unit in which bytes are moved: 2 ms of the bottleneck, within 16 KiB and 256 KiB, so that events stay few."""
        return round(min(max(0.002 * self.rate_bps / BITS_PER_BYTE, 16 * KIB), 256 * KIB))

    def describe(self) -> dict[str, object]:
        """Return the profile as it is printed and stored next to a result."""
        return {"emulation": NATURE, **asdict(self)}
