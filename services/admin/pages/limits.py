"""*Limits*: caps over all live transfers, how much of each is in use, and what servers have refused."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError

from services.admin.rendering import ONE_LINE, build_page_router, redirect_after_form, render_page
from services.admin.visitors import Parts, Provider, Visit
from services.application.limits.caps import Limit, LimitScope, limit_from_wire, put_limit
from services.application.limits.learned_caps import LearnedCap, LearnedCaps
from services.application.limits.live_shares import ScopeUsage
from services.application.transfers.sessions import SessionsUnreachable
from services.bootstrap import Container
from tradewind.errors import InvalidValue
from tradewind.wire.base import MAX_NAME_LENGTH, describe_validation_error
from tradewind.wire.limits import WireLimit

router = build_page_router("/limits")

HERE = "/admin/limits"
LARGEST_CAP = 32_767
PLACES = {"scope": "Of", "endpoint": "Endpoint, or from", "source": "Endpoint, or from", "destination": "To"}
Name = Annotated[str, Form(max_length=MAX_NAME_LENGTH, pattern=ONE_LINE)]
Cap = Annotated[str, Form(max_length=10)]


@router.get("")
async def limits_page(request: Request, visit: Provider, parts: Parts) -> Response:
    """List all limits with what live transfers use of them."""
    limits, learned = await run_in_threadpool(_list_limits, parts, visit)
    held: Sequence[ScopeUsage | None]
    try:
        held = await parts.sessions.measure_held(visit.visitor.tenant_id, [limit.claim().scope for limit in limits])
    except SessionsUnreachable:
        held = [None] * len(limits)
    return render_page(
        request,
        "limits.html",
        visit,
        limits=list(zip(limits, held, strict=True)),
        learned=learned,
        now=parts.clock.now(),
        scopes=tuple(LimitScope),
    )


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
    """Set, replace or, without any cap, remove a limit."""
    ends = {"endpoint": source} if scope is LimitScope.ENDPOINT else {"source": source}
    fields = {"destination": destination, "concurrency": concurrency.strip(), "streams": streams.strip(), **ends}
    try:
        limit_form = WireLimit(scope=scope.value, **{name: text for name, text in fields.items() if text})
    except ValidationError as error:
        raise _explain(describe_validation_error(error.errors()[0])) from None
    except InvalidValue as wrong:
        raise _explain(wrong) from None
    limit = limit_from_wire(limit_form)
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        put_limit(limit, uow=uow)
    parts.snapshots.forget(visit.visitor.tenant_id)
    notice_text = "is removed" if limit.concurrency is limit.streams is None else "is set"
    return redirect_after_form(request, HERE, f"The limit {notice_text}; live transfers obey at their next heartbeat.")


def _explain(wrong: InvalidValue) -> InvalidValue:
    """Return the refusal with the labels of the form, and with both bounds of a cap."""
    if wrong.field in ("concurrency", "streams"):
        return InvalidValue(wrong.field, f"must be 1–{LARGEST_CAP:,}")
    return InvalidValue(PLACES.get(wrong.field, wrong.field), wrong.reason)


def _list_limits(parts: Container, visit: Visit) -> tuple[Sequence[Limit], Sequence[LearnedCap]]:
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        return uow.limits.list_all(), LearnedCaps(uow.limits.list_learned()).list_visible(None)
