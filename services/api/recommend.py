"""``POST /v1/recommend``: answered from memory; a database is asked only for a model that is not there yet."""

from typing import Any
from uuid import UUID, uuid4

import orjson
from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from services.api.dependencies import AgentKey, Parts
from services.api.problems import PROBLEM_RESPONSES
from services.application.enquiry import Enquiry, Offer
from services.application.recommend import recommend
from services.application.snapshot import NotInMemory, Snapshots
from tradewind.flags import tool_flags
from tradewind.parameters import NO_CAPS
from tradewind.prediction import Interval
from tradewind.recommendation import Recommendation
from tradewind.transfer import LinkKey
from tradewind.wire.recommendations import RecommendRequest, RecommendResponse

router = APIRouter(prefix="/v1", tags=["recommend"], responses=PROBLEM_RESPONSES)


@router.post("/recommend", response_model=RecommendResponse)
async def recommend_parameters(asked: RecommendRequest, parts: Parts, principal: AgentKey) -> Response:
    """Parameters for each chunk of a data set, what to expect of them, and a table to go on tuning with alone."""
    offer = await _offer(enquiry_of(asked), parts.snapshots, principal.tenant_id)
    parts.metrics.recommendations.labels(offer.recommendation.source).inc()
    return Response(rendered(offer), media_type="application/json")


async def _offer(enquiry: Enquiry, snapshots: Snapshots, tenant_id: UUID) -> Offer:
    """Ask until no model is missing; each round fetches one that was."""
    while True:
        snapshot = snapshots.held(tenant_id)
        if snapshot is None:
            snapshot = await run_in_threadpool(snapshots.load, tenant_id)
        try:
            return recommend(enquiry, snapshot, new_transfer_id=uuid4)
        except NotInMemory as missing:
            await run_in_threadpool(snapshots.fetch, tenant_id, missing.model_id)


def enquiry_of(asked: RecommendRequest) -> Enquiry:
    """The request in the words of the domain."""
    return Enquiry(
        link=LinkKey(asked.source, asked.destination, asked.network, asked.mover),
        dataset=asked.dataset.to_dataset(),
        bins=asked.dataset.bins(),
        sla=asked.sla.to_sla(),
        path=asked.to_path(),
        load=asked.load,
        caps=asked.limits.to_caps() if asked.limits else NO_CAPS,
    )


def rendered(offer: Offer) -> bytes:
    """The answer as JSON, in the form of ``RecommendResponse``; tables are put in as they are."""
    made = offer.recommendation
    flags, not_expressible = tool_flags(made.parameters)
    body = {
        "transfer_id": made.transfer_id,
        "parameters": made.parameters.known(),
        "chunks": [_chunk(made, i) for i in range(len(made.plan))],
        "predicted": {
            "throughput_bps": _interval(made.predicted.throughput_bps),
            "energy_j": _interval(made.predicted.energy_j),
            "power_w": _interval(made.predicted.power_w),
        },
        "sla": _agreement(made),
        "table": {chunk.value: orjson.Fragment(table) for chunk, table in offer.table_json.items()},
        "rationale": made.rationale,
        "release": made.release,
        "source": made.source,
        "nearest_data_distance": made.nearest_data_distance,
        "flags": flags,
        "not_expressible": not_expressible,
    }
    return orjson.dumps(body)


def _chunk(made: Recommendation, index: int) -> dict[str, Any]:
    each = made.plan[index]
    return {"chunk": each.chunk, "max_file_bytes": each.max_file_bytes, "parameters": each.parameters.known()}


def _interval(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else {"mean": interval.mean, "low": interval.low, "high": interval.high}


def _agreement(made: Recommendation) -> dict[str, Any]:
    sla, agreement = made.sla, made.sla.agreement
    return {
        "kind": agreement.kind,
        "target": agreement.target,
        "fraction": agreement.fraction,
        "confidence": agreement.confidence,
        "energy_basis": agreement.energy_basis,
        "probability": sla.probability,
        "feasible": sla.feasible,
        "tier_id": sla.tier_id,
        "tier": sla.tier,
        "price": None,
    }
