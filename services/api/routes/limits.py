"""``/v1/limits``: caps over all live transfers together, and those that agents learn from servers."""

from collections.abc import Sequence

from services.api.dependencies import AgentKey, AnyKey, Parts, ProviderKey
from services.api.routing import create_v1_router
from services.application.limits.caps import limit_from_wire, limit_to_wire, put_limit
from services.application.limits.learned_caps import LearnedCaps, note_learned_limit, to_wire
from tradewind.wire.limits import LearnedLimit, WireLimit

router = create_v1_router("/limits", "limits")


@router.get("")
def list_limits(parts: Parts, principal: AnyKey) -> Sequence[WireLimit]:
    """List all limits: the tenant's, then those of endpoints, then those of links, then those that agents learned.

    A customer's key reads the learned ones that bind it.
    """
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        limits = uow.limits.list_all()
        learned = LearnedCaps(uow.limits.list_learned())
    binding = learned.list_visible(principal.key_id if principal.is_customer else None)
    return [*map(limit_to_wire, limits), *map(to_wire, binding)]


@router.put("")
def set_limit(limit: WireLimit, parts: Parts, principal: ProviderKey) -> Sequence[WireLimit]:
    """Set or replace one limit, or remove it by giving no cap; live transfers follow at their next heartbeat."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        put_limit(limit_from_wire(limit), uow=uow)
    parts.snapshots.forget(principal.tenant_id)
    return list_limits(parts, principal)


@router.post("/learned", status_code=204)
def learn_limit(learned: LearnedLimit, parts: Parts, principal: AgentKey) -> None:
    """Note that the server of an endpoint has refused more connections than it permitted; the note lasts a day.

    It bounds recommendations for this key, and for all keys once another one has reported as little. Removing the
    endpoint's limit removes it.
    """
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        note_learned_limit(learned, principal.key_id, uow=uow, clock=parts.clock)
    parts.snapshots.forget(principal.tenant_id)
