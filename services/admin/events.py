"""Parts of pages that follow what goes on: server-sent events, each with the part as it is now."""

from asyncio import Semaphore, sleep
from collections.abc import AsyncIterator, Callable

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from services.admin.rendering import HEADERS
from services.admin.visitors import Visit
from services.application.access.sign_in import SignIns
from tradewind.errors import TradewindError, Unavailable

LOOK_EVERY_S = 2.0
LOOKS = 300
"""After so many a stream ends, and the browser asks for the next one."""

SEATS = 50
"""Streams at once of a process, whose application keeps them as ``page_slots``: each look asks the database."""

FULL = "retry: 30000\nevent: full\n\n"
"""Told where there is no seat: the page stays as it was loaded, and asks again after so many milliseconds."""


def following(request: Request, visit: Visit, sign_ins: SignIns, look: Callable[[], str]) -> Response:
    """A stream that sends what ``look`` returns whenever it is another than before.

    It ends with the session, or when the person has lost a role: what they may still see, they ask for anew.
    What ``look`` raises now is the answer; what it raises later ends the stream.
    """
    look()

    def seen() -> str | None:
        found = sign_ins.visitor(visit.secret, looks_by_itself=True)
        return look() if found is not None and found.user.roles >= visit.visitor.user.roles else None

    return StreamingResponse(
        _seated(_changes(request, seen), request.app.state.page_slots),
        media_type="text/event-stream",
        headers=dict(HEADERS),
    )


async def _seated(changes: AsyncIterator[str], seats: Semaphore) -> AsyncIterator[str]:
    if seats.locked():
        yield FULL
        return
    async with seats:
        async for change in changes:
            yield change


async def _changes(request: Request, seen: Callable[[], str | None]) -> AsyncIterator[str]:
    before: str | None = None
    told: str | None
    for _ in range(LOOKS):
        if await request.is_disconnected():
            return
        try:
            told = await run_in_threadpool(seen)
        except Unavailable:
            told = before or ""  # it comes back, and the page says what was known
        except TradewindError:
            return
        if told is None:
            return
        if told and told != before:
            yield "".join(f"data: {line}\n" for line in told.splitlines()) + "\n"
            before = told
        else:
            yield ": nothing new\n\n"  # by which a connection that is gone is noticed
        await sleep(LOOK_EVERY_S)
