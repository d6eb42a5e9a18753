"""The shared bottleneck of one direction: flows take turns, nothing is dropped."""

import math
import random
from collections import deque
from typing import Generic, Protocol, TypeVar

from tradewind.units import BITS_PER_BYTE

CROSS_TRAFFIC_PERIOD_S = 1.0
_CROSS_TRAFFIC_SPREAD = 0.5  # its level is drawn within ±50 % of the mean


class Sized(Protocol):
    @property
    def size_bytes(self) -> int: ...


Piece = TypeVar("Piece", bound=Sized)


class Bottleneck(Generic[Piece]):
    """Serialises pieces at a rate; queues of different flows are served in turn, by bytes (deficit round robin).

    Parameters
    ----------
    quantum_bytes : a flow's share of a round.
    cross_traffic : mean fraction of the rate taken by others.
    """

    def __init__(self, *, rate_bps: float, quantum_bytes: int, cross_traffic: float, seed: str) -> None:
        self.served_bytes = 0
        self._rate_bps = rate_bps
        self._quantum_bytes = quantum_bytes
        self._cross_traffic = cross_traffic
        self._seed = seed
        self._queues: dict[int, deque[Piece]] = {}
        self._turns: deque[int] = deque()
        self._credit_bytes: dict[int, int] = {}
        self._period = -1
        self._free_bps = rate_bps

    @property
    def idle(self) -> bool:
        return not self._turns

    def change_rate(self, rate_bps: float) -> None:
        """Serve at another rate from the next piece on."""
        self._rate_bps = rate_bps
        self._period = -1

    def enqueue(self, flow: int, piece: Piece) -> None:
        if flow not in self._queues:
            self._queues[flow] = deque()
            self._credit_bytes[flow] = self._quantum_bytes
            self._turns.append(flow)
        self._queues[flow].append(piece)

    def serve(self, now_s: float) -> tuple[Piece, float]:
        """Take the next piece; it and the time its last bit has left. At least one must be queued."""
        while self._credit_bytes[flow := self._turns[0]] < self._queues[flow][0].size_bytes:
            self._credit_bytes[flow] += self._quantum_bytes
            self._turns.rotate(-1)
        queue = self._queues[flow]
        piece = queue.popleft()
        self._credit_bytes[flow] -= piece.size_bytes
        if not queue:
            self._turns.popleft()
            del self._queues[flow], self._credit_bytes[flow]
        self.served_bytes += piece.size_bytes
        return piece, now_s + piece.size_bytes * BITS_PER_BYTE / self._rate_at(now_s)

    def _rate_at(self, now_s: float) -> float:
        """Rate left by the cross traffic, whose level is drawn anew each period, the same for the same seed."""
        if self._cross_traffic <= 0:
            return self._rate_bps
        period = math.floor(now_s / CROSS_TRAFFIC_PERIOD_S)
        if period != self._period:
            self._period = period
            draw = random.Random(f"{self._seed}:{period}").uniform(-_CROSS_TRAFFIC_SPREAD, _CROSS_TRAFFIC_SPREAD)
            self._free_bps = self._rate_bps * max(0.05, 1 - self._cross_traffic * (1 + draw))
        return self._free_bps
