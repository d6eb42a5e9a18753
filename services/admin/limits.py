"""*Limits*: caps over all live transfers, and how much of each is in use."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.concurrency import run_in_threadpool

from services.admin.pages import ONE_LINE, done, page, page_router
from services.admin.visitors import Parts, Provider, Visit
from services.application.limits import Limit, LimitScope, put_limit
from services.application.live_shares import Held
from services.application.tuning_sessions import SessionsAway
from services.bootstrap import Container
from tradewind.errors import InvalidValue
from tradewind.wire.base import MAX_NAME_LENGTH

router = page_router("/limits")

HERE = "/admin/limits"
MOST = 32_767
Name = Annotated[str, Form(max_length=MAX_NAME_LENGTH, pattern=ONE_LINE)]
Cap = Annotated[str, Form(max_length=10)]


@router.get("")
async def limits_page(request: Request, visit: Provider, parts: Parts) -> Response:
    """All limits, with what live transfers hold of them."""
    limits = await run_in_threadpool(_stored, parts, visit)
    held: Sequence[Held | None]
    try:
        held = await parts.sessions.held(visit.visitor.tenant_id, [limit.claim().scope for limit in limits])
    except SessionsAway:
        held = [None] * len(limits)
    return page(request, "limits.html", visit, limits=list(zip(limits, held, strict=True)), scopes=tuple(LimitScope))


@router.post("")
def put(
    request: Request,
    visit: Provider,
    parts: Parts,
    *,
    scope: Annotated[LimitScope, Form()],
    source: Name = "",
    destination: Name = "",
    concurrency: Cap = "",
    streams: Cap = "",
) -> Response:
    """Set, replace or, with no cap at all, remove a limit."""
    _check_place(scope, source, destination)
    limit = Limit(
        scope=scope,
        source=source or None,
        destination=destination or None,
        concurrency=_cap("concurrency", concurrency),
        streams=_cap("streams", streams),
    )
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        put_limit(limit, uow=uow)
    parts.snapshots.forget(visit.visitor.tenant_id)
    said = "is removed" if limit.concurrency is limit.streams is None else "is set"
    return done(request, HERE, f"The limit {said}; live transfers obey at their next heartbeat.")


def _stored(parts: Container, visit: Visit) -> Sequence[Limit]:
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        return uow.limits.all()


def _cap(field: str, text: str) -> int | None:
    """A whole number from a form; nothing typed is no cap."""
    if not text.strip():
        return None
    try:
        cap = int(text)
    except ValueError:
        raise InvalidValue(field, "must be a whole number, or empty for no cap") from None
    if not 1 <= cap <= MOST:
        raise InvalidValue(field, f"must be from 1 to {MOST}")
    return cap


def _check_place(scope: LimitScope, source: str, destination: str) -> None:
    needed = {LimitScope.TENANT: (), LimitScope.ENDPOINT: ("source",), LimitScope.LINK: ("source", "destination")}[
        scope
    ]
    for field, text in (("source", source), ("destination", destination)):
        if bool(text) != (field in needed):
            verb = "is needed" if field in needed else "does not belong"
            raise InvalidValue(field, f"{verb} in a limit of scope {scope}")
