"""*Links*: what was learned of each path, cluster by cluster, with the data it was learned from."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Query, Request, Response

from services.admin.charts.days import build_day_chart
from services.admin.charts.pareto import build_pareto_chart
from services.admin.charts.surface import (
    AXIS_NAMES,
    SurfaceQuantity,
    SurfaceSlice,
    build_heat_map,
    build_slice_chart,
    build_solid_chart,
)
from services.admin.inventory.link_list import CHOICES, LinkFilters, show_links
from services.admin.lists import Filters, FiltersOf
from services.admin.pages.tiers import find_link_basis
from services.admin.rendering import WITH_SHADERS, build_page_router, encode_chart, render_page
from services.admin.visitors import Parts, Signed
from services.application.access.authenticate import Scope
from services.application.logs.roll_up import RollUp
from services.application.models.current_cluster import find_current_cluster
from services.application.models.learned_model import LastFit
from services.application.models.link_labels import list_customers_by_label
from services.application.models.listed_links import read_links
from services.application.monitoring.metrics import Period, read_overview_metrics
from tradewind.sla.kinds import DEFAULT_CONFIDENCE, EnergyBasis
from tradewind.tiers.partitions import Partition, format_tier_name

router = build_page_router()


@router.get("/links")
def links_page(
    request: Request,
    visit: Signed,
    parts: Parts,
    filters: Annotated[Filters[LinkFilters], Depends(FiltersOf(LinkFilters))],
) -> Response:
    """List links, with how much is known of each."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        now = parts.clock.now()
        rows, customers_by_label = read_links(uow, now), list_customers_by_label(uow, now)
    return render_page(
        request,
        "links.html",
        visit,
        links=show_links(rows, filters),
        choices=CHOICES,
        all_labels=sorted({label for each in rows for label in each.labels}),
        may_label=visit.visitor.may(Scope.PROVIDER, Scope.OPERATOR),
        customers_by_label=customers_by_label,
    )


@router.get("/links/{link_id}")
def link_page(
    request: Request,
    link_id: UUID,
    visit: Signed,
    parts: Parts,
    period: Annotated[str, Query(alias="range")] = Period.MONTH,
) -> Response:
    """Show one link: what it has moved, and its clusters."""
    now = parts.clock.now()
    chosen = Period.parse(period)
    RollUp(parts.store.unit_of_work).update_for_page(visit.visitor.tenant_id)
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        link = uow.links.get(link_id)
        release = uow.releases.find_current()
        model = None if release is None else uow.models.find_outline(release, link_id)
        fit = LastFit() if release is None else uow.models.find_last_fit(release, link_id)
        metrics = read_overview_metrics(uow, release, now, link_id, period=chosen)
    return render_page(
        request,
        "link.html",
        visit,
        link=link,
        release=release,
        model=model,
        reason=fit.reason,
        verdict=fit.verdict,
        figures=metrics,
        periods=tuple(Period),
        moved=encode_chart(build_day_chart(metrics.days, metrics.ends)),
        confidence=DEFAULT_CONFIDENCE,
    )


@router.get("/clusters/{cluster_id}")
def cluster_page(
    request: Request,
    cluster_id: UUID,
    visit: Signed,
    parts: Parts,
    *,
    shown: SurfaceQuantity = SurfaceQuantity.THROUGHPUT,
    basis: EnergyBasis | None = None,
    confidence: Annotated[float, Query(ge=0, le=1)] = DEFAULT_CONFIDENCE,
) -> Response:
    """Show a cluster's surface, slices with the observed means, the trade-off and its tiers."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        release, model, leaf = find_current_cluster(cluster_id, uow)
        link = uow.links.get(model.link_id)
        basis = basis or find_link_basis(link, uow)
    metered = leaf.model.table.knows_power
    if not metered:
        shown = SurfaceQuantity.THROUGHPUT
    cut = SurfaceSlice.of(leaf.model, shown, _parse_numbers(request))
    tiers = [
        (format_tier_name(partition), partition, tier)
        for partition, tier in zip(leaf.model.partitions, leaf.tiers, strict=True)
        if partition.confidence == confidence and partition.energy_basis is basis
    ]
    response = render_page(
        request,
        "cluster.html",
        visit,
        link=link,
        leaf=leaf.model,
        release=release,
        fitted_at=model.fitted_at,
        cut=cut,
        shown=shown,
        measures=tuple(SurfaceQuantity) if metered else (SurfaceQuantity.THROUGHPUT,),
        axis_names=AXIS_NAMES,
        solid=encode_chart(build_solid_chart(cut)),
        heat=encode_chart(build_heat_map(cut)),
        slices=encode_chart(build_slice_chart(cut)),
        pareto=encode_chart(build_pareto_chart(leaf.model, confidence, basis)) if metered else None,
        tiers=tiers,
        confidence=confidence,
        basis=basis,
        bases=tuple(EnergyBasis),
        confidences=sorted({partition.confidence for partition in leaf.model.partitions}),
        bounds=_format_bounds,
    )
    response.headers.update(WITH_SHADERS)
    return response


def _parse_numbers(request: Request) -> dict[str, float]:
    """Return the values of axes in the address."""
    found = {}
    for name in AXIS_NAMES:
        try:
            found[name] = float(request.query_params.get(name, ""))
        except ValueError:
            continue
    return found


def _format_bounds(partition: Partition) -> str:
    """Return the tier's range in words."""
    return format_tier_name(partition).rpartition(" at ")[0]
