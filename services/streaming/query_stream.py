"""The answer to a query: streamed while it runs in a thread, stopped in the database when the client leaves."""

import asyncio
from collections.abc import Callable, Mapping

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from services.application.warehouse.query import Format, QueryRun
from services.streaming.query_slots import ClientLeft, FollowedQuery, QuerySlots
from tradewind.errors import TradewindError
from tradewind.units import KIB

FIRST_BYTES = 256 * KIB
"""An answer starts with so many bytes, or completely, so that most errors still come as a problem."""

MEDIA_TYPES = {
    Format.ARROW: "application/vnd.apache.arrow.stream",
    Format.CSV: "text/csv; charset=utf-8",
    Format.JSON: "application/json",
}


class QueryStream(Response):
    """A response that runs ``query``.

    Parameters
    ----------
    turns : of the process; one is taken while the query runs.
    refused : returns the answer to an error before anything was sent; called in a thread, since it may query the
        database.
    """

    def __init__(
        self,
        query: QueryRun,
        slots: QuerySlots,
        *,
        media_type: str,
        headers: Mapping[str, str],
        refused: Callable[[TradewindError], Response],
    ) -> None:
        super().__init__(media_type=media_type, headers=headers)
        del self.headers["content-length"]
        self._query = query
        self._slots = slots
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_started = False
        try:
            async with FollowedQuery(self._query, self._slots, receive) as query:
                held: list[bytes] = []
                chunk = await query.read_next()
                while chunk is not None and sum(map(len, held)) < FIRST_BYTES:
                    held.append(chunk)
                    chunk = await query.read_next()
                has_started = True
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                await send(_build_body(b"".join(held)))
                while chunk is not None:
                    await send(_build_body(chunk))
                    chunk = await query.read_next()
            # A client with the complete answer may send the next query at once: the slot is released before
            # the end is sent.
            async with asyncio.timeout(self._slots.limits.taking_seconds):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TradewindError as error:
            if has_started:
                raise
            answer = await run_in_threadpool(self._refused, error)
            await answer(scope, receive, send)
        except ClientLeft:
            pass


def _build_body(piece: bytes) -> Message:
    return {"type": "http.response.body", "body": piece, "more_body": True}
