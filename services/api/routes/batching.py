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
async def advise(asked: BatchingRequest, parts: Parts, principal: AgentKey) -> BatchingAdvice:
    """Bursts in which queued jobs share a radio's tail; no deadline that can be kept is missed for it."""
    radio = await run_in_threadpool(_radio, asked, parts, principal)
    jobs, terms = asked.to_jobs(), asked.to_terms(radio)
    async with parts.planning_slots.hold(principal.tenant_id):
        plan = await run_in_threadpool(plan_batches, jobs, terms)
    return BatchingAdvice.from_domain(plan, radio)


def _radio(asked: BatchingRequest, parts: Container, principal: Principal) -> RadioProfile:
    """Read and let go of before the queue is planned, which takes up to seconds: no transaction waits for it."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        keys = own_keys(principal, uow.owners)
        return find_radio(asked.radio, asked.device, load_shipped_catalogue(), uow=uow, keys=keys)
