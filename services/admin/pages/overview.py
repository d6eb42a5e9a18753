"""*Overview*: what there is to do, revenue, live transfers, how many SLAs were met, and what tuning has gained."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

from fastapi import Query, Request, Response

from services.admin.charts.days import build_day_chart
from services.admin.events import stream_changes
from services.admin.formatting.transfer_rows import build_rows, find_energy_leads
from services.admin.pages.releases import format_tier_bounds
from services.admin.rendering import build_page_router, encode_chart, render_fragment, render_page
from services.admin.visitors import Parts, Provider, Signed, SignInsOf, Visit
from services.application.access.authenticate import Scope
from services.application.billing.currencies import count_minor_digits
from services.application.billing.statements import add_payable, build_statements
from services.application.billing.usage import Month
from services.application.logs.roll_up import RollUp
from services.application.monitoring.metrics import Period, read_overview_metrics
from services.application.monitoring.to_do import read_to_do
from services.application.transfers.repository import TransferFilter
from services.bootstrap import Container
from tradewind.wire.transfers import TransferState

router = build_page_router()

LIVE_SHOWN = 10
"""The others are on the page of transfers."""

DECISIONS_SHOWN = 2
"""The others are on the page of releases."""

LIMITS_SHOWN = 5
"""Customers near their limit; the others are on the page of customers."""

REVENUE_REUSED_S = 60.0
"""A month's sums are read once in this time, whoever looks."""


class Revenue(NamedTuple):
    """What all customers, and keys without one, pay for the transfers of a month, in one currency."""

    currency: str
    payable: Decimal
    digits: int


@router.get("")
def overview_page(
    request: Request, visit: Signed, parts: Parts, period: Annotated[str, Query(alias="range")] = Period.MONTH
) -> Response:
    """Show the tenant at a glance; the address has the range of time."""
    now = parts.clock.now()
    chosen = Period.parse(period)
    RollUp(parts.store.unit_of_work).update_for_page(visit.visitor.tenant_id)
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        current = uow.releases.find_current()
        release = None if current is None else uow.releases.get(current)
        links = {link.id: link for link in uow.links.list_all()}
        metrics = read_overview_metrics(uow, current, now, period=chosen)
        to_do = read_to_do(uow, current, now)
        has_keys = any(Scope.AGENT in key.scopes and key.last_used_at for key in uow.keys.list_all())
    return render_page(
        request,
        "overview.html",
        visit,
        **_live(parts, visit, now),
        release=release,
        links=links,
        figures=metrics,
        to_do=to_do,
        undecided=to_do.undecided[:DECISIONS_SHOWN],
        limits_shown=LIMITS_SHOWN,
        has_keys=has_keys,
        bounds=format_tier_bounds,
        prices=visit.visitor.may(Scope.PROVIDER, Scope.OPERATOR),
        operates=visit.visitor.may(Scope.OPERATOR),
        month=Month.of(now),
        periods=tuple(Period),
        moved=encode_chart(build_day_chart(metrics.days, metrics.ends)),
    )


@router.get("/revenue")
async def revenue_tile(request: Request, visit: Provider, parts: Parts) -> Response:
    """Return what all statements of this month come to so far, as the page of usage has it: a part of the overview."""
    tenant_id, month = visit.visitor.tenant_id, Month.of(parts.clock.now())
    revenue = await request.app.state.page_look_ups.start(
        ("revenue", tenant_id, month), lambda: _sum_revenue(parts, visit, month), keep_s=REVENUE_REUSED_S
    )
    return render_page(request, "revenue.html", None, revenue=revenue, month=month)


def _sum_revenue(parts: Container, visit: Visit, month: Month) -> Sequence[Revenue]:
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        statements = build_statements(uow.usage.list_sums(month), uow.customers.list_all(), month)
    payable = add_payable(statements)
    return [Revenue(code, payable[code], count_minor_digits(code)) for code in sorted(payable)]


@router.get("/live")
def live_rows(request: Request, visit: Signed, parts: Parts, sign_ins: SignInsOf) -> Response:
    """Stream the number of live transfers and the newest of them whenever they change."""

    def render() -> str:
        now = parts.clock.now()
        return render_fragment("live_transfers.html", **_live(parts, visit, now), now=now)

    return stream_changes(request, visit, sign_ins, render)


def _live(parts: Container, visit: Visit, now: datetime) -> dict[str, Any]:
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        found = uow.journal.list_stored(now=now, limit=LIVE_SHOWN, matching=TransferFilter(state=TransferState.LIVE))
        return {"rows": build_rows(found, find_energy_leads(uow, found)), "live_count": uow.outcomes.live(now)}
