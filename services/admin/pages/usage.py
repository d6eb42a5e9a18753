"""*Usage*: what each customer key used in a month, and what it pays."""

from functools import partial
from typing import Annotated

from fastapi import Query, Request, Response

from services.admin.rendering import HEADERS, build_page_router, render_page, render_refusal
from services.admin.visitors import Parts, Provider
from services.application.billing.currencies import count_minor_digits
from services.application.billing.usage import Month, build_statements
from services.streaming.usage_stream import stream_usage

router = build_page_router("/usage")

MonthText = Annotated[str, Query(alias="month", max_length=7)]


@router.get("")
def usage_page(request: Request, visit: Provider, parts: Parts, month_text: MonthText = "") -> Response:
    """Show the statements of one month, by default the current one."""
    current = Month.of(parts.clock.now())
    month = Month.parse(month_text) if month_text else current
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        shown = build_statements(uow.usage.list_sums(month))
    billed = [line for each in shown for line in each.billed]
    currencies = sorted({line.currency for line in billed if line.currency is not None})
    return render_page(
        request,
        "usage.html",
        visit,
        month=month,
        current=current,
        statements=shown,
        billed=billed,
        unbilled=[line for each in shown for line in each.unbilled],
        totals=[
            (
                code,
                sum(line.payable or 0 for line in billed if line.currency == code),
                count_minor_digits(code),
                sum(line.amount or 0 for line in billed if line.currency == code),
            )
            for code in currencies
        ],
    )


@router.get("/transfers.csv")
def usage_file(request: Request, visit: Provider, parts: Parts, month_text: MonthText) -> Response:
    """Return the transfers of a month one by one, as a file."""
    month = Month.parse(month_text)
    tenant_id = visit.visitor.tenant_id
    uow, slots = parts.store.unit_of_work(tenant_id), request.app.state.query_slots
    return stream_usage(tenant_id, month, uow, slots, refused=partial(render_refusal, request), headers=HEADERS)
