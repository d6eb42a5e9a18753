"""*Transfers*: live and past ones, and of each what was measured, what was decided, and why."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import Query, Request, Response

from services.admin.charts.timeline import timeline
from services.admin.events import following
from services.admin.pages import ONE_LINE, chart, fragment, page, page_router
from services.admin.visitors import Parts, Signed, SignInsOf
from services.persistence.unit_of_work import UnitOfWork
from tradewind.wire.base import MAX_NAME_LENGTH
from tradewind.wire.transfers import TransferSample, TransferState, TransferSummary

router = page_router("/transfers")

PAGE = 50
MOST_SAMPLES = 2_000
"""Of the newest, on one page."""

Place = Annotated[str, Query(max_length=MAX_NAME_LENGTH, pattern=ONE_LINE)]


@router.get("")
def transfers_page(
    request: Request,
    visit: Signed,
    parts: Parts,
    *,
    state: Annotated[str, Query(max_length=10)] = "",
    source: Place = "",
    destination: Place = "",
    before: UUID | None = None,
) -> Response:
    """Transfers, the newest first; without a question the list follows what goes on."""
    asked = TransferState(state) if state in set(TransferState) else None
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        found = uow.journal.page(
            now=parts.clock.now(),
            limit=PAGE + 1,
            before=before,
            state=asked,
            source=source or None,
            destination=destination or None,
        )
    more = found[PAGE - 1].transfer_id if len(found) > PAGE else None
    return page(
        request,
        "transfers.html",
        visit,
        transfers=found[:PAGE],
        more=more,
        states=tuple(TransferState),
        asked={"state": state, "source": source, "destination": destination},
        follows=before is None and not (state or source or destination),
    )


@router.get("/live")
def live(request: Request, visit: Signed, parts: Parts, sign_ins: SignInsOf) -> Response:
    """Rows of the newest transfers, again whenever they have changed."""

    def newest() -> Sequence[TransferSummary]:
        with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
            return uow.journal.page(now=parts.clock.now(), limit=PAGE)

    def told() -> str:
        return fragment("transfer_rows.html", transfers=newest(), now=parts.clock.now())

    return following(request, visit, sign_ins, told)


@router.get("/{transfer_id}/live")
def live_transfer(request: Request, transfer_id: UUID, visit: Signed, parts: Parts, sign_ins: SignInsOf) -> Response:
    """The timeline of one transfer, again with every tick."""

    def told() -> str:
        with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
            transfer, _ = uow.journal.get(transfer_id, now=parts.clock.now())
            samples = _newest_samples(uow, transfer)
        drawn = chart(timeline(samples))
        return fragment("timeline.html", transfer=transfer, samples=samples, timeline=drawn, now=parts.clock.now())

    return following(request, visit, sign_ins, told)


@router.get("/{transfer_id}")
def transfer_page(request: Request, transfer_id: UUID, visit: Signed, parts: Parts) -> Response:
    """A transfer's timeline."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        transfer, enquiry = uow.journal.get(transfer_id, now=parts.clock.now())
        samples = _newest_samples(uow, transfer)
    return page(
        request,
        "transfer.html",
        visit,
        transfer=transfer,
        enquiry=enquiry,
        samples=samples,
        timeline=chart(timeline(samples)),
    )


def _newest_samples(uow: UnitOfWork, transfer: TransferSummary) -> Sequence[TransferSample]:
    return uow.journal.samples(transfer, after=max(-1, transfer.journalled_sequence - MOST_SAMPLES), limit=MOST_SAMPLES)
