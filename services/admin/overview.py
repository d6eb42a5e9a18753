"""*Overview*: what goes on, how agreements were kept, and what tuning has gained."""

from collections.abc import Sequence
from datetime import timedelta

from fastapi import Request, Response

from services.admin.charts.days import moved
from services.admin.events import following
from services.admin.pages import chart, fragment, page, page_router
from services.admin.visitors import Parts, Signed, SignInsOf
from services.application.overview import Gain, Tuned, untuned
from services.persistence.unit_of_work import UnitOfWork
from tradewind.wire.transfers import TransferState, TransferSummary

router = page_router()

LIVE_SHOWN = 50
SINCE = timedelta(days=30)
LINKS_COMPARED = 8


@router.get("")
def overview_page(request: Request, visit: Signed, parts: Parts) -> Response:
    """The tenant at a glance."""
    now = parts.clock.now()
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        live = uow.journal.page(now=now, limit=LIVE_SHOWN, state=TransferState.LIVE)
        live_count = uow.outcomes.live(now)
        current = uow.releases.current()
        release = None if current is None else uow.releases.get(current)
        links = {link.id: link for link in uow.links.all()}
        agreements = uow.outcomes.agreements(now - SINCE)
        days = uow.outcomes.days(now - SINCE)
        gains = _gains(uow, current, uow.outcomes.tuned(now - SINCE, limit=LINKS_COMPARED))
    return page(
        request,
        "overview.html",
        visit,
        transfers=live,
        live_count=live_count,
        release=release,
        links=links,
        agreements=agreements,
        days=days,
        since_days=SINCE.days,
        moved=chart(moved(days)),
        gains=gains,
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


def _gains(uow: UnitOfWork, release: int | None, tuned: Sequence[Tuned]) -> Sequence[Gain]:
    """Of each link that has a model: what was reached beside what its lowest setting is expected to reach."""
    if release is None:
        return []
    models = ((each, uow.models.of_link(release, each.link_id)) for each in tuned)
    return [
        Gain(tuned=each, untuned=untuned(model.model())) for each, model in models if model is not None and model.leaves
    ]
