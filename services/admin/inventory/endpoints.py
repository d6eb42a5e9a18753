"""*Endpoints*: end systems, their other names, the power policy that decides which energy counts, and the region."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Depends, Form, Request, Response

from services.admin.lists import Filters, FiltersOf, ListColumn, ListFilters, show_list
from services.admin.rendering import build_page_router, redirect_after_form, render_page
from services.admin.visitors import Parts, Provider, Signed
from services.application.access.authenticate import Scope
from services.application.models.endpoints import update_endpoint
from tradewind.sla.power_policy import PowerPolicy
from tradewind.wire.base import REGION_NAME
from tradewind.wire.inventory import Endpoint, EndpointChange

router = build_page_router("/endpoints")

HERE = "/admin/endpoints"

RegionChoice = Annotated[str, Form(pattern=f"^$|{REGION_NAME}")]
"""The name of a region, or nothing: none."""


COLUMNS: Mapping[str, ListColumn[Endpoint]] = MappingProxyType(
    {
        "name": ListColumn("Endpoint", lambda endpoint: endpoint.name),
        "aliases": ListColumn("Other names", lambda endpoint: ", ".join(endpoint.aliases) or None),
        "host": ListColumn("Its host", lambda endpoint: endpoint.power_policy),
        "energy": ListColumn("Energy that counts"),
        "region": ListColumn("Region of its electricity", lambda endpoint: endpoint.region or None),
    }
)


@router.get("")
def endpoints_page(
    request: Request,
    visit: Signed,
    parts: Parts,
    filters: Annotated[Filters[ListFilters], Depends(FiltersOf(ListFilters))],
) -> Response:
    """List endpoints with their power policies and regions."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        endpoints, basis = uow.endpoints.list_all(), uow.endpoints.choose_energy_basis()
        regions = [each.name for each in uow.regions.list_all()]
    return render_page(
        request,
        "endpoints.html",
        visit,
        endpoints=show_list(endpoints, COLUMNS, filters, text_of=lambda each: (each.name, *each.aliases, each.region)),
        policies=tuple(PowerPolicy),
        basis=basis,
        regions=regions,
        editable=visit.visitor.may(Scope.PROVIDER, Scope.OPERATOR),
    )


@router.post("/{endpoint_id}/policy")
def set_policy(
    request: Request,
    endpoint_id: UUID,
    visit: Provider,
    parts: Parts,
    policy: Annotated[PowerPolicy | Literal["unknown"], Form()],
) -> Response:
    """Set the power policy of an endpoint, or remove it."""
    power_policy = None if policy == "unknown" else policy
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        endpoint = update_endpoint(endpoint_id, EndpointChange(power_policy=power_policy), uow=uow)
    parts.snapshots.forget(visit.visitor.tenant_id)
    counts = f"the {power_policy.energy_basis}" if power_policy else "that of the other end, or the total"
    return redirect_after_form(request, HERE, f"At {endpoint.name} {counts} energy counts by default from now on.")


@router.post("/{endpoint_id}/region")
def set_region(
    request: Request, endpoint_id: UUID, visit: Provider, parts: Parts, region: RegionChoice = ""
) -> Response:
    """Set the electricity region of an endpoint, or none."""
    change = EndpointChange.model_validate({"region": region})
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        endpoint = update_endpoint(endpoint_id, change, uow=uow)
    parts.snapshots.forget(visit.visitor.tenant_id)
    where = f"is in {endpoint.region}" if endpoint.region else "is in no known region"
    return redirect_after_form(request, HERE, f"{endpoint.name} {where} from now on.")
