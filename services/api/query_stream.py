"""The answer to a query: streamed while it runs in a thread, stopped in the database when the client leaves."""

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from services.api.problems import problem_of
from services.application.query_warehouse import QueryRun
from tradewind.errors import TradewindError, Unavailable
from tradewind.units import KIB

FIRST_BYTES = 256 * KIB
"""An answer begins with so much or whole, so that most errors still come as a problem."""


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


class QueryStream(Response):
    """A response that runs ``query``.

    Parameters
    ----------
    turns : of the process; taken while the query runs.
    """

    def __init__(self, query: QueryRun, turns: QueryTurns, *, media_type: str, headers: Mapping[str, str]) -> None:
        super().__init__(media_type=media_type, headers=headers)
        del self.headers["content-length"]
        self._query = query
        self._turns = turns

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._turns.take()
        except Unavailable as full:
            await problem_of(full)(scope, receive, send)
            return
        chunks = self._query.chunks()
        leaving = asyncio.create_task(_gone(receive))
        try:
            held: list[bytes] = []
            try:
                chunk = await self._next(chunks, leaving)
                while chunk is not None and sum(map(len, held)) < FIRST_BYTES:
                    held.append(chunk)
                    chunk = await self._next(chunks, leaving)
            except TradewindError as error:
                await problem_of(error)(scope, receive, send)
                return
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send(_body(b"".join(held)))
            while chunk is not None:
                await send(_body(chunk))
                chunk = await self._next(chunks, leaving)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except _Left:
            pass
        finally:
            leaving.cancel()
            await asyncio.shield(asyncio.to_thread(chunks.close))  # type: ignore[attr-defined]  # a generator's
            self._turns.give_back()

    async def _next(self, chunks: Iterator[bytes], leaving: asyncio.Task[None]) -> bytes | None:
        """The next piece.

        Raises
        ------
        _Left : the client is gone; the query is stopped.
        """
        step = self._turns.next_of(chunks)
        waited: set[asyncio.Future[Any]] = {step, leaving}
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not step.done():
                await asyncio.to_thread(self._query.cancel)
                await asyncio.wait({step})
        if leaving.done():
            step.exception()  # it is told to nobody
            raise _Left
        return step.result()


class _Left(Exception):
    """The client has closed its connection."""


async def _gone(receive: Receive) -> None:
    """Return once the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _body(piece: bytes) -> Message:
    return {"type": "http.response.body", "body": piece, "more_body": True}
