"""``/v1/regions``: hourly prices and carbon intensities of electricity; ``/v1/grid``: those of a transfer's ends."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

from fastapi import Path, Query

from services.api.dependencies import AnyKey, Parts, ProviderKey
from services.api.routing import create_v1_router
from services.application.grid.regions import get_region, list_regions, read_grid, remove_region, upload_hours
from tradewind.grid.schedule import LONGEST_WAIT
from tradewind.wire.base import Instant, Name
from tradewind.wire.regions import (
    Grid,
    Region,
    RegionHours,
    RegionName,
    RegionUpload,
    UploadedHours,
    to_wire_hours,
)

router = create_v1_router("/regions", "regions")
grid_router = create_v1_router("/grid", "regions")

MOST_HOURS = 24 * 31
"""Hours that an answer has: a month."""

PlaceName = Annotated[RegionName, Path()]
Begin = Annotated[Instant | None, Query(description="First instant of interest; by default now.")]
HourCount = Annotated[int, Query(ge=1, le=MOST_HOURS, description="Hours from then on.")]


@router.get("")
def list_all_regions(parts: Parts, principal: AnyKey) -> Sequence[Region]:
    """List all regions, by name, with what is missing between their hours."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return list_regions(uow=uow)


@router.get("/{region}")
def read_region(
    region: PlaceName, parts: Parts, principal: AnyKey, begin: Begin = None, hours: HourCount = 48
) -> RegionHours:
    """Return a region with its hours from a time on."""
    start = begin or parts.clock.now()
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        found = get_region(region, uow=uow)
        known = uow.regions.list_hours(region, start - timedelta(hours=1), start + timedelta(hours=hours))
    return RegionHours(region=found, hours=to_wire_hours(known))


@router.put("/{region}")
def upload_region(region: PlaceName, upload: RegionUpload, parts: Parts, principal: ProviderKey) -> UploadedHours:
    """Store hours of a region, which is created with the first; hours of the same begin are replaced.

    422 names the hour that is wrong: a duplicate, an overlap, no time zone, a negative carbon intensity. Prices may be
    negative. Missing hours are counted as gaps and stay unknown.
    """
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        return upload_hours(region, upload, uow=uow)


@router.delete("/{region}", status_code=204)
def delete_region(region: PlaceName, parts: Parts, principal: ProviderKey) -> None:
    """Remove a region with its hours; 409 while endpoints are in it."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        remove_region(region, uow=uow)


@grid_router.get("")
def read_grid_of_transfer(
    source: Annotated[Name, Query()],
    destination: Annotated[Name, Query()],
    parts: Parts,
    principal: AnyKey,
    *,
    begin: Begin = None,
    hours: HourCount = LONGEST_WAIT // timedelta(hours=1),
) -> Grid:
    """Return the electricity of both ends of a transfer; an end whose region is unknown has none."""
    start = begin or parts.clock.now()
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return read_grid(source, destination, start, start + timedelta(hours=hours), uow=uow)
