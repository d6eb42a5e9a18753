"""Alternate between congestion controls; with background flows, wait before each turn until these have filled the
queue.

The order is swapped every time, and repeats are even, so that each congestion control is as often measured after the
other as before it, and neither always finds the path as the other has left it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from benchmarks.support.disturbance import DisturbanceWatch
from benchmarks.testbed.testbed import Testbed
from benchmarks.transport.rows import DISTURBED, Row
from tradewind.errors import InvalidValue
from tradewind.units import BITS_PER_BYTE

FULL_SHARE = 0.4
"""Share of the queue from which on it counts as filled: a bulk flow by CUBIC keeps that between its own losses.

These leave 0.7 of its window, hence of path and queue together: of a queue of one bandwidth-delay product 0.7 · 2 - 1 =
0.4, of one of four (0.7 · 5 - 1) / 4 = 0.63.
"""

LEAST_QUEUED_SHARE = 0.75
"""Share of the turns that must find it filled.

There are two congestion controls: with fewer filled turns, more than half of those of one may have found an empty
queue, and its median would be of a path without background flows.
"""

REFILL_ROUND_TRIPS = 40
"""Round trips through the full queue, after which a flow is measured in any case; 2 to 10 s on the paths here."""

LOOKS_A_ROUND_TRIP = 4

Result = TypeVar("Result")


@dataclass(slots=True)
class Alternation:
    """Turns on a path with ``background`` bulk flows; ``queued`` of the ``started`` turns found the queue filled.

    ``watch`` : sees other work of the machine while something is measured, and not while a turn waits for the queue.
    """

    bed: Testbed
    background: int
    watch: DisturbanceWatch
    clock_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    started: int = 0
    queued: int = 0

    @classmethod
    def on(cls, bed: Testbed, background: int, *, prioritised: bool) -> "Alternation":
        return cls(bed, background, DisturbanceWatch(bed, prioritised=prioritised))

    def measure_each(
        self, controls: Sequence[str], repeats: int, fetch: Callable[[str], Result]
    ) -> dict[str, list[Result]]:
        """Fetch by each congestion control once a repeat, as soon as its turn may start; return the results.

        Raises
        ------
        InvalidValue : an odd number of repeats, with which one of them is first more often.
        """
        if repeats % 2:
            raise InvalidValue("repeats", f"must be even, so that each is as often first as second, got {repeats}")
        results: dict[str, list[Result]] = {control: [] for control in controls}
        for repeat in range(repeats):
            for control in controls if repeat % 2 == 0 else reversed(controls):
                if self.background:
                    self.queued += self._wait_for_filled_queue()
                self.started += 1
                with self.watch.watch_block():
                    fetched = fetch(control)
                results[control].append(fetched)
        return results

    def report(self) -> Row:
        """Return for a row what disturbed it, and the share of turns that found a filled queue, if there are background
        flows.
        """
        if not (self.background and self.started):
            return {DISTURBED: self.watch.disturbance}
        share = self.queued / self.started
        return {"queued_share": share, DISTURBED: self.watch.disturbance or _explain_empty_queue(share)}

    def _wait_for_filled_queue(self) -> bool:
        path = self.bed.path
        full_rtt_s = path.rtt_s + BITS_PER_BYTE * path.queue_limit_bytes / path.rate_bps
        until_s = self.clock_s() + REFILL_ROUND_TRIPS * full_rtt_s
        while self.bed.read_counters().down.queued_bytes < FULL_SHARE * path.queue_limit_bytes:
            if self.clock_s() >= until_s:
                return False
            self.sleep(full_rtt_s / LOOKS_A_ROUND_TRIP)
        return True


def _explain_empty_queue(queued_share: float) -> str | None:
    if queued_share >= LEAST_QUEUED_SHARE:
        return None
    found = f"bulk flows had filled the queue in {queued_share:.0%} of the turns"
    return f"{found}; {LEAST_QUEUED_SHARE:.0%} are required"
