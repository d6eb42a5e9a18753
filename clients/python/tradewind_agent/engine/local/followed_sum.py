"""The sum of a file that follows its bytes as they arrive, so that little is left to sum behind the last one."""

from asyncio import Future
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from tradewind.units import MIB
from tradewind_agent.engine.local.checksums import RunningSum
from tradewind_agent.engine.local.storage import PartFile

_MOST_AT_ONCE_BYTES = 64 * MIB
"""Bytes of one step: the threads also publish other files."""

RunBlocking = Callable[[Callable[[], bool]], "Future[object]"]


class FollowedSum:
    """The sum of a part as far as its bytes have come without a gap.

    One thread at a time adds to it. It reads what was written a moment ago, so that the bytes come from the page cache.

    Parameters
    ----------
    run_blocking : runs work in a thread.

    Attributes
    ----------
    LEAST_BYTES : that are worth a step in a thread.
    running : the sum so far.
    end : bytes before this one are summed, or about to be: they must not be written again.
    """

    LEAST_BYTES: ClassVar[int] = 4 * MIB

    def __init__(self, part: PartFile, algorithm: str, run_blocking: RunBlocking) -> None:
        self.running = RunningSum(algorithm)
        self.end = 0
        self._part = part
        self._run_blocking = run_blocking
        self._is_busy = self._is_stopped = False

    def follow(self, end: int) -> None:
        """Sum on in a thread: every byte before ``end`` has arrived."""
        self.end = max(self.end, end)
        start = self.running.position
        if self._is_busy or self._is_stopped or self.end - start < self.LEAST_BYTES:
            return
        self._is_busy = True
        step = partial(self._part.add_to_sum, self.running, min(self.end, start + _MOST_AT_ONCE_BYTES))
        self._run_blocking(step).add_done_callback(self._go_on)

    def stop(self) -> None:
        """Sum no more: the bytes are to change, or whoever publishes the file sums the rest."""
        self._is_stopped = True

    def _go_on(self, step: "Future[object]") -> None:
        """Go on behind a step, unless it failed or the part is closed."""
        self._is_busy = False
        if step.cancelled() or step.exception() is not None or not step.result():
            self.stop()
        self.follow(self.end)
