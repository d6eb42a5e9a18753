"""``/v1/limits``: caps over all live transfers together."""

from collections.abc import Sequence

from services.api.dependencies import AnyKey, Parts, ProviderKey
from services.api.routing import create_v1_router
from services.application.limits.caps import limit_from_wire, limit_to_wire, put_limit
from tradewind.wire.limits import WireLimit

router = create_v1_router("/limits", "limits")


@router.get("")
def list_limits(parts: Parts, principal: AnyKey) -> Sequence[WireLimit]:
    """List all limits: the tenant's, then those of endpoints, then those of links."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return [limit_to_wire(limit) for limit in uow.limits.list_all()]


@router.put("")
def set_limit(limit: WireLimit, parts: Parts, principal: ProviderKey) -> Sequence[WireLimit]:
    """Set or replace one limit, or remove it by giving no cap; live transfers follow at their next heartbeat."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        limits = put_limit(limit_from_wire(limit), uow=uow)
    parts.snapshots.forget(principal.tenant_id)
    return [limit_to_wire(each) for each in limits]
