"""Exchange heartbeats with the service while a transfer runs: one at a time, in a thread, with a bounded wait."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol
from uuid import UUID

from tradewind.wire.heartbeats import Heartbeat, HeartbeatAnswer
from tradewind_agent.errors import (
    ConflictRefused,
    KeyRefused,
    NoAnswer,
    ObjectNotFound,
    ScopeMissing,
    ServiceProblem,
    ServiceUnreachable,
)
from tradewind_agent.tuning.share import ShareOfUser
from tradewind_agent.tuning.transfer_sample import TransferSample
from tradewind_agent.tuning.wire_ticks import to_heartbeat

NO_SUCH_CALL = 405

_FINAL = (ConflictRefused, KeyRefused, ScopeMissing, ObjectNotFound)
"""For the service the transfer has finished, the key is refused, or the service is older than heartbeats."""


class Heartbeats(Protocol):
    """The call of `tradewind_agent.service.client.Client` that tuning needs; tests and benchmarks replace it."""

    def heartbeat(self, transfer_id: UUID, heartbeat: Heartbeat) -> HeartbeatAnswer: ...


class HeartbeatExchange:
    """Sends the heartbeats of one transfer; use it from one event loop.

    Parameters
    ----------
    patience_s : how long to wait for an answer; a later one still says what is journalled.

    Attributes
    ----------
    journalled_sequence : the service has journalled every heartbeat up to this one.
    closed_reason : why further heartbeats are useless; ``None`` while they are not.
    """

    def __init__(self, service: Heartbeats, transfer_id: UUID, *, patience_s: float) -> None:
        self._service, self._transfer_id, self._patience_s = service, transfer_id, patience_s
        self._outstanding: asyncio.Future[HeartbeatAnswer] | None = None
        self.journalled_sequence = -1
        self.closed_reason: str | None = None

    async def send(self, sample: TransferSample, claimed: ShareOfUser | None = None) -> HeartbeatAnswer:
        """Send a sample as one heartbeat and return the answer.

        ``claimed`` : the share that the user's settings need, whatever is decided.

        Raises
        ------
        NoAnswer : no answer came in time, or none ever will.
        """
        if self._outstanding is not None and self._outstanding.done():
            self._receive(self._outstanding)  # too late for its decision
            self._outstanding = None
        if self.closed_reason is not None:
            raise NoAnswer(self.closed_reason)
        if self._outstanding is not None:
            raise NoAnswer("the service has not answered the last heartbeat yet")
        heartbeat = to_heartbeat(sample, claimed=claimed)
        self._outstanding = _run_in_thread(lambda: self._service.heartbeat(self._transfer_id, heartbeat))
        await asyncio.wait([self._outstanding], timeout=self._patience_s)
        if not self._outstanding.done():
            raise NoAnswer(f"the service has not answered within {self._patience_s:g} s")
        finished, self._outstanding = self._outstanding, None
        answer = self._receive(finished)
        if isinstance(answer, NoAnswer):
            raise answer
        return answer

    def abandon(self) -> None:
        """Stop waiting for an answer; one that has already come still counts."""
        if self._outstanding is None:
            return
        if self._outstanding.done():
            self._receive(self._outstanding)
        else:
            self._outstanding.cancel()
        self._outstanding = None

    def _receive(self, finished: "asyncio.Future[HeartbeatAnswer]") -> HeartbeatAnswer | NoAnswer:
        try:
            answer = finished.result()
        except (ServiceUnreachable, ServiceProblem) as failure:
            if isinstance(failure, _FINAL) or getattr(failure, "status", None) == NO_SUCH_CALL:
                self.closed_reason = str(failure)
            return NoAnswer(str(failure))
        self.journalled_sequence = max(self.journalled_sequence, answer.journalled_sequence)
        return answer


def _run_in_thread(work: Callable[[], HeartbeatAnswer]) -> "asyncio.Future[HeartbeatAnswer]":
    """Run ``work`` in a daemon thread, for which not even the end of the program waits."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[HeartbeatAnswer] = loop.create_future()

    def _resolve(answer: HeartbeatAnswer | None, failure: Exception | None) -> None:
        if outcome.done():
            return
        if failure is not None:
            outcome.set_exception(failure)
        elif answer is not None:
            outcome.set_result(answer)

    def run() -> None:
        answer: HeartbeatAnswer | None = None
        failure: Exception | None = None
        try:
            answer = work()
        except Exception as error:  # noqa: BLE001 -- raised again where the answer is awaited
            failure = error
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(_resolve, answer, failure)

    threading.Thread(target=run, name="tradewind-heartbeat", daemon=True).start()
    return outcome
