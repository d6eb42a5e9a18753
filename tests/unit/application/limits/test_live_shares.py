"""The task that watches the store of sessions and reads what is held of caps: nothing ends it."""

import asyncio
from collections.abc import Callable, Sequence
from uuid import UUID, uuid4

from services.application.limits.live_shares import LiveShares, LiveUsage, ScopeUsage
from services.application.transfers.sessions import SessionsUnreachable

TENANT = uuid4()
SCOPE = "tenant::"
ALL_OF_IT = ScopeUsage(1, 1.0, 4, 8)


class Store:
    """Answers, or raises what it is told to, look after look; ``done`` once it is asked for more."""

    def __init__(self, looks: Sequence[Exception | None]) -> None:
        self.looks = list(looks)
        self.watched = 0
        self.done = asyncio.Event()

    async def watch(self) -> None:
        self.watched += 1

    async def measure_held(self, tenant_id: UUID, scopes: Sequence[str]) -> Sequence[ScopeUsage]:
        assert (tenant_id, scopes) == (TENANT, [SCOPE])
        if not self.looks:
            self.done.set()
            await asyncio.Event().wait()
        if (failure := self.looks.pop(0)) is not None:
            raise failure
        return [ALL_OF_IT]


def after(*looks: Exception | None, on_failure: Callable[[Exception], None]) -> LiveUsage:
    """What is held as far as is known after so many looks."""
    held = LiveUsage()

    async def follow() -> None:
        store = Store(looks)
        live = LiveShares(store, lambda: {TENANT: ([SCOPE], held)}, on_failure)
        task = asyncio.create_task(live.follow(every_s=0.0))
        await store.done.wait()
        task.cancel()
        await asyncio.wait([task])
        assert store.watched == len(looks) + 1

    asyncio.run(follow())
    return held


def test_live_usage_is_known_after_one_read() -> None:
    assert after(None, on_failure=_none).now == {SCOPE: ALL_OF_IT}


def test_no_usage_counts_while_the_store_is_unreachable() -> None:
    assert after(None, SessionsUnreachable(), on_failure=_none).now == {}


def test_unexpected_failure_is_reported_and_reading_continues() -> None:
    failures: list[Exception] = []
    defect = RuntimeError("of the one who wrote it")
    assert after(defect, None, on_failure=failures.append).now == {SCOPE: ALL_OF_IT}
    assert failures == [defect]


def _none(failure: Exception) -> None:
    raise AssertionError(failure)
