"""*Usage*: what each customer key used in a month, and what it pays."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, NamedTuple
from uuid import UUID

from fastapi import Query, Request, Response

from services.admin.rendering import HEADERS, build_page_router, render_page, render_refusal
from services.admin.visitors import Parts, Provider
from services.application.billing.currencies import count_minor_digits
from services.application.billing.usage import Month, UsageTransfer, build_statements
from services.application.models.sla_tiers import list_tier_names
from services.streaming.usage_stream import stream_usage
from tradewind.errors import NotFound
from tradewind.sla.kinds import SlaKind
from tradewind.units import format_bps, format_joules, format_seconds

router = build_page_router("/usage")

LINES_OF_STATEMENT = 500
LAST_PAGE = 10_000

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
                sum((line.amount or 0) - line.credit for line in billed if line.currency == code),
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


@router.get("/statement")
def statement_page(
    request: Request,
    visit: Provider,
    parts: Parts,
    *,
    month_text: MonthText,
    key: Annotated[UUID | None, Query()] = None,
    page: Annotated[int, Query(ge=1, le=LAST_PAGE)] = 1,
) -> Response:
    """Show the statement of one key for a month, to be printed: sums, and every billed transfer."""
    month = Month.parse(month_text)
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        found = [each for each in build_statements(uow.usage.list_sums(month)) if each.key_id == key]
        if not found:
            raise NotFound(f"no transfers of this key are logged in {month}")
        offset = (page - 1) * LINES_OF_STATEMENT
        lines = uow.usage.list_billed(month, key, limit=LINES_OF_STATEMENT, offset=offset)
        tiers = list_tier_names({line.tier_id for line in lines if line.tier_id is not None}, uow)
    return render_page(
        request,
        "statement.html",
        visit,
        month=month,
        current=Month.of(parts.clock.now()),
        statement=found[0],
        lines=[BilledTransfer(line, tiers.get(line.tier_id) if line.tier_id else None) for line in lines],
        page=page,
        pages=-(-sum(line.transfers for line in found[0].billed) // LINES_OF_STATEMENT),
    )


class BilledTransfer(NamedTuple):
    """A billed transfer as the statement shows it; ``tier`` : its name in the current release."""

    line: UsageTransfer
    tier: str | None

    @property
    def target(self) -> str:
        """The SLA with its target as text."""
        if self.line.sla is None:
            return "none"
        kind = SlaKind(self.line.sla)
        name = kind.replace("_", " ")
        write = _TARGET_FORMATS.get(kind)
        return name if write is None or self.line.target is None else f"{name} {write(self.line.target)}"


_TARGET_FORMATS: Mapping[SlaKind, Callable[[float], str]] = MappingProxyType(
    {
        SlaKind.THROUGHPUT_AT_LEAST: format_bps,
        SlaKind.DEADLINE: format_seconds,
        SlaKind.ENERGY_AT_MOST: format_joules,
        SlaKind.POWER_AT_MOST: lambda power_w: f"{power_w:.3g} W",
    }
)
