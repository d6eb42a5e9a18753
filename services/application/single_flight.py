"""Look-ups that several requests want at once are made once."""

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
        self._under_way: dict[Hashable, asyncio.Task[Any]] = {}

    async def run(self, key: Hashable, look_up: Callable[[], T]) -> T:
        """What ``look_up`` returns or raises; ``key`` says which look-up it is."""
        result: T = await asyncio.shield(self.begin(key, look_up))  # who gives up does not take it from the others
        return result

    def begin(self, key: Hashable, look_up: Callable[[], T]) -> asyncio.Task[T]:
        """Have it made, whether anybody waits for it or not."""
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.create_task(asyncio.to_thread(look_up))
            task.add_done_callback(partial(self._end, key))
        return task

    def _end(self, key: Hashable, task: asyncio.Task[Any]) -> None:
        del self._under_way[key]
        if not task.cancelled():
            task.exception()  # nobody may have waited: it is told to those who do
