"""*SLA tiers → change tier limits*: merge, split and adjust tiers of a cluster, and see the effect before saving."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Form, Query, Request, Response

from services.admin.formatting.bounds_forms import SCALES, format_bound, list_typed_tiers, parse_boundaries
from services.admin.pages.tiers import HERE, find_link_basis
from services.admin.rendering import build_page_router, redirect_after_form, render_page
from services.admin.visitors import Parts, Provider
from services.application.models.current_cluster import find_current_cluster
from services.application.models.custom_tiers import (
    BoundaryPreview,
    BoundedTier,
    list_cluster_tiers,
    preview_boundaries,
    reset_boundaries,
    set_boundaries,
)
from services.application.models.learned_model import StoredLeaf
from services.application.models.sla_tiers import format_cluster
from tradewind.errors import InvalidValue, NotFound
from tradewind.prediction import predict
from tradewind.sla.kinds import CONFIDENCES, DEFAULT_CONFIDENCE, EnergyBasis, SlaKind
from tradewind.tiers.custom import MAX_TIERS
from tradewind.tiers.partitions import PartitionKey, format_tier_name
from tradewind.units import GB

router = build_page_router(f"{HERE.removeprefix('/admin')}/{{cluster_id}}/{{kind}}")

Confidence = Annotated[float, Query(ge=0, le=1)]
Bounds = Annotated[list[str], Query(max_length=2 * MAX_TIERS)]
SentBounds = Annotated[list[str], Form(max_length=2 * MAX_TIERS)]


class Row(NamedTuple):
    """A tier as the tables show it; ``merged``, ``split`` : addresses that show the effect of doing so."""

    each: BoundedTier
    name: str
    lower: str
    upper: str
    throughput_bps: float
    j_per_gb: float | None
    merged: str | None
    split: str | None


@router.get("")
def tier_limits_page(
    request: Request,
    cluster_id: UUID,
    kind: SlaKind,
    visit: Provider,
    parts: Parts,
    *,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    basis: EnergyBasis | None = None,
    lower: Annotated[Bounds, Query(alias="from")] = [],  # noqa: B006 - the framework's own way
    upper: Annotated[Bounds, Query(alias="to")] = [],  # noqa: B006
) -> Response:
    """Show the tiers as they are, and as the limits in the address would make them."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        _, model, leaf = find_current_cluster(cluster_id, uow)
        link = uow.links.get(model.link_id)
        key = _build_key(kind, confidence, basis or find_link_basis(link, uow))
        names = uow.custom_tiers.list_names()
    known, scale = _list_edges(leaf, key), SCALES[kind]
    centre = leaf.model.leaf
    framed: dict[str, Any] = {
        "link": link,
        "cluster_id": cluster_id,
        "cluster": format_cluster(centre.log2_file_count, centre.log2_mean_file_bytes, centre.load),
        "version": model.id,
        "key": key,
        "unit": scale.unit,
    }

    def build_rows(tiers: Sequence[BoundedTier]) -> Sequence[Row]:
        edges = (tiers[0].partition.lower, *(each.partition.upper for each in tiers))
        return [_build_row(n, each, edges, key=key, leaf=leaf, names=names) for n, each in enumerate(tiers)]

    try:
        cuts = parse_boundaries(upper, known=known, scale=scale, from_=lower) if upper else known[1:-1]
        effect = preview_boundaries(leaf, key, cuts)
    except InvalidValue as wrong:
        typed = list_typed_tiers(upper, wrong, known=known, scale=scale)
        framed |= {
            "typed": typed,
            "wrong": wrong.reason,
            "before": build_rows(preview_boundaries(leaf, key, known[1:-1]).before),
        }
        return render_page(request, "tier_limits.html", visit, status=HTTPStatus.UNPROCESSABLE_ENTITY, **framed)
    changed = [each.partition.upper for each in effect.after] != [each.partition.upper for each in effect.before]
    return render_page(
        request,
        "tier_limits.html",
        visit,
        **framed,
        typed=(),
        before=build_rows(effect.before),
        after=build_rows(effect.after),
        changed=changed,
        gone=_list_ended_tiers(effect, names),
        summary=_build_summary(effect),
    )


@router.post("")
def save_limits(
    request: Request,
    cluster_id: UUID,
    kind: SlaKind,
    visit: Provider,
    parts: Parts,
    *,
    version: Annotated[UUID, Form()],
    confidence: Annotated[float, Form(ge=0, le=1)],
    basis: Annotated[EnergyBasis, Form()],
    lower: Annotated[SentBounds, Form(alias="from")] = [],  # noqa: B006
    upper: Annotated[SentBounds, Form(alias="to")] = [],  # noqa: B006
) -> Response:
    """Save other limits."""
    key = _build_key(kind, confidence, basis)
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        leaf = find_current_cluster(cluster_id, uow).leaf
        cuts = parse_boundaries(upper, known=_list_edges(leaf, key), scale=SCALES[kind], from_=lower)
        now = set_boundaries(cluster_id, key, cuts, version=version, uow=uow, clock=parts.clock)
    parts.snapshots.forget(visit.visitor.tenant_id)
    return redirect_after_form(
        request,
        _build_address(now, key),
        "These tiers hold from now on, also when the model of the link is fitted again.",
    )


@router.post("/proposed")
def propose_limits(
    request: Request,
    cluster_id: UUID,
    kind: SlaKind,
    visit: Provider,
    parts: Parts,
    *,
    confidence: Annotated[float, Form(ge=0, le=1)],
    basis: Annotated[EnergyBasis, Form()],
) -> Response:
    """Let the next fit propose its own limits."""
    key = _build_key(kind, confidence, basis)
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        reset_boundaries(cluster_id, key, uow=uow)
    return redirect_after_form(
        request,
        _build_address(cluster_id, key),
        "When the model of this link is fitted again, it proposes its own limits.",
    )


def _build_key(kind: SlaKind, confidence: float, basis: EnergyBasis) -> PartitionKey:
    if kind not in SCALES:
        raise InvalidValue("kind", f"{kind} has no targets that could be cut into tiers")
    if confidence not in CONFIDENCES:
        raise InvalidValue("confidence", f"is none of {', '.join(map(str, CONFIDENCES))}")
    return PartitionKey(kind, confidence, basis)


def _list_edges(leaf: StoredLeaf, key: PartitionKey) -> Sequence[float]:
    held = list_cluster_tiers(leaf, key)
    if not held:
        raise NotFound("the cluster has no such tiers")
    return [held[0].partition.lower, *(each.partition.upper for each in held)]


def _build_row(
    n: int, each: BoundedTier, edges: Sequence[float], *, key: PartitionKey, leaf: StoredLeaf, names: Mapping[UUID, str]
) -> Row:
    scale, partition = SCALES[key.kind], each.partition
    expected = predict(
        partition.setting, dataset_bytes=GB, basis=key.energy_basis, base_power_w=leaf.model.table.base_power_w
    )
    last = n == len(edges) - 2
    middle = (partition.lower * partition.upper) ** 0.5 if partition.lower > 0 else partition.upper / 2
    return Row(
        each,
        names.get(each.tier.id, format_tier_name(partition)),
        format_bound(partition.lower, scale),
        format_bound(partition.upper, scale),
        expected.throughput_bps.mean,
        None if expected.energy_j is None else expected.energy_j.mean,
        None if last else _build_address(leaf.cluster_id, key, [*edges[: n + 1], *edges[n + 2 :]]),
        None
        if len(edges) > MAX_TIERS
        else _build_address(leaf.cluster_id, key, [*edges[: n + 1], middle, *edges[n + 1 :]]),
    )


def _build_address(cluster_id: UUID, key: PartitionKey, edges: Sequence[float] = ()) -> str:
    scale = SCALES[key.kind]
    parameters: list[tuple[str, str | float]] = [("confidence", key.confidence), ("basis", key.energy_basis)]
    parameters += [("to", format_bound(edge, scale)) for edge in edges[1:]]
    return f"{HERE}/{cluster_id}/{key.kind}?{urlencode(parameters)}"


def _list_ended_tiers(effect: BoundaryPreview, names: Mapping[UUID, str]) -> Sequence[str]:
    """Return the tiers that nothing continues: their prices are no longer quoted."""
    remaining_ids = {each.tier.id for each in effect.after}
    return [
        names.get(each.tier.id, format_tier_name(each.partition))
        for each in effect.before
        if each.tier.id not in remaining_ids
    ]


def _build_summary(effect: BoundaryPreview) -> Sequence[tuple[str, float, float]]:
    """Return the loss against a setting of its own for each target (regret), before and after, over all tiers equally,
    as shares.
    """
    before, after = ([each.partition.regret for each in side] for side in (effect.before, effect.after))
    return [
        ("Loss, mean of the tiers", sum(before) / len(before), sum(after) / len(after)),
        ("Loss of the worst tier", max(before), max(after)),
    ]
