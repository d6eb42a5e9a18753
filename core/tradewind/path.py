"""The network path of a transfer as its two ends see it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind.units import BITS_PER_BYTE

BOUNDS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "bandwidth_bps": (1.0, 1e16),
        "rtt_s": (1e-9, 1e5),
        "min_rtt_s": (1e-9, 1e5),
        "loss_rate": (0.0, 1.0),
        "buffer_bytes": (1.0, 1e15),
    }
)
"""Lowest and highest value of each field: a value beyond them has a wrong unit or is corrupt, and would overflow."""

INITIAL_BUFFERS_BYTES = (16_384, 87_380, 131_072)
"""What Linux gives a socket at first (``tcp_wmem``, ``tcp_rmem``, tcp(7)). Servers log it; it grows and is no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """Bottleneck rate, round-trip times, loss and socket buffer; ``None`` means unknown."""

    bandwidth_bps: float | None = None
    rtt_s: float | None = None
    min_rtt_s: float | None = None
    loss_rate: float | None = None
    buffer_bytes: float | None = None

    def __post_init__(self) -> None:
        for name, (lowest, highest) in BOUNDS.items():
            value = getattr(self, name)
            if value is not None and not lowest <= value <= highest:
                raise InvalidValue(f"path.{name}", f"must be within {lowest:g} and {highest:g}, got {value:g}")

    @property
    def bdp_bytes(self) -> float | None:
        """Bandwidth-delay product BW · RTT / 8 in bytes; ``None`` where either is unknown."""
        if self.bandwidth_bps is None or self.rtt_s is None:
            return None
        return self.bandwidth_bps * self.rtt_s / BITS_PER_BYTE

    def limit_bandwidth(self, rate_bps: float | None) -> "Path":
        """Return the path for a transfer that limits its rate; itself without a limit."""
        if rate_bps is None or (self.bandwidth_bps is not None and self.bandwidth_bps <= rate_bps):
            return self
        return replace(self, bandwidth_bps=rate_bps)

    def complete_from(self, other: "Path") -> "Path":
        """Return the path with its unknown values taken from ``other``."""
        if self is UNKNOWN_PATH or other is UNKNOWN_PATH:
            return other if self is UNKNOWN_PATH else self
        return Path(
            **{
                f.name: getattr(other, f.name) if getattr(self, f.name) is None else getattr(self, f.name)
                for f in fields(self)
            }
        )


UNKNOWN_PATH = Path()


def drop_initial_buffer(path: Path) -> Path:
    """Return a logged path without a socket buffer that the kernel enlarges."""
    return replace(path, buffer_bytes=None) if path.buffer_bytes in INITIAL_BUFFERS_BYTES else path
