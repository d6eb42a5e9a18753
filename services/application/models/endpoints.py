"""Create and change endpoints: their names, aliases and known paths."""

from uuid import UUID

from services.application.shared.jobs import EndpointsChanged
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.wire.inventory import Endpoint, EndpointChange, NewEndpoint


def create_endpoint(new: NewEndpoint, *, uow: UnitOfWork) -> Endpoint:
    """Create an endpoint, and notify every process.

    Raises
    ------
    Conflict : the name or an alias is taken, or occurs twice.
    """
    endpoint = uow.endpoints.add(new)
    uow.audit.note(
        "endpoint.created", endpoint.name, **new.model_dump(mode="json", exclude_none=True, exclude={"name"})
    )
    uow.publish(EndpointsChanged(uow.tenant_id))
    uow.commit()
    return endpoint


def update_endpoint(endpoint_id: UUID, change: EndpointChange, *, uow: UnitOfWork) -> Endpoint:
    """Change the fields that ``change`` has, and notify every process.

    Raises
    ------
    NotFound : the tenant has no such endpoint.
    Conflict : the name or an alias is taken, or occurs twice.
    """
    endpoint = uow.endpoints.change(endpoint_id, change)
    uow.audit.note("endpoint.changed", endpoint.name, **change.model_dump(mode="json", exclude_unset=True))
    uow.publish(EndpointsChanged(uow.tenant_id))
    uow.commit()
    return endpoint
