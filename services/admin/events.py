"""Parts of pages that follow the state of the service by server-sent events, each with the part as it is now."""

from asyncio import sleep
from collections.abc import AsyncIterator, Callable
from uuid import UUID

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from services.admin.rendering import HEADERS
from services.admin.visitors import Visit
from services.application.access.sign_in import SignIns
from services.streaming.tenant_slots import TenantSlots
from tradewind.errors import TradewindError, Unavailable

LOOK_EVERY_S = 2.0
LOOKS = 300
"""After so many looks a stream ends, and the browser opens the next one."""

TENANT_SLOTS, SLOTS = 20, 50
"""Streams at once of a tenant, and of a process: each look asks the database."""

FULL = "retry: 30000\nevent: full\n\n"
"""Sent where no slot is free: the page stays as it was loaded, and retries after so many milliseconds."""


def make_page_slots() -> TenantSlots:
    """Return the slots of a process, whose application keeps them as ``page_slots``."""
    return TenantSlots("pages", at_once=TENANT_SLOTS, in_all=SLOTS)


def stream_changes(request: Request, visit: Visit, sign_ins: SignIns, look: Callable[[], str]) -> Response:
    """Return a stream that sends what ``look`` returns whenever that has changed.

    It ends with the session, or when the user has lost a role. An error that ``look`` raises now is the answer; one
    that it raises later ends the stream.
    """
    look()

    def look_if_signed_in() -> str | None:
        found = sign_ins.find_visitor(visit.secret, looks_by_itself=True)
        return look() if found is not None and found.user.roles >= visit.visitor.user.roles else None

    return StreamingResponse(
        _stream_in_slot(
            _follow_changes(request, look_if_signed_in), request.app.state.page_slots, visit.visitor.tenant_id
        ),
        media_type="text/event-stream",
        headers=dict(HEADERS),
    )


async def _stream_in_slot(changes: AsyncIterator[str], slots: TenantSlots, tenant_id: UUID) -> AsyncIterator[str]:
    try:
        slots.take(tenant_id)
    except Unavailable:
        yield FULL
        return
    try:
        async for change in changes:
            yield change
    finally:
        slots.give_back(tenant_id)


async def _follow_changes(request: Request, seen: Callable[[], str | None]) -> AsyncIterator[str]:
    before: str | None = None
    content: str | None
    for _ in range(LOOKS):
        if await request.is_disconnected():
            return
        try:
            content = await run_in_threadpool(seen)
        except Unavailable:
            content = before or ""  # the database comes back, and the page still shows what was known
        except TradewindError:
            return
        if content is None:
            return
        if content and content != before:
            yield "".join(f"data: {line}\n" for line in content.splitlines()) + "\n"
            before = content
        else:
            yield ": nothing new\n\n"  # lets the server notice a connection that is gone
        await sleep(LOOK_EVERY_S)
