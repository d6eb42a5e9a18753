"""Heartbeats beside the transfer: asked in a thread of their own, one at a time, and never waited for long."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol
from uuid import UUID

from tradewind.wire.heartbeats import Heartbeat, HeartbeatAnswer
from tradewind_agent.errors import (
    AgentError,
    ConflictRefused,
    KeyRefused,
    ObjectNotFound,
    ScopeMissing,
    ServiceProblem,
    ServiceUnreachable,
)

NO_SUCH_CALL = 405

_FINAL = (ConflictRefused, KeyRefused, ScopeMissing, ObjectNotFound)
"""The transfer is over for the service, the key is no good, or the service is older than heartbeats."""


class Heartbeats(Protocol):
    """What is needed of a service; :class:`tradewind_agent.service.client.Client` has it."""

    def heartbeat(self, transfer_id: UUID, heartbeat: Heartbeat) -> HeartbeatAnswer: ...


class NoAnswer(AgentError):
    """No answer to a heartbeat that the transfer could wait for; the message says why."""


class HeartbeatExchange:
    """Heartbeats of one transfer, to be used from one event loop.

    Parameters
    ----------
    patience_s : how long an answer is waited for; one that comes later still tells what is journalled.

    Attributes
    ----------
    journalled_sequence : every heartbeat up to this one is stored by the service for good.
    ended : why there is no use in asking again; ``None`` while there is.
    """

    def __init__(self, service: Heartbeats, transfer_id: UUID, *, patience_s: float) -> None:
        self._service, self._transfer_id, self._patience_s = service, transfer_id, patience_s
        self._asked: asyncio.Future[HeartbeatAnswer] | None = None
        self.journalled_sequence = -1
        self.ended: str | None = None

    async def ask(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """The answer to one heartbeat.

        Raises
        ------
        NoAnswer : none came in time, or none ever will.
        """
        if self._asked is not None and self._asked.done():
            self._heard(self._asked)  # too late for its decision
            self._asked = None
        if self.ended is not None:
            raise NoAnswer(self.ended)
        if self._asked is not None:
            raise NoAnswer("the service has not answered the last heartbeat yet")
        self._asked = _in_thread(lambda: self._service.heartbeat(self._transfer_id, heartbeat))
        await asyncio.wait([self._asked], timeout=self._patience_s)
        if not self._asked.done():
            raise NoAnswer(f"the service has not answered within {self._patience_s:g} s")
        asked, self._asked = self._asked, None
        heard = self._heard(asked)
        if isinstance(heard, NoAnswer):
            raise heard
        return heard

    def leave(self) -> None:
        """Wait for no answer any more; one that is there already still counts."""
        if self._asked is None:
            return
        if self._asked.done():
            self._heard(self._asked)
        else:
            self._asked.cancel()
        self._asked = None

    def _heard(self, asked: "asyncio.Future[HeartbeatAnswer]") -> HeartbeatAnswer | NoAnswer:
        try:
            answer = asked.result()
        except (ServiceUnreachable, ServiceProblem) as failure:
            if isinstance(failure, _FINAL) or getattr(failure, "status", None) == NO_SUCH_CALL:
                self.ended = str(failure)
            return NoAnswer(str(failure))
        self.journalled_sequence = max(self.journalled_sequence, answer.journalled_sequence)
        return answer


def _in_thread(work: Callable[[], HeartbeatAnswer]) -> "asyncio.Future[HeartbeatAnswer]":
    """``work`` in a thread that nobody has to wait for, not even the end of the program."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[HeartbeatAnswer] = loop.create_future()

    def settle(answer: HeartbeatAnswer | None, failure: Exception | None) -> None:
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
            loop.call_soon_threadsafe(settle, answer, failure)

    threading.Thread(target=run, name="tradewind-heartbeat", daemon=True).start()
    return outcome
