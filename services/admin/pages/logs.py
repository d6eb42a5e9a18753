"""*Logs*: what was uploaded, and the refused rows: correct one and try it again, or dismiss it."""

from collections.abc import Iterator, Sequence
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Depends, Form, Path, Request, Response
from pydantic import Field

from services.admin.events import stream_changes
from services.admin.lists import Empty, Filters, FiltersOf, OlderThanId
from services.admin.rendering import STORABLE, build_page_router, redirect_after_form, render_fragment, render_page
from services.admin.visitors import Operator, Parts, SignInsOf, Visit
from services.application.logs.correct_rows import (
    MAX_DISMISSED,
    MAX_RETRIED,
    QuarantinedRow,
    RejectionReason,
    dismiss_row,
    dismiss_rows,
    retry_row,
    retry_rows,
)
from services.application.logs.long_jobs import LongJob, list_long_jobs
from services.application.logs.retention_page import find_due_month, find_next_step
from services.application.logs.rows import MAX_RAW_BYTES
from tradewind.units import format_count
from tradewind.wire.base import BIGINT_MAX, Strict

router = build_page_router("/logs")

HERE, QUARANTINE = "/admin/logs", "/admin/logs/quarantine"
PAGE = 50
LONGEST_PAGE = 150_000
"""Characters of rows on a page of the quarantine; its first row is shown in any case."""

REASONS = 20
LONGEST_ROW = 100_000
LONGEST_REFUSAL = 2_000
RowId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]


@router.get("")
def logs_page(
    request: Request,
    visit: Operator,
    parts: Parts,
    filters: Annotated[Filters[OlderThanId], Depends(FiltersOf(OlderThanId))],
) -> Response:
    """List batches, the newest first, and the reasons of refused rows."""
    now, log_months = parts.clock.now(), parts.options.log_months
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        months = uow.month_seals.list_page() if not filters.typed else []
        batches = [] if filters.problem else uow.batches.list_page(limit=PAGE + 1, before=filters.values.before)
        refused = uow.quarantine.count()
        reasons = uow.quarantine.group_by_reason(limit=REASONS)
    work = _work(visit, parts)
    more = filters.build_address(before=batches[PAGE - 1].batch_id) if len(batches) > PAGE else ""
    return render_page(
        request,
        "logs.html",
        visit,
        batches=batches[:PAGE],
        more=more,
        filters=filters,
        refused=refused,
        reasons=reasons,
        work=work,
        months=[
            (
                each,
                find_next_step(each, now=now, months=log_months),
                log_months and find_due_month(each.month, log_months),
            )
            for each in months
        ],
        log_months=log_months,
        export_place=parts.options.export_place,
    )


@router.get("/work/live")
def live_work(request: Request, visit: Operator, parts: Parts, sign_ins: SignInsOf) -> Response:
    """Stream the progress of long work whenever it changes."""
    return stream_changes(request, visit, sign_ins, lambda: render_fragment("work.html", work=_work(visit, parts)))


def _work(visit: Visit, parts: Parts) -> Sequence[LongJob]:
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        is_exporting = parts.options.export_place is not None
        return list_long_jobs(uow, now=parts.clock.now(), is_exporting=is_exporting, months=parts.options.log_months)


class QuarantineFilters(Strict):
    """The filters of refused rows: of one batch, or of one reason."""

    before: Annotated[int, Field(ge=1, le=BIGINT_MAX)] | None = None
    batch: Annotated[UUID | None, Empty] = None
    field: Annotated[str, Field(max_length=LONGEST_REFUSAL, pattern=STORABLE)] = ""
    reason: Annotated[str, Field(max_length=LONGEST_REFUSAL, pattern=STORABLE)] = ""


@router.get("/quarantine")
def quarantine_page(
    request: Request,
    visit: Operator,
    parts: Parts,
    filters: Annotated[Filters[QuarantineFilters], Depends(FiltersOf(QuarantineFilters))],
) -> Response:
    """List refused rows with their reason and text; of one batch or reason where requested."""
    values = filters.values
    refused_for = RejectionReason(values.field, values.reason) if values.field else None
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        found = (
            []
            if filters.problem
            else uow.quarantine.list_page(
                limit=PAGE + 1, before=values.before, batch_id=values.batch, refused_for=refused_for
            )
        )
        matching = uow.quarantine.count(refused_for)
    rows = list(_take_page(found))
    return render_page(
        request,
        "quarantine.html",
        visit,
        rows=rows,
        more=filters.build_address(before=rows[-1].id) if len(rows) < len(found) else "",
        filters=filters,
        matching=matching,
        most_retried=MAX_RETRIED,
        most_dismissed=MAX_DISMISSED,
        most_raw_bytes=MAX_RAW_BYTES,
    )


def _take_page(found: Sequence[QuarantinedRow]) -> Iterator[QuarantinedRow]:
    """Yield the rows of one page: some dozens, and fewer where they are long."""
    size = 0
    for number, row in enumerate(found[:PAGE]):
        size += len(row.raw or "")
        if number and size > LONGEST_PAGE:
            return
        yield row


@router.post("/quarantine/retry-all")
def retry_all_of(
    request: Request,
    visit: Operator,
    parts: Parts,
    field: Annotated[str, Form(min_length=1, max_length=LONGEST_REFUSAL, pattern=STORABLE)],
    reason: Annotated[str, Form(max_length=LONGEST_REFUSAL, pattern=STORABLE)],
) -> Response:
    """Try the rows of one reason again as they are."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        retried = retry_rows(RejectionReason(field, reason), uow=uow, clock=parts.clock)
    notice_text = f"{format_count(retried.stored, 'row')} left the quarantine, {retried.refused} refused again"
    here = f"{QUARANTINE}?{urlencode({'field': field, 'reason': reason})}" if retried.left else QUARANTINE
    return redirect_after_form(
        request, here, f"{notice_text}; {retried.left} more of this reason." if retried.left else f"{notice_text}."
    )


@router.post("/quarantine/dismiss-all")
def dismiss_all_of(
    request: Request,
    visit: Operator,
    parts: Parts,
    field: Annotated[str, Form(max_length=LONGEST_REFUSAL, pattern=STORABLE)] = "",
    reason: Annotated[str, Form(max_length=LONGEST_REFUSAL, pattern=STORABLE)] = "",
) -> Response:
    """Dismiss the rows of one reason, or all."""
    refused_for = RejectionReason(field, reason) if field else None
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        dismissed = dismiss_rows(refused_for, uow=uow)
    return redirect_after_form(request, QUARANTINE, f"{format_count(dismissed, 'row')} dismissed.")


@router.post("/quarantine/{row_id}/retry")
def retry(
    request: Request,
    row_id: RowId,
    visit: Operator,
    parts: Parts,
    raw: Annotated[str, Form(min_length=1, max_length=LONGEST_ROW)],
) -> Response:
    """Store a corrected row."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        receipt = retry_row(row_id, raw, uow=uow, clock=parts.clock)
    notice_text = "The row is stored." if receipt.accepted else "The row was stored before; it has left the quarantine."
    return redirect_after_form(request, QUARANTINE, notice_text)


@router.post("/quarantine/{row_id}/dismiss")
def dismiss(request: Request, row_id: RowId, visit: Operator, parts: Parts) -> Response:
    """Dismiss a row."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        dismiss_row(row_id, uow=uow)
    return redirect_after_form(request, QUARANTINE, "The row is dismissed.")
