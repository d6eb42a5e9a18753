"""Shares of the event loop of an answering process: a tenant that would take most of it waits, so that others do not.

Requests wait in the event loop, first come, first served: without shares a tenant whose requests fill it makes those of
all others wait. Rate limits count requests, which cost between a tenth of a millisecond and ten, on machines of any
speed. What counts here is time: of each step of a request in the loop, between two of its own waits.

A tenant that is alone may take all of it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar, cast
from uuid import UUID

from tradewind.errors import Unavailable

Result = TypeVar("Result")

MOST_SHARE = 0.5
"""Of the time, for a tenant while there are others."""

BURST_S = 0.02
"""Time of the loop that a tenant may have used beyond its share before its next request waits."""

PRESENT_S = 5.0
"""A tenant counts as present so long after its last request."""

LOOKED_EVERY_S = 1.0
"""Time between two looks for tenants that are gone."""

MOST_WAITED_S = 2.0
"""Requests that would wait longer are refused: more of them come than a share answers."""

USUAL_S = 0.001
"""Time that the first request of a tenant is expected to take."""

LEARNED = 0.1
"""Weight of the last request in the time that the next one is expected to take."""


class _Account:
    """What a tenant uses. ``paid_s`` : moment at which its share has paid for all that it has used."""

    __slots__ = ("expected_s", "paid_s", "seen_s")

    def __init__(self) -> None:
        self.expected_s = USUAL_S
        self.paid_s = self.seen_s = 0.0


class LoopShares:
    """The shares of one event loop.

    Parameters
    ----------
    monotonic, sleep : clock and pause of the loop.
    """

    def __init__(
        self,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._monotonic = monotonic
        self._sleep = sleep
        self._accounts: dict[UUID, _Account] = {}
        self._look_again_s = 0.0

    async def run(self, tenant_id: UUID, work: Callable[[], Awaitable[Result]]) -> Result:
        """Await ``work`` of a tenant when it is its turn, and count the time that it takes of the loop.

        Raises
        ------
        Unavailable : its turn would be in more than `MOST_WAITED_S`.
        """
        now_s = self._monotonic()
        account = self._enter(tenant_id, now_s)
        wait_s = account.paid_s - BURST_S - now_s
        if wait_s > MOST_WAITED_S:
            raise Unavailable("your calls take more of this process than their share; come again later")
        expected_s = account.expected_s
        account.paid_s = max(account.paid_s, now_s) + expected_s / MOST_SHARE
        if wait_s > 0:
            await self._sleep(wait_s)
        measured = _Measured(work().__await__(), self._monotonic)
        try:
            return await measured
        finally:
            account.paid_s += (measured.used_s - expected_s) / MOST_SHARE
            account.expected_s += LEARNED * (measured.used_s - account.expected_s)

    def _enter(self, tenant_id: UUID, now_s: float) -> _Account:
        """Return the account of a tenant, which owes nothing while no other is present."""
        if now_s >= self._look_again_s:
            self._look_again_s = now_s + LOOKED_EVERY_S
            self._accounts = {
                each: account for each, account in self._accounts.items() if now_s - account.seen_s <= PRESENT_S
            }
        account = self._accounts.get(tenant_id)
        if account is None:
            account = self._accounts[tenant_id] = _Account()
        account.seen_s = now_s
        if len(self._accounts) == 1:
            account.paid_s = now_s
        return account


class _Measured(Awaitable[Result]):
    """Awaits what a coroutine awaits. ``used_s`` : time of its own steps so far."""

    __slots__ = ("_monotonic", "_steps", "used_s")

    def __init__(self, steps: Generator[Any, Any, Result], monotonic: Callable[[], float]) -> None:
        self._steps = steps
        self._monotonic = monotonic
        self.used_s = 0.0

    def __await__(self) -> Generator[Any, Any, Result]:
        raised: BaseException | None = None
        while True:
            started_s = self._monotonic()
            try:
                waits_for = self._steps.send(None) if raised is None else self._steps.throw(raised)
            except StopIteration as end:
                return cast("Result", end.value)
            finally:
                self.used_s += self._monotonic() - started_s
            raised = None
            try:
                yield waits_for
            except BaseException as error:  # noqa: BLE001 -- a cancellation, too, is for the coroutine
                raised = error
