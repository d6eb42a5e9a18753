"""The shared bottleneck of one direction: it serves the flows in turn and drops nothing."""

import math
import random
from collections import deque
from typing import Generic, Protocol, TypeVar

from tradewind.units import BITS_PER_BYTE

CROSS_TRAFFIC_PERIOD_S = 1.0
_CROSS_TRAFFIC_SPREAD = 0.5  # the level is drawn within ±50 % of the mean


class Sized(Protocol):
    @property
    def size_bytes(self) -> int: ...


Piece = TypeVar("Piece", bound=Sized)


class Bottleneck(Generic[Piece]):
    """Serialises pieces at a rate; queues of different flows are served in turn, by bytes (deficit round robin).

    Parameters
    ----------
    quantum_bytes : a flow's share of a round.
    cross_traffic : mean fraction of the rate taken by other traffic.
    """

    def __init__(self, *, rate_bps: float, quantum_bytes: int, cross_traffic: float, seed: str) -> None:
        self.served_bytes = 0
        self._rate_bps = rate_bps
        self._quantum_bytes = quantum_bytes
        self._cross_traffic = cross_traffic
        self._seed = seed
        self._queues: dict[int, deque[Piece]] = {}
        self._order: deque[int] = deque()
        self._credit_bytes: dict[int, int] = {}
        self._period = -1
        self._free_bps = rate_bps

    @property
    def is_idle(self) -> bool:
        return not self._order

    def change_rate(self, rate_bps: float) -> None:
        """Serve at another rate from the next piece on."""
        self._rate_bps = rate_bps
        self._period = -1

    def enqueue(self, flow: int, piece: Piece) -> None:
        if flow not in self._queues:
            self._queues[flow] = deque()
            self._credit_bytes[flow] = self._quantum_bytes
            self._order.append(flow)
        self._queues[flow].append(piece)

    def serve(self, now_s: float) -> tuple[Piece, float]:
        """Take the next piece; return it and the time at which its last bit leaves. A piece must be queued."""
        while self._credit_bytes[flow := self._order[0]] < self._queues[flow][0].size_bytes:
            self._credit_bytes[flow] += self._quantum_bytes
            self._order.rotate(-1)
        queue = self._queues[flow]
        piece = queue.popleft()
        self._credit_bytes[flow] -= piece.size_bytes
        if not queue:
            self._order.popleft()
            del self._queues[flow], self._credit_bytes[flow]
        self.served_bytes += piece.size_bytes
        return piece, now_s + piece.size_bytes * BITS_PER_BYTE / self._find_rate_at(now_s)

    def _find_rate_at(self, now_s: float) -> float:
        """Return the rate that the cross traffic leaves; its level is drawn for each period, the same for the same
        seed.
        """
        if self._cross_traffic <= 0:
            return self._rate_bps
        period = math.floor(now_s / CROSS_TRAFFIC_PERIOD_S)
        if period != self._period:
            self._period = period
            draw = random.Random(f"{self._seed}:{period}").uniform(-_CROSS_TRAFFIC_SPREAD, _CROSS_TRAFFIC_SPREAD)
            self._free_bps = self._rate_bps * max(0.05, 1 - self._cross_traffic * (1 + draw))
        return self._free_bps
