"""The network path of a transfer as its two ends see it."""

from dataclasses import dataclass, fields

from tradewind.errors import InvalidValue
from tradewind.units import BITS_PER_BYTE


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
            if f.name == "loss_rate":
                if not 0 <= value <= 1:
                    raise InvalidValue("path.loss_rate", f"must be within 0 and 1, got {value}")
            elif not value > 0:
                raise InvalidValue(f"path.{f.name}", f"must be above 0, got {value}")

    @property
    def bdp_bytes(self) -> float | None:
        """Bandwidth-delay product BW · RTT / 8 in bytes; ``None`` where either is unknown."""
        if self.bandwidth_bps is None or self.rtt_s is None:
            return None
        return self.bandwidth_bps * self.rtt_s / BITS_PER_BYTE


UNKNOWN_PATH = Path()
