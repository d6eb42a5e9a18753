"""*Gain*: what tuning would have gained on each link of the history."""

from fastapi import Request, Response

from services.admin.rendering import build_page_router, render_page
from services.admin.visitors import Parts, Signed
from services.application.logs.roll_up import RollUp
from services.application.monitoring.gain import read_gain_report

router = build_page_router("/gain")

MOST_LINKS = 20
"""Links of the page; ``tradewind logs report`` has more."""


@router.get("")
def gain_page(request: Request, visit: Signed, parts: Parts) -> Response:
    """Show what the links with most transfer time would save, those first that would save most."""
    RollUp(parts.store.unit_of_work).update_for_page(visit.visitor.tenant_id)
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        report = read_gain_report(uow, parts.clock.now(), most_links=MOST_LINKS)
    return render_page(request, "gain.html", visit, report=report)
