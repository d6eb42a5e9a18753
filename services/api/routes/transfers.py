"""``/v1/transfers``: heartbeats of live transfers, and what they and their ends reported."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Annotated
from uuid import UUID

import orjson
from fastapi import Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from services.api.dependencies import AgentKey, AnyKey, Parts
from services.api.direct_route import DirectRoute
from services.api.routes.recommend import find_recommendation, load_snapshot
from services.api.routing import create_v1_router
from services.application.access.authenticate import Principal
from services.application.recommend.request import PricedRecommendation
from services.application.transfers.first_heartbeats import build_timeline, find_first_heartbeat, find_starting_key
from services.application.transfers.repository import TransferFilter, TransferStart
from services.application.transfers.sessions import TransferKey
from services.application.transfers.tune import TransferOpening, TuningAnswer
from services.bootstrap import Container
from tradewind.errors import NotFound
from tradewind.recommendation import CompactTable, combine_settings
from tradewind.sla.kinds import SlaKind
from tradewind.tuning import Basis, prepare_basis
from tradewind.wire.base import BIGINT_MAX, Instant, Name
from tradewind.wire.heartbeats import Heartbeat, HeartbeatAnswer
from tradewind.wire.recommendations import RecommendRequest, WireInterval, WirePrediction, WireTable
from tradewind.wire.transfers import ExpectedOutcome, TransferState, TransferSummary, TransferTimeline

TABLES_CACHED = 512
"""Tables of the transfers that started last; about 50 kB each."""

USUAL_PAGE, LARGEST_PAGE = 50, 200
USUAL_SAMPLES, MOST_SAMPLES = 500, 5_000

Before = Annotated[UUID | None, Query(description="Only transfers that started before this one.")]
Since = Annotated[Instant | None, Query(description="Only transfers that began at that time or later.")]
Until = Annotated[Instant | None, Query(description="Only transfers that began before that time.")]
PageSize = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="Transfers in the answer at most.")]
After = Annotated[int, Query(ge=-1, le=BIGINT_MAX, description="Only samples after this sequence.")]
SampleCount = Annotated[int, Query(ge=0, le=MOST_SAMPLES, description="Samples in the answer at most.")]

router = create_v1_router("/transfers", "transfers")
live_router = create_v1_router("/transfers", "transfers", DirectRoute)


@router.get("")
def list_transfers(
    parts: Parts,
    principal: AnyKey,
    *,
    state: TransferState | None = None,
    source: Name | None = None,
    destination: Name | None = None,
    sla: SlaKind | None = None,
    since: Since = None,
    until: Until = None,
    before: Before = None,
    limit: PageSize = USUAL_PAGE,
) -> Sequence[TransferSummary]:
    """List live and past transfers, the newest first; those before the last of an answer are the next page.

    A customer's key reads those that it started.
    """
    matching = TransferFilter(
        state=state,
        sources=None if source is None else (source,),
        destinations=None if destination is None else (destination,),
        sla=sla,
        since=since,
        until=until,
    )
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        if principal.is_customer:
            matching = replace(matching, key_ids=uow.owners.own_keys())
        return uow.journal.list_page(now=parts.clock.now(), limit=limit, before=before, matching=matching)


@router.get("/{transfer_id}")
async def read_transfer(
    transfer_id: UUID, parts: Parts, principal: AnyKey, after: After = -1, limit: SampleCount = USUAL_SAMPLES
) -> TransferTimeline:
    """Return a transfer with its samples and decisions; those after the last of an answer are the next page.

    A transfer that has just started has no samples yet: they are stored together, some seconds after they came. A
    customer's key reads those that it started.
    """
    key = TransferKey(principal.tenant_id, transfer_id)
    try:
        return await run_in_threadpool(_read_timeline, parts, principal, transfer_id, after, limit)
    except NotFound:
        first = await find_first_heartbeat(key, parts.sessions)
        if first is None or (principal.is_customer and find_starting_key(first) != principal.key_id):
            raise
        return build_timeline(transfer_id, first, parts.clock.now())


def _read_timeline(
    parts: Container, principal: Principal, transfer_id: UUID, after: int, limit: int
) -> TransferTimeline:
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        known = uow.journal.get(transfer_id, now=parts.clock.now())
        if principal.is_customer and known.owner not in uow.owners.own_keys():
            raise NotFound("no such transfer")
        samples = uow.journal.list_samples(known.summary, after=after, limit=limit)
    return TransferTimeline(
        transfer=known.summary,
        enquiry=known.request,
        expected=known.expected,
        duration_s=known.duration_s,
        energy=known.energy,
        samples=tuple(samples),
    )


@live_router.post("/{transfer_id}/heartbeats", response_model=HeartbeatAnswer)
async def heartbeat(transfer_id: UUID, beat: Heartbeat, parts: Parts, principal: AgentKey) -> Response:
    """Answer what to do until the next tick. Sequence 0 precedes the first byte; the same sequence twice changes
    nothing.

    409 for a transfer that another key started, and for one that has finished. 429 with Retry-After for a new transfer
    of a key or tenant that has as many live ones as it may; the transfer may go on untuned meanwhile.
    """
    snapshot = await load_snapshot(parts, principal.tenant_id)
    answer = await parts.tuner.answer(
        TransferKey(principal.tenant_id, transfer_id),
        beat,
        key_id=principal.key_id,
        weight=principal.weight,
        claims=snapshot.list_claims,
        open_=partial(_prepare_opening, parts, principal),
    )
    return Response(_encode_answer(answer), media_type="application/json")


async def _prepare_opening(parts: Container, principal: Principal, start_request: RecommendRequest) -> TransferOpening:
    """Return what the transfer of a request is tuned on: the present recommendation."""
    request, priced = await find_recommendation(start_request, parts, principal)
    tables = {kind: _parse_table(table) for kind, table in priced.table_json.items()}
    sla = priced.recommendation.sla.sla
    named = start_request.sla.model_copy(update={"energy_basis": sla.energy_basis})
    basis = prepare_basis(
        sla=sla,
        plan=priced.recommendation.plan,
        tables=tables,
        bins=request.bins,
        path=request.path.complete_from(
            (await load_snapshot(parts, principal.tenant_id)).find_known_bandwidth(request.link)
        ),
        caps=request.caps,
        rate_limit_bps=request.rate_limit_bps,
        adjustable=start_request.adjustable_resources or (),
    )
    return TransferOpening(
        basis=basis,
        link=request.link,
        request=start_request.model_copy(update={"sla": named}).model_dump_json(exclude_none=True).encode(),
        start=TransferStart(expected=to_expected(priced, basis), key_id=principal.key_id)
        .model_dump_json(exclude_none=True)
        .encode(),
    )


@lru_cache(maxsize=TABLES_CACHED)
def _parse_table(table_json: bytes) -> CompactTable:
    """Return the table of a recommendation. Transfers that start in the same way share it, and what their ticks derive
    from it.
    """
    return WireTable.model_validate_json(table_json).to_table()


def to_expected(priced: PricedRecommendation, basis: Basis) -> ExpectedOutcome:
    """Return what is stored of a recommendation with the transfer that it starts."""
    made = priced.recommendation
    predicted = made.predicted
    return ExpectedOutcome(
        predicted=WirePrediction(
            throughput_bps=WireInterval.from_domain(predicted.throughput_bps),
            energy_j=None if predicted.energy_j is None else WireInterval.from_domain(predicted.energy_j),
            power_w=None if predicted.power_w is None else WireInterval.from_domain(predicted.power_w),
        ),
        probability=made.sla.probability,
        feasible=made.sla.feasible,
        target_bps=None if made.sla.sla.fraction is None else basis.target,
        source=made.source,
        release=made.release,
        rationale=made.rationale,
    )


def _encode_answer(answer: TuningAnswer) -> bytes:
    """Return the answer as JSON in the form of ``HeartbeatAnswer``."""
    decision = answer.decision
    return orjson.dumps(
        {
            "sequence": answer.sequence,
            "parameters": combine_settings([plan.parameters for plan in decision.chunks]).list_known(),
            "chunks": [{"chunk": plan.chunk, "parameters": plan.parameters.list_known()} for plan in decision.chunks],
            "changed": decision.changed,
            "kind": decision.kind,
            "reason": decision.reason,
            "sla_bank": decision.sla_bank,
            "granted": answer.share.granted,
            "share": {"concurrency": answer.share.concurrency, "streams": answer.share.streams},
            "journalled_sequence": answer.journalled_sequence,
            "next_heartbeat_s": answer.next_heartbeat_s,
        }
    )
