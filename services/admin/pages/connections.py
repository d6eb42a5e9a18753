"""*Web connections*: how pages in browsers' logs used their connections, and what to change at their servers."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request, Response

from services.admin.charts.connections import (
    build_concurrency_chart,
    build_connection_chart,
    build_duration_chart,
    build_first_object_chart,
    build_idle_share_chart,
    build_volume_chart,
)
from services.admin.lists import Filters, FiltersOf, OlderThanId
from services.admin.rendering import build_page_router, encode_chart, render_page
from services.admin.visitors import Parts, Signed
from services.application.advice.connections import Distributions
from tradewind.connections.advice import MAX_ORIGINS, MAX_SERVERS
from tradewind.connections.rounds import FLD_THRESHOLD_BYTES
from tradewind.errors import NotFound

router = build_page_router("/connections")

PAGE = 25
NEWEST = 1_000
"""Loads that the charts cover."""

MOST_OBJECTS = 250_000
"""Objects of those loads in all, so that a page does not take seconds."""

SHOWN_CONNECTIONS = 60


@router.get("")
def connections_page(
    request: Request,
    visit: Signed,
    parts: Parts,
    filters: Annotated[Filters[OlderThanId], Depends(FiltersOf(OlderThanId))],
) -> Response:
    """Show distributions over the newest loads, as the paper's figures do, and the loads."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        loads = [] if filters.problem else uow.page_loads.list_page(limit=PAGE + 1, before=filters.values.before)
        found = uow.page_loads.compute_distributions(newest=NEWEST, objects=MOST_OBJECTS) if loads else None
    charts = {} if found is None else _build_charts(found)
    more = filters.build_address(before=loads[PAGE - 1].id) if len(loads) > PAGE else ""
    return render_page(
        request, "connections.html", visit, loads=loads[:PAGE], more=more, found=found, charts=charts,
        filters=filters,
    )  # fmt: skip


def _build_charts(found: Distributions) -> dict[str, str]:
    return {
        "volumes": encode_chart(build_volume_chart(found)),
        "idle": encode_chart(build_idle_share_chart(found)),
        "concurrency": encode_chart(build_concurrency_chart(found)),
        "first_objects": encode_chart(build_first_object_chart(found)) if found.first_objects_bytes else "",
        "durations": encode_chart(build_duration_chart(found)) if found.durations_s else "",
    }


@router.get("/{page_load_id}")
def load_page(request: Request, page_load_id: UUID, visit: Signed, parts: Parts) -> Response:
    """Show one load: its measures, what to change, and its connections over time."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        stored = uow.page_loads.find(page_load_id)
    if stored is None:
        raise NotFound("no such page load; it may have been removed")
    load = stored.page
    return render_page(
        request, "page_load.html", visit, stored=stored, load=load, threshold=FLD_THRESHOLD_BYTES,
        most_origins=MAX_ORIGINS, most_servers=MAX_SERVERS,
        flows={each.connection: each for each in load.lengths.short_flows},
        lines=encode_chart(build_connection_chart(load, most=SHOWN_CONNECTIONS)) if load.connections else "",
        shown=SHOWN_CONNECTIONS,
    )  # fmt: skip
