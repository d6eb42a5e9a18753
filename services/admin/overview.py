"""*Overview*: what goes on, how agreements were kept, and what tuning has gained."""

from collections.abc import Sequence

from fastapi import Request, Response

from services.admin.charts.days import moved
from services.admin.events import following
from services.admin.pages import chart, fragment, page, page_router
from services.admin.visitors import Parts, Signed, SignInsOf
from services.application.figures import figures
from services.application.roll_up import RollUp
from tradewind.wire.transfers import TransferState, TransferSummary

router = page_router()

LIVE_SHOWN = 50


@router.get("")
def overview_page(request: Request, visit: Signed, parts: Parts) -> Response:
    """The tenant at a glance."""
    now = parts.clock.now()
    RollUp(parts.store.unit_of_work).for_page(visit.visitor.tenant_id)
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        live = uow.journal.page(now=now, limit=LIVE_SHOWN, state=TransferState.LIVE)
        live_count = uow.outcomes.live(now)
        current = uow.releases.current()
        release = None if current is None else uow.releases.get(current)
        links = {link.id: link for link in uow.links.all()}
        told = figures(uow, current, now)
    return page(
        request,
        "overview.html",
        visit,
        transfers=live,
        live_count=live_count,
        release=release,
        links=links,
        figures=told,
        moved=chart(moved(told.days)),
    )


@router.get("/live")
def live_rows(request: Request, visit: Signed, parts: Parts, sign_ins: SignInsOf) -> Response:
    """Rows of the live transfers, again whenever they have changed."""

    def live() -> Sequence[TransferSummary]:
        with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
            return uow.journal.page(now=parts.clock.now(), limit=LIVE_SHOWN, state=TransferState.LIVE)

    def told() -> str:
        return fragment("transfer_rows.html", transfers=live(), now=parts.clock.now())

    return following(request, visit, sign_ins, told)
