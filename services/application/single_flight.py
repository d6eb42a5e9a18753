"""Look-ups that several requests want at once are made once."""

import asyncio
from collections.abc import Callable, Hashable
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
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.create_task(asyncio.to_thread(look_up))
            task.add_done_callback(lambda _: self._under_way.pop(key))
        result: T = await asyncio.shield(task)  # who gives up waiting does not take the answer from the others
        return result
