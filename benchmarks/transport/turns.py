"""Whose turn it is among flows by turns, and when: beside bulk flows not before these have filled the queue again.

The order is swapped every time, and repeats are even, so that each congestion control is as often measured after the
other as before it, and neither always finds the path as the other has left it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from benchmarks.support.disturbance import Watched
from benchmarks.testbed.testbed import Testbed
from benchmarks.transport.rows import DISTURBED, Row
from tradewind.errors import InvalidValue
from tradewind.units import BITS_PER_BYTE

FULL_SHARE = 0.4
"""Of the queue, from which on it counts as filled: a bulk flow by CUBIC keeps that between its own losses. These leave
0.7 of its window, so of path and queue together: of a queue of one bandwidth-delay product 0.7 · 2 - 1 = 0.4, of one of
four (0.7 · 5 - 1) / 4 = 0.63."""

LEAST_QUEUED_SHARE = 0.75
"""Of the turns, that have to find it filled. They are of two congestion controls: with fewer, more than half of those
of one may have found none, and its median is of a path without others."""

REFILL_ROUND_TRIPS = 40
"""Through the full queue, after which a flow is measured all the same; 2 to 10 s on the paths here."""

LOOKS_A_ROUND_TRIP = 4

Got = TypeVar("Got")


@dataclass(slots=True)
class Turns:
    """Turns on a path with so many bulk flows ``beside``; ``queued`` of the ``begun`` found the queue filled.

    ``seen`` : of other work of the machine, while there was something to measure and not while the queue was waited
    for.
    """

    bed: Testbed
    beside: int
    seen: Watched
    clock_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    begun: int = 0
    queued: int = 0

    @classmethod
    def on(cls, bed: Testbed, beside: int, *, ahead: bool) -> "Turns":
        return cls(bed, beside, Watched(bed, ahead=ahead))

    def each(self, controls: Sequence[str], repeats: int, fetch: Callable[[str], Got]) -> dict[str, list[Got]]:
        """What is fetched by each congestion control once a repeat, as soon as its turn may begin.

        Raises
        ------
        InvalidValue : an odd number of repeats, by which one of them is first more often.
        """
        if repeats % 2:
            raise InvalidValue("repeats", f"must be even, so that each is as often first as second, got {repeats}")
        got: dict[str, list[Got]] = {control: [] for control in controls}
        for repeat in range(repeats):
            for control in controls if repeat % 2 == 0 else reversed(controls):
                if self.beside:
                    self.queued += self._refilled()
                self.begun += 1
                with self.seen.measuring():
                    fetched = fetch(control)
                got[control].append(fetched)
        return got

    def told(self) -> Row:
        """Of a row: what disturbed it, and the share of turns that began beside a filled queue if any should have."""
        if not (self.beside and self.begun):
            return {DISTURBED: self.seen.wrong}
        share = self.queued / self.begun
        return {"queued_share": share, DISTURBED: self.seen.wrong or _missing(share)}

    def _refilled(self) -> bool:
        path = self.bed.path
        full_rtt_s = path.rtt_s + BITS_PER_BYTE * path.queue_limit_bytes / path.rate_bps
        until_s = self.clock_s() + REFILL_ROUND_TRIPS * full_rtt_s
        while self.bed.counters().down.queued_bytes < FULL_SHARE * path.queue_limit_bytes:
            if self.clock_s() >= until_s:
                return False
            self.sleep(full_rtt_s / LOOKS_A_ROUND_TRIP)
        return True


def _missing(queued_share: float) -> str | None:
    if queued_share >= LEAST_QUEUED_SHARE:
        return None
    found = f"bulk flows had filled the queue in {queued_share:.0%} of the turns"
    return f"{found}; {LEAST_QUEUED_SHARE:.0%} have to find it so"
