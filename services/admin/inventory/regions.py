"""*Regions*: electricity prices and carbon intensities by hour, what is missing, and what transfers took of them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import Query, Request, Response

from services.admin.rendering import build_page_router, render_page
from services.admin.visitors import Parts, Signed
from services.application.grid.regions import list_regions
from tradewind.errors import NotFound
from tradewind.grid.hours import HOUR, Hour, HourlySeries

router = build_page_router("/regions")

SHOWN = timedelta(hours=36)
"""Of the hours that the page shows, from now on: as far as day-ahead prices reach."""
SUMMED = timedelta(days=30)

Choice = Annotated[str, Query(max_length=63)]


@router.get("")
def regions_page(request: Request, visit: Signed, parts: Parts, region: Choice = "") -> Response:
    """List all regions, the next hours of one, and the cost and carbon of the last month's transfers."""
    now = parts.clock.now()
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        regions = list_regions(uow=uow)
        shown = next((each for each in regions if each.name == region), None)
        if region and shown is None:
            raise NotFound(f"no region {region!r}; the page of regions lists those that there are")
        shown = shown or next(iter(regions), None)
        known = () if shown is None else uow.regions.list_hours(shown.name, now - HOUR, now + SHOWN)
        footprints = uow.regions.sum_footprints(now - SUMMED)
    return render_page(
        request,
        "regions.html",
        visit,
        regions=regions,
        shown=shown,
        hours=_fill_with_unknown(known, now),
        footprints=footprints,
    )


def _fill_with_unknown(known: Sequence[Hour], now: datetime) -> Sequence[Hour]:
    """Return an entry for each hour that is shown, without values where they are unknown; empty without any."""
    if not known:
        return ()
    series = HourlySeries.of(known)
    minute = known[0].starts_at.minute
    first = now.replace(minute=minute, second=0, microsecond=0)
    first = first if first <= now else first - HOUR
    times = [first + i * HOUR for i in range(SHOWN // HOUR)]
    return [series.find(at) or Hour(at) for at in times]
