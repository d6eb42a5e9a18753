"""Queries and other long answers of a process: few at a time, in threads of their own, stopped when their client
leaves.
"""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from starlette.types import Receive

from services.application.warehouse.query import QueryLimits, QueryRun
from services.streaming.tenant_slots import TenantSlots
from tradewind.errors import QueryRefused, TooLarge
from tradewind.units import format_bytes


class ClientLeft(Exception):
    """The client has closed its connection."""


class QuerySlots(TenantSlots):
    """The slots of queries, and the threads that run them: few, and none of those that answer other requests."""

    def __init__(self, limits: QueryLimits) -> None:
        super().__init__("queries", at_once=limits.at_once, in_all=limits.in_all)
        self._threads = ThreadPoolExecutor(limits.in_all, thread_name_prefix="query")
        self.limits = limits

    def read_next(self, chunks: Iterator[bytes]) -> asyncio.Future[bytes | None]:
        return asyncio.get_running_loop().run_in_executor(self._threads, next, chunks, None)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class FollowedQuery:
    """A query with a slot, for as long as the context lasts and its client waits and takes the answer.

    Whatever takes longer than the limit within the context is stopped, even a slow client, which would hold the slot.

    Parameters
    ----------
    turns : of the process; one of the tenant is taken for the context.
    receive : what the client sends; its body is read already.
    """

    def __init__(self, query: QueryRun, slots: QuerySlots, receive: Receive) -> None:
        self._query = query
        self._slots = slots
        self._receive = receive

    async def __aenter__(self) -> Self:
        """Start the query.

        Raises
        ------
        Unavailable : there is no slot.
        """
        limits = self._slots.limits
        self._slots.take(self._query.tenant_id)
        self._time = asyncio.timeout(limits.seconds + limits.taking_seconds)
        await self._time.__aenter__()
        self._chunks = self._query.read_chunks()
        self._leaving = asyncio.create_task(_wait_until_gone(self._receive))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the query.

        Raises
        ------
        QueryRefused : the time limit is reached.
        """
        try:
            await self._time.__aexit__(kind, error, trace)
        except TimeoutError as late:
            limit_s = self._slots.limits.seconds
            raise QueryRefused(f"the query was stopped: its answer was not taken in {limit_s:g} s, the limit") from late
        finally:
            self._leaving.cancel()
            await asyncio.shield(asyncio.to_thread(self._chunks.close))  # type: ignore[attr-defined]  # a generator's
            self._slots.give_back(self._query.tenant_id)

    async def read_next(self) -> bytes | None:
        """Return the next piece; ``None`` after the last.

        Raises
        ------
        ClientLeft : the client is gone; the query is stopped.
        QueryRefused, TooLarge, Unavailable : as the query raises them.
        """
        step = self._slots.read_next(self._chunks)
        waited: set[asyncio.Future[Any]] = {step, self._leaving}
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not step.done():
                await self.cancel()
                await asyncio.wait({step})
        if self._leaving.done():
            step.exception()  # nobody needs the error
            raise ClientLeft
        return step.result()

    async def read_all(self, most_bytes: int) -> bytes:
        """Return all pieces together.

        Raises
        ------
        TooLarge : there are more bytes than that; the query is stopped.
        """
        held: list[bytes] = []
        size = 0
        while (chunk := await self.read_next()) is not None:
            held.append(chunk)
            size += len(chunk)
            if size > most_bytes:
                await self.cancel()
                most = format_bytes(most_bytes)
                raise TooLarge(f"the answer is more than the {most} that a page shows; ask for less, or download it")
        return b"".join(held)

    async def cancel(self) -> None:
        """Stop the query in the database."""
        await asyncio.to_thread(self._query.cancel)


async def _wait_until_gone(receive: Receive) -> None:
    """Return once the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
