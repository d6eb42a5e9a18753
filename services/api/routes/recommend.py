"""``POST /v1/recommend``: answered from memory; a database is asked only for a model that is not there yet."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid4

import orjson
from fastapi.responses import Response

from services.api.dependencies import AgentKey, Parts
from services.api.direct_route import DirectRoute
from services.api.routes.compression import get_advice
from services.api.routing import create_v1_router
from services.application.advice.compression import to_class_query, to_query
from services.application.billing.journal_quotes import StoredQuote
from services.application.recommend.lookup import answer_request, get_snapshot
from services.application.recommend.request import PricedRecommendation, TransferRequest
from services.application.recommend.snapshot import Snapshot
from services.bootstrap import Container
from tradewind.errors import InvalidValue
from tradewind.flags import flags_by_tool
from tradewind.parameters import NO_CAPS, Parameters
from tradewind.prediction import Interval, Prediction
from tradewind.recommendation import SlaAnswer, combine_settings
from tradewind.sla.pricing import Price
from tradewind.transfer import LinkKey
from tradewind.wire.compression import FullRecommendRequest, FullRecommendResponse
from tradewind.wire.recommendations import RecommendRequest

router = create_v1_router("", "recommend", DirectRoute)


@router.post("/recommend", response_model=FullRecommendResponse)
async def recommend_parameters(asked: FullRecommendRequest, parts: Parts, principal: AgentKey) -> Response:
    """Parameters for each chunk of a data set, what to expect of them, and a table to go on tuning with alone."""
    enquiry = to_transfer_request(asked, weight=principal.weight)
    offer = await compute_recommendation(enquiry, parts, principal.tenant_id)
    asked_for = StoredQuote.of(offer, enquiry, key_id=principal.key_id, at=parts.clock.now())
    if asked_for is not None:
        parts.quotes.note(principal.tenant_id, asked_for)
    parts.metrics.recommended[offer.recommendation.source].inc()
    body = encode_answer(offer)
    if asked.compression is not None:
        advice = await get_advice(to_query(asked.compression), parts, principal.tenant_id)
        body = append_field(body, b"compression", advice.model_dump_json().encode())
    if asked.file_classes:
        made, path = offer.recommendation, enquiry.path
        advices = [
            await get_advice(to_class_query(each, made, path), parts, principal.tenant_id)
            for each in asked.file_classes
        ]
        body = append_field(body, b"file_classes", b"[%b]" % b",".join(a.model_dump_json().encode() for a in advices))
    return Response(body, media_type="application/json")


def append_field(body: bytes, name: bytes, told: bytes) -> bytes:
    """The answer with advice on codecs, behind what is there already: nobody else pays for it."""
    return b'%b,"%b":%b}' % (body[:-1], name, told)


async def compute_recommendation(enquiry: TransferRequest, parts: Container, tenant_id: UUID) -> PricedRecommendation:
    """The answer, after the look-ups that it needs."""
    return await answer_request(
        enquiry,
        tenant_id,
        snapshots=parts.snapshots,
        lookups=parts.lookups,
        unknown_path_lock=parts.unknown_path_lock,
        new_transfer_id=uuid4,
    )


async def load_snapshot(parts: Container, tenant_id: UUID) -> Snapshot:
    """The tenant's snapshot, read anew where none is fresh."""
    return await get_snapshot(tenant_id, snapshots=parts.snapshots, lookups=parts.lookups)


def to_transfer_request(asked: RecommendRequest, *, weight: float = 1.0) -> TransferRequest:
    """The request in the words of the domain.

    Raises
    ------
    InvalidValue : a device is named, which recommendations do not look at yet.
    """
    if asked.device is not None:
        raise InvalidValue("device", "no recommendation depends on a device yet; leave it out")
    return TransferRequest(
        link=LinkKey(asked.source, asked.destination, asked.network, asked.mover),
        dataset=asked.dataset.to_dataset(),
        bins=asked.dataset.bins(),
        sla=asked.sla.to_sla(),
        path=asked.to_path(),
        load=asked.load,
        caps=asked.limits.to_caps() if asked.limits else NO_CAPS,
        weight=weight,
        rate_limit_bps=asked.rate_limit_bps,
    )


def encode_answer(offer: PricedRecommendation) -> bytes:
    """The answer as JSON, in the form of ``RecommendResponse``; tables are put in as they are."""
    made = offer.recommendation
    settings = _written(tuple([each.parameters for each in made.plan]))
    body = {
        "transfer_id": made.transfer_id,
        "parameters": settings.whole,
        "chunks": [
            {"chunk": each.chunk, "max_file_bytes": each.max_file_bytes, "parameters": parameters}
            for each, parameters in zip(made.plan, settings.of_chunks, strict=True)
        ],
        "predicted": _prediction(made.predicted),
        "sla": _agreement(made.sla),
        "table": {str(chunk): orjson.Fragment(table) for chunk, table in offer.table_json.items()},
        "rationale": made.rationale,
        "release": made.release,
        "source": made.source,
        "nearest_data_distance": made.nearest_data_distance,
        "flags": settings.flags,
        "not_expressible": settings.not_expressible,
    }
    return orjson.dumps(body)


@dataclass(frozen=True, slots=True)
class _Written:
    """The settings of a plan as JSON: each of the chunks', all in one, and that one as flags of tools."""

    of_chunks: tuple[orjson.Fragment, ...]
    whole: orjson.Fragment
    flags: orjson.Fragment
    not_expressible: orjson.Fragment


@lru_cache(maxsize=4096)
def _written(settings: tuple[Parameters, ...]) -> _Written:
    """Kept, because settings are few and come again and again."""
    whole = combine_settings(settings)
    flags, not_expressible = flags_by_tool(whole)
    return _Written(
        of_chunks=tuple(_json(each.known()) for each in settings),
        whole=_json(whole.known()),
        flags=_json(flags),
        not_expressible=_json(not_expressible),
    )


def _json(value: Any) -> orjson.Fragment:
    return orjson.Fragment(orjson.dumps(value))


def _prediction(predicted: Prediction) -> dict[str, Any]:
    """Mappings of its intervals: orjson takes three times as long over data classes with slots."""
    return {
        "throughput_bps": _interval(predicted.throughput_bps),
        "energy_j": None if predicted.energy_j is None else _interval(predicted.energy_j),
        "power_w": None if predicted.power_w is None else _interval(predicted.power_w),
    }


def _interval(interval: Interval) -> dict[str, float]:
    return {"mean": interval.mean, "low": interval.low, "high": interval.high}


def _agreement(sla: SlaAnswer) -> dict[str, Any]:
    agreement = sla.agreement
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
        "price": None if sla.price is None else _price(sla.price),
    }


def _price(price: Price) -> dict[str, Any]:
    """The amount is text: a JSON number would be read as a float."""
    return {
        "amount": f"{price.amount:f}",
        "currency": price.currency,
        "basis": price.basis,
        "book_id": price.book_id,
        "quote": str(price),
    }
