"""Run a look-up once for all requests that need it at the same time, or within a moment."""

import asyncio
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


class SingleFlight:
    """Blocking look-ups in threads; callers that need one that is running wait for the same answer.

    It belongs to one event loop.
    """

    def __init__(self) -> None:
        self._flights: dict[Hashable, asyncio.Task[Any]] = {}

    async def run(self, key: Hashable, look_up: Callable[[], T]) -> T:
        """Return or raise what ``look_up`` does; ``key`` identifies the look-up."""
        result: T = await asyncio.shield(self.start(key, look_up))  # a cancelled caller must not cancel it for others
        return result

    def start(self, key: Hashable, look_up: Callable[[], T], *, keep_s: float = 0.0) -> asyncio.Task[T]:
        """Start the look-up, whether or not a caller waits; its answer is reused for ``keep_s`` after its end."""
        task = self._flights.get(key)
        if task is None:
            task = self._flights[key] = asyncio.create_task(asyncio.to_thread(look_up))
            task.add_done_callback(partial(self._end, key, keep_s))
        return task

    def _end(self, key: Hashable, keep_s: float, task: asyncio.Task[Any]) -> None:
        if keep_s:
            task.get_loop().call_later(keep_s, self._flights.pop, key)
        else:
            del self._flights[key]
        if not task.cancelled():
            task.exception()  # mark it as retrieved: there may be no caller that waited
