"""*Overview*: live transfers, how many SLAs were met, and what tuning has gained."""

from datetime import datetime
from typing import Any

from fastapi import Request, Response

from services.admin.charts.days import build_day_chart
from services.admin.events import stream_changes
from services.admin.pages.releases import format_tier_bounds
from services.admin.rendering import build_page_router, encode_chart, render_fragment, render_page
from services.admin.visitors import Parts, Signed, SignInsOf, Visit
from services.application.access.authenticate import Scope
from services.application.logs.roll_up import RollUp
from services.application.models.tier_decisions import list_undecided
from services.application.monitoring.metrics import read_overview_metrics
from services.application.transfers.repository import TransferFilter
from services.bootstrap import Container
from tradewind.wire.transfers import TransferState

router = build_page_router()

LIVE_SHOWN = 10
"""The others are on the page of transfers."""


@router.get("")
def overview_page(request: Request, visit: Signed, parts: Parts) -> Response:
    """Show the tenant at a glance."""
    now = parts.clock.now()
    RollUp(parts.store.unit_of_work).update_for_page(visit.visitor.tenant_id)
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        current = uow.releases.find_current()
        release = None if current is None else uow.releases.get(current)
        links = {link.id: link for link in uow.links.list_all()}
        metrics = read_overview_metrics(uow, current, now)
        undecided = list_undecided(uow)
        not_offered = uow.price_books.count_priced_but_not_offered(current)
    return render_page(
        request,
        "overview.html",
        visit,
        **_live(parts, visit, now),
        release=release,
        links=links,
        figures=metrics,
        undecided=undecided,
        bounds=format_tier_bounds,
        decides=visit.visitor.may(Scope.PROVIDER, Scope.OPERATOR),
        not_offered=not_offered,
        moved=encode_chart(build_day_chart(metrics.days)),
    )


@router.get("/live")
def live_rows(request: Request, visit: Signed, parts: Parts, sign_ins: SignInsOf) -> Response:
    """Stream the number of live transfers and the newest of them whenever they change."""

    def render() -> str:
        now = parts.clock.now()
        return render_fragment("live_transfers.html", **_live(parts, visit, now), now=now)

    return stream_changes(request, visit, sign_ins, render)


def _live(parts: Container, visit: Visit, now: datetime) -> dict[str, Any]:
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        return {
            "transfers": uow.journal.list_page(
                now=now, limit=LIVE_SHOWN, matching=TransferFilter(state=TransferState.LIVE)
            ),
            "live_count": uow.outcomes.live(now),
        }
