"""*Audit*: every change, with who made it."""

from typing import Annotated

from fastapi import Depends, Request, Response
from pydantic import AfterValidator, Field

from services.admin.formatting.audit_entries import KINDS
from services.admin.lists import Empty, Filters, FiltersOf, Line
from services.admin.rendering import build_page_router, render_page
from services.admin.visitors import Operator, Parts
from tradewind.wire.base import BIGINT_MAX, Strict

router = build_page_router("/audit")

PAGE = 100


def _require_known(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError("is none of the list")
    return kind


AuditKind = Annotated[Line, AfterValidator(_require_known)]


class AuditFilters(Strict):
    """The filters of the log of changes; ``before`` : the last entry of the page before."""

    about: Annotated[AuditKind | None, Empty] = None
    before: Annotated[int, Field(ge=1, le=BIGINT_MAX)] | None = None


@router.get("")
def audit_page(
    request: Request,
    visit: Operator,
    parts: Parts,
    filters: Annotated[Filters[AuditFilters], Depends(FiltersOf(AuditFilters))],
) -> Response:
    """List changes, the newest first."""
    about = filters.values.about
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        entries = (
            []
            if filters.problem
            else uow.audit.list_page(before=filters.values.before, limit=PAGE + 1, about=f"{about}." if about else None)
        )
    return render_page(
        request,
        "audit.html",
        visit,
        entries=entries[:PAGE],
        more=filters.build_address(before=entries[PAGE - 1].id) if len(entries) > PAGE else "",
        kinds=KINDS,
        filters=filters,
    )
