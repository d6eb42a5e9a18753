"""Slots for heavy work, so that only a few pieces run next to the answers to other requests."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

from tradewind.errors import Unavailable

AT_ONCE = 4
"""Slots by default. Each piece of work takes the interpreter from other requests: forty would starve them."""

TIMEOUT_S = 5.0
"""Longest wait for a slot. Then the caller has to retry: agents store what was not accepted and send it later."""


class Slots:
    """A bounded number of concurrent pieces of work in one event loop.

    Parameters
    ----------
    what, done : what is done, and its participle, for the message of a refusal.
    of_group : most pieces of a group at once: of a tenant.
    of_member : most pieces of a member of a group at once: of one of its keys.
    """

    def __init__(
        self,
        what: str,
        *,
        done: str = "stored",
        at_once: int = AT_ONCE,
        of_group: int = 1,
        of_member: int = 1,
        patience_s: float = TIMEOUT_S,
    ) -> None:
        self._what, self._done, self._patience_s = what, done, patience_s
        self._free = asyncio.Semaphore(at_once)
        self._of_group, self._of_member = of_group, of_member
        self._groups: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()
        self._members: WeakValueDictionary[tuple[Hashable, Hashable], asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, group: Hashable | None = None, member: Hashable | None = None) -> AsyncIterator[None]:
        """Hold a slot for the time of the block.

        Parameters
        ----------
        group : has so many pieces here at a time, running or first in line; its others do not delay other groups.
        member : of the group: the same within it, so that its others do not delay other members.

        Raises
        ------
        Unavailable : no slot became free in time.
        """
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self._patience_s):
                    if member is not None:
                        of_member = self._members.setdefault((group, member), asyncio.Semaphore(self._of_member))
                        await stack.enter_async_context(of_member)
                    if group is not None:
                        of_group = self._groups.setdefault(group, asyncio.Semaphore(self._of_group))
                        await stack.enter_async_context(of_group)
                    await stack.enter_async_context(self._free)
            except TimeoutError:
                raise Unavailable(f"{self._what} come faster than they are {self._done}; send it again") from None
            yield
