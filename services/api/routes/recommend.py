"""``POST /v1/recommend``: answered from memory; only a missing model is read from the database."""

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
from services.application.access.authenticate import Principal
from services.application.advice.compression import to_class_query, to_query
from services.application.advice.devices import KnownDevice, find_device
from services.application.billing.quote_consumer import StoredQuote
from services.application.recommend.device_power import ReceivingDevice
from services.application.recommend.lookup import answer_request, get_snapshot
from services.application.recommend.request import PricedRecommendation, TransferRequest
from services.application.recommend.snapshot import Snapshot
from services.application.transfers.owners import own_keys
from services.bootstrap import Container
from tradewind.errors import InvalidValue, NotFound, SpendingLimitReached
from tradewind.flags import list_flags_by_tool
from tradewind.mobile.catalogue import load_shipped_catalogue
from tradewind.parameters import NO_CAPS, Caps, Parameters
from tradewind.prediction import Interval, Prediction
from tradewind.recommendation import SlaAnswer, combine_settings
from tradewind.sla.pricing import Price
from tradewind.transfer import LinkKey
from tradewind.wire.compression import FullRecommendRequest, FullRecommendResponse
from tradewind.wire.recommendations import RecommendRequest

router = create_v1_router("", "recommend", DirectRoute)


@router.post("/recommend", response_model=FullRecommendResponse)
async def recommend_parameters(recommend_request: FullRecommendRequest, parts: Parts, principal: AgentKey) -> Response:
    """Recommend parameters for each chunk of a data set, with predictions and a table for tuning without the
    service.
    """
    transfer_request, priced = await find_recommendation(recommend_request, parts, principal)
    await _spend(priced, parts, principal)
    quote = StoredQuote.of(priced, transfer_request, key_id=principal.key_id, at=parts.clock.now())
    if quote is not None:
        parts.quotes.note(principal.tenant_id, quote)
    parts.metrics.recommended[priced.recommendation.source].inc()
    body = encode_answer(priced)
    regions = (await load_snapshot(parts, principal.tenant_id)).find_regions(transfer_request.link)
    if any(regions):
        body = append_field(body, b"regions", orjson.dumps(dict(zip(("source", "destination"), regions, strict=True))))
    if recommend_request.compression is not None:
        advice = await get_advice(to_query(recommend_request.compression), parts, principal.tenant_id)
        body = append_field(body, b"compression", advice.model_dump_json().encode())
    if recommend_request.file_classes:
        made, path = priced.recommendation, transfer_request.path
        advices = [
            await get_advice(to_class_query(file_class, made, path), parts, principal.tenant_id)
            for file_class in recommend_request.file_classes
        ]
        body = append_field(body, b"file_classes", b"[%b]" % b",".join(a.model_dump_json().encode() for a in advices))
    return Response(body, media_type="application/json")


async def _spend(priced: PricedRecommendation, parts: Container, principal: Principal) -> None:
    """Count a priced quote as spent, or refuse it; customers without a limit cost a look-up."""
    price = priced.recommendation.sla.price
    if price is None:
        return
    snapshot = await load_snapshot(parts, principal.tenant_id)
    limit = snapshot.index.prices.find_limit(principal.key_id)
    if limit is None:
        return
    try:
        await parts.spending_limits.spend(
            principal.tenant_id, limit, price, transfer_id=priced.recommendation.transfer_id, now=parts.clock.now()
        )
    except SpendingLimitReached:
        parts.metrics.recommendations_beyond_limit.inc()
        raise


def append_field(body: bytes, name: bytes, value: bytes) -> bytes:
    """Append a field to the answer; answers without it cost nothing extra."""
    return b'%b,"%b":%b}' % (body[:-1], name, value)


async def find_recommendation(
    recommend_request: RecommendRequest, parts: Container, principal: Principal
) -> tuple[TransferRequest, PricedRecommendation]:
    """Return the request in the types of the domain and its answer, after the look-ups that it needs.

    Raises
    ------
    InvalidValue : the caller knows no such device.
    """
    device = None
    if recommend_request.device is not None:
        device = await _find_device(recommend_request.device, recommend_request.network, parts, principal)
    caps = NO_CAPS if device is None else device.profile.caps
    transfer_request = to_transfer_request(recommend_request, principal.weight, principal.key_id, caps)
    priced = await answer_request(
        transfer_request,
        principal.tenant_id,
        snapshots=parts.snapshots,
        lookups=parts.lookups,
        unknown_path_lock=parts.unknown_path_lock,
        new_transfer_id=uuid4,
    )
    if device is not None:
        priced = device.add_power(priced, transfer_request.dataset.total_bytes)
    return transfer_request, priced


async def _find_device(name: str, network: str | None, parts: Container, principal: Principal) -> ReceivingDevice:
    """Read a device's profile from the store: few requests name one."""

    def read() -> KnownDevice:
        with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
            return find_device(name, load_shipped_catalogue(), uow=uow, keys=own_keys(principal, uow.owners))

    try:
        found = await parts.lookups.run(("device", principal.tenant_id, principal.key_id, name), read)
    except NotFound as missing:
        raise InvalidValue("device", str(missing)) from None
    return ReceivingDevice.of(found.profile, network)


async def load_snapshot(parts: Container, tenant_id: UUID) -> Snapshot:
    """Return the tenant's snapshot, read again where none is fresh."""
    return await get_snapshot(tenant_id, snapshots=parts.snapshots, lookups=parts.lookups)


def to_transfer_request(
    recommend_request: RecommendRequest, weight: float = 1.0, key_id: UUID | None = None, caps: Caps = NO_CAPS
) -> TransferRequest:
    """Return the request in the types of the domain, within its own limits and these caps."""
    return TransferRequest(
        link=LinkKey(
            recommend_request.source, recommend_request.destination, recommend_request.network, recommend_request.mover
        ),
        dataset=recommend_request.dataset.to_dataset(),
        bins=recommend_request.dataset.list_bins(),
        sla=recommend_request.sla.to_sla(),
        path=recommend_request.to_path(),
        load=recommend_request.load,
        caps=caps.tighten(recommend_request.limits.to_caps()) if recommend_request.limits else caps,
        weight=weight,
        key_id=key_id,
        rate_limit_bps=recommend_request.rate_limit_bps,
    )


def encode_answer(priced: PricedRecommendation) -> bytes:
    """Return the answer as JSON in the form of ``RecommendResponse``; tables are inserted as they are."""
    made = priced.recommendation
    settings = _encode_settings(tuple([chunk.parameters for chunk in made.plan]))
    body = {
        "transfer_id": made.transfer_id,
        "parameters": settings.combined,
        "chunks": [
            {"chunk": chunk.chunk, "max_file_bytes": chunk.max_file_bytes, "parameters": parameters}
            for chunk, parameters in zip(made.plan, settings.of_chunks, strict=True)
        ],
        "predicted": _encode_prediction(made.predicted),
        "sla": _encode_sla(made.sla),
        "table": {str(chunk): orjson.Fragment(table) for chunk, table in priced.table_json.items()},
        "rationale": made.rationale,
        "release": made.release,
        "source": made.source,
        "nearest_data_distance": made.nearest_data_distance,
        "flags": settings.flags,
        "not_expressible": settings.not_expressible,
    }
    return orjson.dumps(body)


@dataclass(frozen=True, slots=True)
class _EncodedSettings:
    """The settings of a plan as JSON: one for each chunk, one for all, and that one as flags of tools."""

    of_chunks: tuple[orjson.Fragment, ...]
    combined: orjson.Fragment
    flags: orjson.Fragment
    not_expressible: orjson.Fragment


@lru_cache(maxsize=4096)
def _encode_settings(settings: tuple[Parameters, ...]) -> _EncodedSettings:
    """Encode the settings; cached, because settings are few and repeat."""
    combined = combine_settings(settings)
    flags, not_expressible = list_flags_by_tool(combined)
    return _EncodedSettings(
        of_chunks=tuple(_encode_json(setting.list_known()) for setting in settings),
        combined=_encode_json(combined.list_known()),
        flags=_encode_json(flags),
        not_expressible=_encode_json(not_expressible),
    )


def _encode_json(value: Any) -> orjson.Fragment:
    return orjson.Fragment(orjson.dumps(value))


def _encode_prediction(predicted: Prediction) -> dict[str, Any]:
    """Return the intervals as mappings: orjson takes three times as long over data classes with slots."""
    return {
        "throughput_bps": _encode_interval(predicted.throughput_bps),
        "energy_j": None if predicted.energy_j is None else _encode_interval(predicted.energy_j),
        "power_w": None if predicted.power_w is None else _encode_interval(predicted.power_w),
    }


def _encode_interval(interval: Interval) -> dict[str, float]:
    return {"mean": interval.mean, "low": interval.low, "high": interval.high}


def _encode_sla(sla: SlaAnswer) -> dict[str, Any]:
    requested = sla.sla
    return {
        "kind": requested.kind,
        "target": requested.target,
        "fraction": requested.fraction,
        "confidence": requested.confidence,
        "energy_basis": requested.energy_basis,
        "probability": sla.probability,
        "feasible": sla.feasible,
        "tier_id": sla.tier_id,
        "tier": sla.tier,
        "price": None if sla.price is None else _encode_price(sla.price),
    }


def _encode_price(price: Price) -> dict[str, Any]:
    """Return the price; its amount is text, because a JSON number would be read as a float."""
    return {
        "amount": f"{price.amount:f}",
        "currency": price.currency,
        "basis": price.basis,
        "book_id": price.book_id,
        "quote": str(price),
        "credit": f"{price.credit:f}",
    }
