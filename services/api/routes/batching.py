"""``/v1/batching``: when to send queued jobs."""

from fastapi.concurrency import run_in_threadpool

from services.api.dependencies import AgentKey, Parts
from services.api.routing import create_v1_router
from services.application.access.authenticate import Principal
from services.application.advice.devices import find_radio
from services.application.transfers.owners import own_keys
from services.bootstrap import Container
from tradewind.mobile.batching import plan_batches
from tradewind.mobile.catalogue import load_shipped_catalogue
from tradewind.mobile.profiles import RadioProfile
from tradewind.wire.batching import BatchingAdvice, BatchingRequest

router = create_v1_router("/batching", "devices")


@router.post("/advise")
async def advise(batching_request: BatchingRequest, parts: Parts, principal: AgentKey) -> BatchingAdvice:
    """Advise bursts in which queued jobs share a radio's tail, without missing a deadline that can be met."""
    radio = await run_in_threadpool(_find_radio, batching_request, parts, principal)
    jobs, terms = batching_request.to_jobs(), batching_request.to_terms(radio)
    async with parts.planning_slots.hold(principal.tenant_id, principal.key_id):
        plan = await parts.computing.compute(plan_batches, jobs, terms)
    return BatchingAdvice.from_domain(plan, radio)


def _find_radio(batching_request: BatchingRequest, parts: Container, principal: Principal) -> RadioProfile:
    """Read the radio and end the transaction before the queue is planned, which takes up to seconds."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        keys = own_keys(principal, uow.owners)
        return find_radio(batching_request.radio, batching_request.device, load_shipped_catalogue(), uow=uow, keys=keys)
