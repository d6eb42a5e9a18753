"""*Audit*: every change, with who made it."""

from typing import Annotated

from fastapi import Query, Request, Response

from services.admin.formatting.audit_entries import KINDS
from services.admin.rendering import ONE_LINE, build_page_router, render_page
from services.admin.visitors import Operator, Parts
from tradewind.wire.base import BIGINT_MAX

router = build_page_router("/audit")

PAGE = 100


@router.get("")
def audit_page(
    request: Request,
    visit: Operator,
    parts: Parts,
    before: Annotated[int | None, Query(ge=1, le=BIGINT_MAX)] = None,
    about: Annotated[str, Query(max_length=50, pattern=ONE_LINE)] = "",
) -> Response:
    """List changes, the newest first."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        entries = uow.audit.list_page(before=before, limit=PAGE + 1, about=f"{about}." if about else None)
    more = entries[PAGE - 1].id if len(entries) > PAGE else None
    return render_page(request, "audit.html", visit, entries=entries[:PAGE], more=more, kinds=KINDS, about=about)
