"""What a server has done since it started."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Counters:
    """Totals since the start; ``open_connections`` is of this moment."""

    open_connections: int = 0
    connections: int = 0
    refused_connections: int = 0
    requests: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0
    by_method: Counter[str] = field(default_factory=Counter)
    by_status: Counter[int] = field(default_factory=Counter)

    def count(self, method: str, status: int, *, sent_bytes: int, received_bytes: int) -> None:
        """Add one answered request; bytes are those of bodies."""
        self.requests += 1
        self.by_method[method] += 1
        self.by_status[status] += 1
        self.sent_bytes += sent_bytes
        self.received_bytes += received_bytes
