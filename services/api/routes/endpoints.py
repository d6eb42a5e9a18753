"""``/v1/endpoints``: end systems, their aliases, and what is known between them."""

from collections.abc import Sequence
from uuid import UUID

from services.api.dependencies import AnyKey, Parts, ProviderKey
from services.api.routing import OnceRoute, create_v1_router
from services.application.models.endpoints import create_endpoint, update_endpoint
from tradewind.wire.inventory import Endpoint, EndpointChange, NewEndpoint

router = create_v1_router("/endpoints", "endpoints", OnceRoute)


@router.get("")
def list_endpoints(parts: Parts, principal: AnyKey) -> Sequence[Endpoint]:
    """List all endpoints, by name."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return uow.endpoints.list_all()


@router.get("/{endpoint_id}")
def read_endpoint(endpoint_id: UUID, parts: Parts, principal: AnyKey) -> Endpoint:
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return uow.endpoints.get(endpoint_id)


@router.post("", status_code=201)
def add_endpoint(new: NewEndpoint, parts: Parts, principal: ProviderKey) -> Endpoint:
    """Create an endpoint with its aliases and what is known of the paths from it."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        endpoint = create_endpoint(new, uow=uow)
    parts.snapshots.forget(principal.tenant_id)
    return endpoint


@router.patch("/{endpoint_id}")
def change_endpoint(endpoint_id: UUID, change: EndpointChange, parts: Parts, principal: ProviderKey) -> Endpoint:
    """Change what is given; a former name stays as an alias. Logs that are stored already stay unchanged."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        endpoint = update_endpoint(endpoint_id, change, uow=uow)
    parts.snapshots.forget(principal.tenant_id)
    return endpoint
