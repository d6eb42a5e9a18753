"""``/v1/batching``: when to send queued jobs."""

from services.api.dependencies import AgentKey, Parts
from services.api.routing import v1_router
from services.application.devices import advise_batching
from tradewind.mobile.catalogue import shipped_catalogue
from tradewind.wire.batching import BatchingAdvice, BatchingRequest

router = v1_router("/batching", "devices")


@router.post("/advise")
def advise(asked: BatchingRequest, parts: Parts, principal: AgentKey) -> BatchingAdvice:
    """Bursts in which queued jobs share a radio's tail; no deadline that can be kept is missed for it."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        plan, radio = advise_batching(asked, shipped_catalogue(), uow=uow)
    return BatchingAdvice.of(plan, radio)
