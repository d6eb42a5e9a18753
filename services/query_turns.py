"""Queries of a process: few at a time, in threads of their own, stopped in the database when their client leaves."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from starlette.types import Receive

from services.application.query_warehouse import QueryRun
from tradewind.errors import TooLarge, Unavailable
from tradewind.units import format_bytes


class ClientLeft(Exception):
    """The client has closed its connection."""


class QueryTurns:
    """The threads that run the queries of a process: few, and none of those that answer other requests."""

    def __init__(self, at_once: int) -> None:
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="query")
        self._free = at_once
        self.at_once = at_once

    def take(self) -> None:
        """Take a turn, to be given back.

        Raises
        ------
        Unavailable : all are taken.
        """
        if not self._free:
            raise Unavailable(f"{self.at_once} queries are running already; try again")
        self._free -= 1

    def give_back(self) -> None:
        self._free += 1

    def next_of(self, chunks: Iterator[bytes]) -> asyncio.Future[bytes | None]:
        return asyncio.get_running_loop().run_in_executor(self._threads, next, chunks, None)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class FollowedQuery:
    """A query that has its turn, for as long as the context lasts and its client waits.

    Parameters
    ----------
    turns : of the process; one is taken for the context.
    receive : what the client sends; its body is read already.
    """

    def __init__(self, query: QueryRun, turns: QueryTurns, receive: Receive) -> None:
        self._query = query
        self._turns = turns
        self._receive = receive

    async def __aenter__(self) -> Self:
        """Begin.

        Raises
        ------
        Unavailable : all turns are taken.
        """
        self._turns.take()
        self._chunks = self._query.chunks()
        self._leaving = asyncio.create_task(_gone(self._receive))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving.cancel()
        await asyncio.shield(asyncio.to_thread(self._chunks.close))  # type: ignore[attr-defined]  # a generator's
        self._turns.give_back()

    async def next(self) -> bytes | None:
        """The next piece; None after the last.

        Raises
        ------
        ClientLeft : the client is gone; the query is stopped.
        QueryRefused, TooLarge, Unavailable : as the query tells.
        """
        step = self._turns.next_of(self._chunks)
        waited: set[asyncio.Future[Any]] = {step, self._leaving}
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not step.done():
                await self.cancel()
                await asyncio.wait({step})
        if self._leaving.done():
            step.exception()  # it is told to nobody
            raise ClientLeft
        return step.result()

    async def whole(self, most_bytes: int) -> bytes:
        """All pieces together.

        Raises
        ------
        TooLarge : there are more bytes than that; the query is stopped.
        """
        held: list[bytes] = []
        size = 0
        while (chunk := await self.next()) is not None:
            held.append(chunk)
            size += len(chunk)
            if size > most_bytes:
                await self.cancel()
                most = format_bytes(most_bytes)
                raise TooLarge(f"the answer is more than the {most} that a page shows; ask for less, or download it")
        return b"".join(held)

    async def cancel(self) -> None:
        """Stop it in the database."""
        await asyncio.to_thread(self._query.cancel)


async def _gone(receive: Receive) -> None:
    """Return once the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
