"""Whose turn it is among flows by turns, and when: beside bulk flows not before these have filled the queue again.

The order is swapped every time, so that each congestion control is as often measured after the other as before it, and
neither always finds the path as the other has left it.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.testbed.testbed import Testbed
from benchmarks.transport.rows import Row
from tradewind.units import BITS_PER_BYTE

FULL_SHARE = 0.5
"""Of the queue, from which on it counts as filled: a bulk flow by CUBIC keeps more than that between its own losses."""

REFILL_ROUND_TRIPS = 40
"""Through the full queue, after which a flow is measured all the same; 2 to 10 s on the paths here."""

LOOKS_A_ROUND_TRIP = 4


@dataclass(slots=True)
class Turns:
    """Turns on a path with so many bulk flows ``beside``; ``queued`` of the ``begun`` found the queue filled."""

    bed: Testbed
    beside: int
    clock_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    begun: int = 0
    queued: int = 0

    def of(self, controls: Sequence[str], repeats: int) -> Iterator[str]:
        """Each congestion control once a repeat, as soon as its turn may begin."""
        for repeat in range(repeats):
            for control in controls if repeat % 2 == 0 else reversed(controls):
                if self.beside:
                    self.queued += self._refilled()
                self.begun += 1
                yield control

    def told(self) -> Row:
        """Of a row: the share of turns that began beside a filled queue; nothing where there is nobody beside."""
        return {"queued_share": self.queued / self.begun} if self.beside and self.begun else {}

    def _refilled(self) -> bool:
        path = self.bed.path
        full_rtt_s = path.rtt_s + BITS_PER_BYTE * path.queue_limit_bytes / path.rate_bps
        until_s = self.clock_s() + REFILL_ROUND_TRIPS * full_rtt_s
        while self.bed.counters().down.queued_bytes < FULL_SHARE * path.queue_limit_bytes:
            if self.clock_s() >= until_s:
                return False
            self.sleep(full_rtt_s / LOOKS_A_ROUND_TRIP)
        return True
