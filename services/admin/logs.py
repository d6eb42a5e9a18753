"""*Logs*: what was uploaded, and the rows that were refused: mend one and try it again, or dismiss it."""

from typing import Annotated
from uuid import UUID

from fastapi import Form, Path, Query, Request, Response

from services.admin.pages import done, page, page_router
from services.admin.visitors import Operator, Parts
from services.application.retention_page import due_from, next_of
from services.application.retry_rows import dismiss_row, retry_row
from tradewind.wire.base import BIGINT_MAX

router = page_router("/logs")

HERE, QUARANTINE = "/admin/logs", "/admin/logs/quarantine"
PAGE = 50
REASONS = 20
LONGEST_ROW = 100_000
RowId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]


@router.get("")
def logs_page(request: Request, visit: Operator, parts: Parts, before: UUID | None = None) -> Response:
    """Batches, the newest first, and what rows were refused for."""
    now, kept = parts.clock.now(), parts.log_months
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        months = uow.month_seals.page() if before is None else []
        batches = uow.batches.page(limit=PAGE + 1, before=before)
        refused = uow.quarantine.count()
        reasons = uow.quarantine.by_reason(limit=REASONS)
    more = batches[PAGE - 1].batch_id if len(batches) > PAGE else None
    return page(
        request,
        "logs.html",
        visit,
        batches=batches[:PAGE],
        more=more,
        refused=refused,
        reasons=reasons,
        months=[(each, next_of(each, now=now, months=kept), kept and due_from(each.month, kept)) for each in months],
        kept=kept,
        export_place=parts.export_place,
    )


@router.get("/quarantine")
def quarantine_page(
    request: Request,
    visit: Operator,
    parts: Parts,
    before: Annotated[int | None, Query(ge=1, le=BIGINT_MAX)] = None,
    batch: UUID | None = None,
) -> Response:
    """Refused rows with the reason and what they said."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        rows = uow.quarantine.page(limit=PAGE + 1, before=before, batch_id=batch)
    more = rows[PAGE - 1].id if len(rows) > PAGE else None
    return page(request, "quarantine.html", visit, rows=rows[:PAGE], more=more, batch=batch)


@router.post("/quarantine/{row_id}/retry")
def retry(
    request: Request,
    row_id: RowId,
    visit: Operator,
    parts: Parts,
    raw: Annotated[str, Form(min_length=1, max_length=LONGEST_ROW)],
) -> Response:
    """Store a mended row."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        receipt = retry_row(row_id, raw, uow=uow, clock=parts.clock)
    said = "The row is stored." if receipt.accepted else "The row was stored before; it has left the quarantine."
    return done(request, QUARANTINE, said)


@router.post("/quarantine/{row_id}/dismiss")
def dismiss(request: Request, row_id: RowId, visit: Operator, parts: Parts) -> Response:
    """Give a row up."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        dismiss_row(row_id, uow=uow)
    return done(request, QUARANTINE, "The row is dismissed.")
