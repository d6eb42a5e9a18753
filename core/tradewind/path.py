"""The network path of a transfer as its two ends see it."""

from dataclasses import dataclass, fields

from tradewind.errors import InvalidValue
from tradewind.units import BITS_PER_BYTE

MAX_BANDWIDTH_BPS = 1e16
"""Beyond any path: the record of one fibre is near 10^15."""

MIN_RTT_S, MAX_RTT_S = 1e-9, 1e5
"""From one board to the far end of the solar system; what lies outside was logged in another unit."""

MIN_BUFFER_BYTES, MAX_BUFFER_BYTES = 1.0, 1e15

_RANGES = {
    "bandwidth_bps": (0.0, MAX_BANDWIDTH_BPS),
    "rtt_s": (MIN_RTT_S, MAX_RTT_S),
    "min_rtt_s": (MIN_RTT_S, MAX_RTT_S),
    "loss_rate": (0.0, 1.0),
    "buffer_bytes": (MIN_BUFFER_BYTES, MAX_BUFFER_BYTES),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """Bottleneck rate, round-trip times, loss and socket buffer; ``None`` means unknown."""

    bandwidth_bps: float | None = None
    rtt_s: float | None = None
    min_rtt_s: float | None = None
    loss_rate: float | None = None
    buffer_bytes: float | None = None

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if value is None:
                continue
            if f.name != "loss_rate" and not value > 0:
                raise InvalidValue(f"path.{f.name}", f"must be above 0, got {value}")
            low, high = _RANGES[f.name]
            if not low <= value <= high:
                raise InvalidValue(f"path.{f.name}", f"must be within {low:g} and {high:g}, got {value}")

    @property
    def bdp_bytes(self) -> float | None:
        """Bandwidth-delay product BW · RTT / 8 in bytes; ``None`` where either is unknown."""
        if self.bandwidth_bps is None or self.rtt_s is None:
            return None
        return self.bandwidth_bps * self.rtt_s / BITS_PER_BYTE


UNKNOWN_PATH = Path()
