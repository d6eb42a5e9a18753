"""``/v1/links`` and ``/v1/clusters``: what was learned of each link, in the current release."""

import math
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from services.api.dependencies import AnyKey, Parts, ProviderKey, StaffKey
from services.api.routing import create_v1_router
from services.application.logs.roll_up import RollUp
from services.application.models.current_cluster import find_current_cluster
from services.application.models.learned_model import ModelOverview, StoredLeaf, StoredLink
from services.application.models.link_labels import set_labels
from services.application.monitoring.gain import read_gain_report
from services.application.monitoring.gain_document import to_wire_report
from tradewind.model import LeafModel
from tradewind.tiers.partitions import Partition
from tradewind.wire.gain import GainReport
from tradewind.wire.inventory import Cluster, FitVerdict, Link, SlaPartition, Surface
from tradewind.wire.price_rules import LinkLabels, LinkLabelsOf
from tradewind.wire.recommendations import to_wire_parameters

router = create_v1_router("", "links")


@router.get("/links")
def list_links(parts: Parts, principal: AnyKey) -> Sequence[Link]:
    """List all links, with how much is known of each."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        release = uow.releases.find_current()
        overviews = uow.models.list_overviews(release) if release is not None else {}
        reasons = uow.models.list_reasons(release) if release is not None else {}
        verdicts = uow.models.list_verdicts(release) if release is not None else {}
        return [
            _link(link, release, overviews.get(link.id), reason=reasons.get(link.id), verdict=verdicts.get(link.id))
            for link in uow.links.list_all()
        ]


@router.get("/links/gain")
def report_gain(parts: Parts, principal: StaffKey) -> GainReport:
    """Return what tuning would have gained on the links with most transfer time, those first that would save most."""
    RollUp(parts.store.unit_of_work).update_for_page(principal.tenant_id)
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return to_wire_report(read_gain_report(uow, parts.clock.now()))


@router.get("/links/{link_id}/labels")
def read_labels(link_id: UUID, parts: Parts, principal: StaffKey) -> LinkLabelsOf:
    """Return the labels of a link, by which price rules choose it."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        uow.links.get(link_id)
        return LinkLabelsOf(link_id=link_id, labels=tuple(uow.links.list_labels().get(link_id, ())))


@router.put("/links/{link_id}/labels")
def put_labels(link_id: UUID, new: LinkLabels, parts: Parts, principal: ProviderKey) -> LinkLabelsOf:
    """Set all labels of a link. Drafts follow when their rules are set again, and when they are published.

    Negotiated prices of customers that choose links by label change at once.
    """
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        set_labels(link_id, new.labels, uow=uow, now=parts.clock.now())
    parts.snapshots.forget(principal.tenant_id)
    return LinkLabelsOf(link_id=link_id, labels=tuple(sorted(set(new.labels))))


@router.get("/links/{link_id}/clusters")
def list_clusters(link_id: UUID, parts: Parts, principal: AnyKey) -> Sequence[Cluster]:
    """List the clusters of the link's transfers; none before its first release."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        link = uow.links.get(link_id)
        release = uow.releases.find_current()
        model = uow.models.of_link(release, link.id) if release is not None else None
    if release is None or model is None:
        return []
    return [_cluster(leaf, link_id, release) for leaf in model.leaves]


@router.get("/clusters/{cluster_id}/surface")
def read_surface(cluster_id: UUID, parts: Parts, principal: AnyKey) -> Surface:
    """Return the lattice of a cluster of the current release, the observed means, and its SLA partitions."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        found = find_current_cluster(cluster_id, uow)
    return _build_surface(found.leaf, found.release)


def _link(
    link: StoredLink,
    release: int | None,
    overview: ModelOverview | None,
    *,
    reason: str | None,
    verdict: Mapping[str, Any] | None,
) -> Link:
    return Link(
        id=link.id,
        source=link.key.source,
        destination=link.key.destination,
        network=link.key.network,
        mover=link.key.mover,
        rows=link.rows,
        last_log_at=link.last_log_at,
        release=release if overview else None,
        clusters=overview.clusters if overview else 0,
        bandwidth_bps=overview.path.bandwidth_bps if overview else None,
        rtt_s=overview.path.rtt_s if overview else None,
        reason=reason,
        verdict=None if verdict is None else FitVerdict(**verdict),
        refit_rows=link.refit_rows,
        refit_at=link.refit_at,
    )


def _cluster(leaf: StoredLeaf, link_id: UUID, release: int) -> Cluster:
    centre = leaf.model.leaf
    return Cluster(
        id=leaf.cluster_id,
        link_id=link_id,
        release=release,
        rows=centre.row_count,
        mean_file_bytes=2.0**centre.log2_mean_file_bytes,
        mean_file_count=2.0**centre.log2_file_count,
        load=centre.load,
        accuracy=dict(leaf.model.accuracy),
    )


def _build_surface(leaf: StoredLeaf, release: int) -> Surface:
    model = leaf.model
    power_w = _list_power_w(model)
    return Surface(
        cluster_id=leaf.cluster_id,
        release=release,
        axes={axis: model.lattice.values[axis] for axis in model.lattice.axes},
        log_throughput_mean=tuple(each.log_throughput_mean for each in model.table.settings),
        log_throughput_sd=tuple(each.log_throughput_sd for each in model.table.settings),
        power_w_mean=tuple(mean for mean, _ in power_w) if power_w else None,
        power_w_sd=tuple(sd for _, sd in power_w) if power_w else None,
        certified=tuple(each.certified for each in model.table.settings),
        observed=tuple(_list_observed(model)),
        partitions=tuple(
            _build_partition(partition, tier.id) for partition, tier in zip(model.partitions, leaf.tiers, strict=True)
        ),
    )


def _list_power_w(model: LeafModel) -> list[tuple[float, float]]:
    """Return mean and sd of the log-normal power, W; empty where no power was metered."""
    moments = []
    for each in model.table.settings:
        if each.log_power_mean is None:
            return []
        variance = each.log_power_sd**2
        mean = math.exp(each.log_power_mean + variance / 2)
        moments.append((mean, mean * math.sqrt(math.expm1(variance))))
    return moments


def _list_observed(model: LeafModel) -> list[dict[str, float]]:
    shown = []
    for each in model.observed:
        values = {name: value for name, value in each.parameters.list_known().items() if not isinstance(value, str)}
        values |= {"rows": each.rows, "log_throughput_mean": each.log_throughput_mean}
        if each.power_w_mean is not None:
            values["power_w_mean"] = each.power_w_mean
        shown.append(values)
    return shown


def _build_partition(partition: Partition, tier_id: UUID) -> SlaPartition:
    return SlaPartition(
        id=tier_id,
        kind=partition.kind,
        confidence=partition.confidence,
        energy_basis=partition.energy_basis,
        lower=partition.lower,
        upper=partition.upper,
        parameters=to_wire_parameters(partition.parameters),
        probability=partition.probability,
    )
