"""Parts of pages that follow what goes on: server-sent events, each with the part as it is now."""

from asyncio import sleep
from collections.abc import AsyncIterator, Callable

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from services.admin.pages import HEADERS
from tradewind.errors import Unavailable

LOOK_EVERY_S = 2.0
LOOKS = 300
"""After so many a stream ends, and the browser asks for the next one."""


def following(request: Request, look: Callable[[], str]) -> Response:
    """A stream that sends what ``look`` returns whenever it is another than before."""
    return StreamingResponse(_changes(request, look), media_type="text/event-stream", headers=dict(HEADERS))


async def _changes(request: Request, look: Callable[[], str]) -> AsyncIterator[str]:
    before: str | None = None
    told: str | None
    for _ in range(LOOKS):
        if await request.is_disconnected():
            return
        try:
            told = await run_in_threadpool(look)
        except Unavailable:
            told = before  # it comes back, and the page says what was known
        if told is not None and told != before:
            yield "".join(f"data: {line}\n" for line in told.splitlines()) + "\n"
            before = told
        else:
            yield ": nothing new\n\n"  # by which a connection that is gone is noticed
        await sleep(LOOK_EVERY_S)
