"""*Overview*: what goes on, at a glance."""

from fastapi import Request, Response

from services.admin.pages import page, page_router
from services.admin.visitors import Parts, Signed
from tradewind.wire.transfers import TransferState

router = page_router()

LIVE_SHOWN = 50


@router.get("")
def overview_page(request: Request, visit: Signed, parts: Parts) -> Response:
    """The tenant's transfers and models now."""
    now = parts.clock.now()
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        live = uow.journal.page(now=now, limit=LIVE_SHOWN, state=TransferState.LIVE)
        current = uow.releases.current()
        release = None if current is None else uow.releases.get(current)
        links = uow.links.all()
    return page(request, "overview.html", visit, live=live, release=release, links=links)
