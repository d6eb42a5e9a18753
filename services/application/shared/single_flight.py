"""Look-ups that several requests want at once, or one after the other within a moment, are made once."""

import asyncio
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


class SingleFlight:
    """Blocking look-ups in threads of their own; whoever asks for one that is under way waits for the same answer.

    Belongs to one event loop.
    """

    def __init__(self) -> None:
        self._flights: dict[Hashable, asyncio.Task[Any]] = {}

    async def run(self, key: Hashable, look_up: Callable[[], T]) -> T:
        """What ``look_up`` returns or raises; ``key`` says which look-up it is."""
        result: T = await asyncio.shield(self.begin(key, look_up))  # who gives up does not take it from the others
        return result

    def begin(self, key: Hashable, look_up: Callable[[], T], *, kept_s: float = 0.0) -> asyncio.Task[T]:
        """Have it made, whether anybody waits for it or not; for ``kept_s`` after its end it serves whoever asks."""
        task = self._flights.get(key)
        if task is None:
            task = self._flights[key] = asyncio.create_task(asyncio.to_thread(look_up))
            task.add_done_callback(partial(self._end, key, kept_s))
        return task

    def _end(self, key: Hashable, kept_s: float, task: asyncio.Task[Any]) -> None:
        if kept_s:
            task.get_loop().call_later(kept_s, self._flights.pop, key)
        else:
            del self._flights[key]
        if not task.cancelled():
            task.exception()  # nobody may have waited: it is told to those who do
