"""Files refused while others were served: each is requested again while no other request is in flight."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from tradewind_agent.engine.file_transfer import FileTransfer
from tradewind_agent.engine.http.address import Origin
from tradewind_agent.engine.origin.limits import OriginLimits
from tradewind_agent.engine.request_pipeline import RequestPipeline

MAX_PAUSE_S = 5.0
"""Longest pause of the others for one test. If they are not done by then, the test comes last."""


class TestingHost(Protocol):
    """The pool, as the tests see it. A protocol, because the pool owns the tests."""

    @property
    def pipelines(self) -> Iterator[RequestPipeline]: ...

    def deal_soon(self) -> None: ...


class SoloTests:
    """Suspects of one origin.

    Parameters
    ----------
    has_other_work : whether files of this origin wait that are no suspects.
    """

    __test__ = False  # no test of pytest's

    def __init__(
        self, host: TestingHost, origin: Origin, limits: OriginLimits, has_other_work: Callable[[Origin], bool]
    ) -> None:
        self._host, self._origin, self._limits = host, origin, limits
        self._has_other_work = has_other_work
        self._loop = asyncio.get_running_loop()
        self._suspects: deque[FileTransfer] = deque()
        self._pausing: asyncio.TimerHandle | None = None
        self._settling: asyncio.TimerHandle | None = None
        self._pipeline: RequestPipeline | None = None
        self._is_late = False

    @property
    def blocks_others(self) -> bool:
        """Return whether no other request may be sent to the origin now."""
        return self._pipeline is not None or self._pausing is not None

    def add(self, file: FileTransfer) -> None:
        self._suspects.append(file)
        self._host.deal_soon()

    def advance(self) -> None:
        """Start the next test if nothing is under way, or pause the others for it; end one that is over."""
        if self._pipeline is not None and not self._pipeline.outstanding:
            self._pipeline = None
            if self._limits.is_load_proven:
                self._release()
        if self._limits.take_refused_ranges():
            self._release()
        while self._suspects and self._suspects[0].is_over:
            self._suspects.popleft()
        if not self._suspects or self._pipeline is not None or self._limits.is_held:
            return
        if any(pipeline.is_busy and pipeline.origin == self._origin for pipeline in self._host.pipelines):
            if self._pausing is None and not self._is_late and self._limits.may_test_now():
                self._pausing = self._loop.call_later(MAX_PAUSE_S, self._stop_pausing)
            return
        is_prompt = self._pausing is not None or (self._limits.may_test_now() and not self._is_late)
        if is_prompt or not self._has_other_work(self._origin):
            self._start()

    def _start(self) -> None:
        idle = [pipeline for pipeline in self._host.pipelines if not pipeline.is_busy and pipeline.channel is not None]
        if not idle:
            return
        pipeline = min(idle, key=lambda pipeline: not self._is_open(pipeline))
        if not self._is_open(pipeline) and (settling_s := self._limits.compute_settling_s()):
            self._wait_until_settled(settling_s)
            return
        if self._pausing is not None:
            self._pausing.cancel()
            self._pausing = None
        file = self._suspects.popleft()
        file.is_waiting = False
        exchange = file.take(1, pipeline.compute_range_bytes())
        if exchange is None:
            return
        self._pipeline = pipeline
        pipeline.assign(exchange)

    def _is_open(self, pipeline: RequestPipeline) -> bool:
        return pipeline.origin == self._origin and pipeline.is_connected

    def _wait_until_settled(self, settling_s: float) -> None:
        """Come back when no closed connection counts any more, with which a new one would be one too many."""
        if self._settling is None:
            self._settling = self._loop.call_later(settling_s, self._end_settling)

    def _end_settling(self) -> None:
        self._settling = None
        self._host.deal_soon()

    def _stop_pausing(self) -> None:
        """Resume the others, which take too long, and test after them."""
        self._pausing = None
        self._is_late = True
        self._host.deal_soon()

    def _release(self) -> None:
        """Queue the suspects like any file: they were refused because of the load, or of their ranges."""
        while self._suspects:
            file = self._suspects.popleft()
            if not file.is_over:
                file.is_waiting = False
                file.host.make_available(file)

    def close(self) -> None:
        for timer in (self._pausing, self._settling):
            if timer is not None:
                timer.cancel()
