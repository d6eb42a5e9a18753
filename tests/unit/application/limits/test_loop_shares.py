"""Shares of the event loop: a tenant that would take most of it waits while others are present."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import pytest

from services.application.limits.loop_shares import (
    BURST_S,
    MOST_SHARE,
    MOST_WAITED_S,
    PRESENT_S,
    LoopShares,
)
from tradewind.errors import Unavailable

pytestmark = pytest.mark.anyio
LARGE, SMALL = uuid4(), uuid4()


class Clock:
    """A clock that moves when somebody works or sleeps."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.slept_s += seconds

    def work(self, seconds: float) -> Callable[[], Awaitable[str]]:
        async def run() -> str:
            self.now_s += seconds
            await asyncio.sleep(0)
            self.now_s += seconds
            return "done"

        return run


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shares(clock: Clock) -> LoopShares:
    return LoopShares(clock.monotonic, clock.sleep)


async def call(shares: LoopShares, clock: Clock, tenant_id: UUID, *, times: int, takes_s: float) -> float:
    """Return how long ``times`` requests of a tenant waited, one after the other."""
    before_s = clock.slept_s
    for _ in range(times):
        assert await shares.run(tenant_id, clock.work(takes_s / 2)) == "done"
    return clock.slept_s - before_s


async def test_a_tenant_that_is_alone_never_waits(shares: LoopShares, clock: Clock) -> None:
    assert await call(shares, clock, LARGE, times=500, takes_s=0.01) == 0


async def test_a_tenant_next_to_another_gets_its_share_of_the_time(shares: LoopShares, clock: Clock) -> None:
    await call(shares, clock, SMALL, times=1, takes_s=0.001)
    started_s = clock.now_s
    await call(shares, clock, LARGE, times=200, takes_s=0.01)
    assert 200 * 0.01 / (clock.now_s - started_s) == pytest.approx(MOST_SHARE, rel=0.05)


async def test_a_tenant_within_its_share_never_waits(shares: LoopShares, clock: Clock) -> None:
    await call(shares, clock, LARGE, times=50, takes_s=0.01)
    for _ in range(50):
        await call(shares, clock, LARGE, times=1, takes_s=0.01)
        assert await call(shares, clock, SMALL, times=1, takes_s=0.004) == 0


async def test_a_short_burst_does_not_wait(shares: LoopShares, clock: Clock) -> None:
    await call(shares, clock, SMALL, times=1, takes_s=0.001)
    assert await call(shares, clock, LARGE, times=8, takes_s=BURST_S / 10) == 0


async def test_time_between_the_steps_of_a_request_does_not_count(shares: LoopShares, clock: Clock) -> None:
    async def wait_for_the_database() -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    await call(shares, clock, SMALL, times=1, takes_s=0.001)
    for _ in range(20):
        waiting = asyncio.ensure_future(shares.run(LARGE, wait_for_the_database))
        await asyncio.sleep(0)
        clock.now_s += 0.2  # the loop is free meanwhile
        await waiting
    assert clock.slept_s == 0


async def test_others_that_are_gone_leave_all_of_the_loop(shares: LoopShares, clock: Clock) -> None:
    await call(shares, clock, SMALL, times=1, takes_s=0.001)
    assert await call(shares, clock, LARGE, times=20, takes_s=0.01) > 0
    clock.now_s += 2 * PRESENT_S
    assert await call(shares, clock, LARGE, times=20, takes_s=0.01) == 0


async def test_requests_that_would_wait_too_long_are_refused(shares: LoopShares, clock: Clock) -> None:
    asleep = asyncio.Event()

    async def sleep(_: float) -> None:
        await asleep.wait()

    shares = LoopShares(clock.monotonic, sleep)
    await shares.run(SMALL, clock.work(0))
    await shares.run(LARGE, clock.work(MOST_WAITED_S * MOST_SHARE / 2))
    waiting = asyncio.ensure_future(shares.run(LARGE, clock.work(0.1)))
    await asyncio.sleep(0)
    await shares.run(SMALL, clock.work(0))
    clock.now_s -= 1.0  # as if all of it had come at once
    with pytest.raises(Unavailable, match="their share"):
        await shares.run(LARGE, clock.work(0.1))
    asleep.set()
    assert await waiting == "done"


async def test_a_cancelled_request_ends_its_work(shares: LoopShares, clock: Clock) -> None:
    ended = asyncio.Event()

    async def wait_for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    request = asyncio.ensure_future(shares.run(LARGE, wait_for_ever))
    await asyncio.sleep(0)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert ended.is_set()


async def test_an_error_of_the_work_reaches_the_caller(shares: LoopShares) -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise KeyError("missing")

    with pytest.raises(KeyError, match="missing"):
        await shares.run(LARGE, fail)
