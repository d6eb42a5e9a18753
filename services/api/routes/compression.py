"""``/v1/compression``: advice on codecs, and what transfers observed of them."""

from asyncio import to_thread
from functools import partial
from uuid import UUID

from services.api.dependencies import AgentKey, AnyKey, Parts
from services.api.routing import create_v1_router
from services.application.advice.compression import advise_from_history, store_observations, to_query
from services.bootstrap import Container
from tradewind.compression.advice import CompressionQuery
from tradewind.wire.compression import AdviceAnswer, AdviceRequest, NewObservations, ObservationsReceipt

router = create_v1_router("/compression", "compression")


@router.post("/advise")
async def advise_compression(advice_request: AdviceRequest, parts: Parts, principal: AnyKey) -> AdviceAnswer:
    """Advise codec, level and mode for a file on a path, or the raw transfer where that is better."""
    return await get_advice(to_query(advice_request), parts, principal.tenant_id)


@router.post("/observations", status_code=201)
def add_observations(new: NewObservations, parts: Parts, principal: AgentKey) -> ObservationsReceipt:
    """Store what codecs did with transferred files; an observation that is sent again is stored once."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        added = store_observations(new.observations, uow=uow, clock=parts.clock)
    if added:
        parts.histories.forget(principal.tenant_id)
    return ObservationsReceipt(kept=added)


async def get_advice(question: CompressionQuery, parts: Container, tenant_id: UUID) -> AdviceAnswer:
    """Return the advice, after reading the tenant's history where it is not in memory."""
    held = parts.histories.find_cached(tenant_id)
    if held is None:
        key = ("compression", tenant_id, parts.histories.count_changes(tenant_id))
        held = await parts.lookups.run(key, partial(parts.histories.load, tenant_id))
    given = await to_thread(advise_from_history, question, *held)  # some milliseconds: others are answered meanwhile
    return AdviceAnswer.from_domain(given.advice, sampled=given.sampled, source=given.source)
