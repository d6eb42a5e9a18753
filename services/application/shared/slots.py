"""Work that is done beside the answers to others, a few pieces at a time."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

from tradewind.errors import Unavailable

AT_ONCE = 4
"""Each takes the interpreter from those who answer for a moment again and again: forty would leave them nothing."""

PATIENCE_S = 5.0
"""Whoever would wait longer is told to come again: agents keep what was not taken, and bring it later."""


class Slots:
    """Belongs to one event loop.

    Parameters
    ----------
    what, done : that is done, and what becomes of it, for people.
    """

    def __init__(
        self, what: str, *, done: str = "stored", at_once: int = AT_ONCE, patience_s: float = PATIENCE_S
    ) -> None:
        self._what, self._done, self._patience_s = what, done, patience_s
        self._free = asyncio.Semaphore(at_once)
        self._lines: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, of: Hashable | None = None) -> AsyncIterator[None]:
        """Hold one.

        Parameters
        ----------
        of : who has one piece here at a time, done or waiting: the others of many do not wait before those of others.

        Raises
        ------
        Unavailable : there was none in time.
        """
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(self._patience_s):
                    if of is not None:
                        await held.enter_async_context(self._lines.setdefault(of, asyncio.Lock()))
                    await held.enter_async_context(self._free)
            except TimeoutError:
                raise Unavailable(f"{self._what} come faster than they are {self._done}; send it again") from None
            yield
