"""How an API process ends what runs beside its requests."""

import asyncio
from contextlib import suppress

from services.app import cancel_tasks


async def takes_it_for_something_else(ready: asyncio.Event) -> None:
    """A task that loses the first cancellation, as a client does that meets its own time limit at the same moment."""
    with suppress(asyncio.CancelledError):
        ready.set()
        await asyncio.sleep(60)
    await asyncio.sleep(60)


def test_a_task_that_loses_a_cancellation_ends_all_the_same() -> None:
    async def story() -> bool:
        ready = asyncio.Event()
        stubborn = asyncio.create_task(takes_it_for_something_else(ready))
        ended = asyncio.create_task(asyncio.sleep(0))
        await ready.wait()
        async with asyncio.timeout(20):
            await cancel_tasks([stubborn, ended])
        return stubborn.cancelled() and ended.done()

    assert asyncio.run(story())
