"""*Transfers*: live and past ones, and of each what was measured, what was decided, and why."""

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Request, Response

from services.admin.agreements import outcome_of, target_bps
from services.admin.charts.timeline import Level, timeline
from services.admin.events import following
from services.admin.pages import ONE_LINE, chart, fragment, page, page_router
from services.admin.visitors import Parts, Signed, SignInsOf
from services.application.transfer_journal import Journalled
from tradewind.units import MBIT
from tradewind.wire.base import MAX_NAME_LENGTH
from tradewind.wire.transfers import TransferState, TransferSummary

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
    """A transfer's figures and timeline, again with every tick."""

    def told() -> str:
        return fragment("timeline.html", **_shown(parts, visit, transfer_id), now=parts.clock.now())

    return following(request, visit, sign_ins, told)


@router.get("/{transfer_id}")
def transfer_page(request: Request, transfer_id: UUID, visit: Signed, parts: Parts) -> Response:
    """What was expected of a transfer, what it reached, and its timeline."""
    return page(request, "transfer.html", visit, **_shown(parts, visit, transfer_id))


def _shown(parts: Parts, visit: Signed, transfer_id: UUID) -> dict[str, Any]:
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        known = uow.journal.get(transfer_id, now=parts.clock.now())
        after = max(-1, known.summary.journalled_sequence - MOST_SAMPLES)
        samples = uow.journal.samples(known.summary, after=after, limit=MOST_SAMPLES)
    return {
        "transfer": known.summary,
        "enquiry": known.enquiry,
        "expected": known.expected,
        "outcome": outcome_of(known),
        "samples": samples,
        "timeline": chart(timeline(samples, _levels(known))),
        "has_power": any(each.power_w is not None for each in samples),
    }


def _levels(known: Journalled) -> Sequence[Level]:
    """Of throughput: what was expected, then what was agreed."""
    found, target = [], target_bps(known)
    if known.expected is not None:
        rate = known.expected.predicted.throughput_bps
        band = (rate.low / MBIT, rate.high / MBIT)
        found.append(Level(name="expected", value=rate.mean / MBIT, band=band))
    if target is not None:
        found.append(Level(name="agreed", value=target / MBIT, is_target=True))
    return found
