"""What was learned of links: models with their clusters, surfaces and SLA partitions. A stored model never changes."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Connection, Row, insert, select

from services.application.refresh_models import StoredModel
from services.persistence.tables import clusters, current_releases, link_models, release_links, sla_partitions, surfaces
from tradewind.cluster import Leaf
from tradewind.errors import NotFound
from tradewind.model import LeafModel, LinkModel, ObservedSetting
from tradewind.parameters import Lattice, Parameters
from tradewind.path import Path
from tradewind.prediction import PredictedSetting
from tradewind.selection import SettingTable
from tradewind.sla import EnergyBasis, SlaKind
from tradewind.sla_partitions import Match, Partition, match_partitions

_PATH = ("bandwidth_bps", "rtt_s", "min_rtt_s", "loss_rate", "buffer_bytes")


class Models:
    """Models of one tenant's links."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def in_force(self, link_id: UUID) -> StoredModel | None:
        """The link's model in the release in force."""
        model_id = self._connection.execute(
            select(release_links.c.link_model_id)
            .join(current_releases, current_releases.c.release_id == release_links.c.release_id)
            .where(release_links.c.link_id == link_id)
        ).scalar_one_or_none()
        return None if model_id is None else self.get(model_id)

    def get(self, model_id: UUID) -> StoredModel:
        """The model.

        Raises
        ------
        NotFound : the tenant has none of this id.
        """
        head = self._connection.execute(select(link_models).where(link_models.c.id == model_id)).one_or_none()
        if head is None:
            raise NotFound("no such model")
        rows = self._connection.execute(
            select(clusters, surfaces)
            .join(surfaces, surfaces.c.cluster_id == clusters.c.id)
            .where(clusters.c.link_model_id == model_id)
            .order_by(clusters.c.ordinal)
        ).all()
        partitions: dict[UUID, list[Row[Any]]] = defaultdict(list)
        for partition in self._connection.execute(
            select(sla_partitions)
            .where(sla_partitions.c.cluster_id.in_([row.id for row in rows]))
            .order_by(sla_partitions.c.cluster_id, sla_partitions.c.ordinal)
        ):
            partitions[partition.cluster_id].append(partition)
        return StoredModel(
            id=model_id,
            model=LinkModel(
                path=Path(**{name: getattr(head, name) for name in _PATH}),
                leaves=tuple(_leaf(row, partitions[row.id]) for row in rows),
                rows=head.rows,
                load_median=head.load_median,
                unknown_bps=head.unknown_bps,
                failures=tuple(head.failures),
            ),
            cluster_ids=tuple(row.id for row in rows),
            tier_ids=tuple(tuple(each.tier_id for each in partitions[row.id]) for row in rows),
        )

    def add(self, link_id: UUID, model: LinkModel, *, before: StoredModel | None, at: datetime) -> UUID:
        """Store a model; its tiers continue those of the model before, where they overlap."""
        model_id, tenant = uuid4(), {"tenant_id": self._tenant_id}
        path = {name: getattr(model.path, name) for name in _PATH}
        self._connection.execute(
            insert(link_models).values(
                id=model_id,
                link_id=link_id,
                fitted_at=at,
                rows=model.rows,
                load_median=model.load_median,
                unknown_bps=model.unknown_bps,
                failures=list(model.failures),
                **path,
                **tenant,
            )
        )
        ids = [uuid4() for _ in model.leaves]
        numbered = list(zip(ids, model.leaves, strict=True))
        self._connection.execute(
            insert(clusters),
            [
                tenant | {"id": id_, "link_model_id": model_id, "ordinal": i} | _cluster(leaf)
                for i, (id_, leaf) in enumerate(numbered)
            ],
        )
        self._connection.execute(
            insert(surfaces), [tenant | {"cluster_id": id_} | _surface(leaf) for id_, leaf in numbered]
        )
        found = [
            tenant | {"cluster_id": id_, "ordinal": i} | row
            for id_, leaf in numbered
            for i, row in enumerate(_partitions(leaf, before))
        ]
        if found:
            self._connection.execute(insert(sla_partitions), found)
        return model_id


def _cluster(leaf: LeafModel) -> dict[str, Any]:
    return {
        "dataset_tier": leaf.leaf.dataset_tier,
        "load_tier": leaf.leaf.load_tier,
        "log2_mean_file_bytes": leaf.leaf.log2_mean_file_bytes,
        "log2_file_count": leaf.leaf.log2_file_count,
        "load": leaf.leaf.load,
        "rows": leaf.leaf.row_count,
        "accuracy": dict(leaf.accuracy),
        "queueing_delay_p90_s": dict(leaf.queueing_delay_p90_s),
        "loss_baseline": leaf.loss_baseline,
    }


def _surface(leaf: LeafModel) -> dict[str, Any]:
    settings = leaf.table.settings
    powered = leaf.table.knows_power
    return {
        "axes": {axis: list(leaf.lattice.values[axis]) for axis in leaf.lattice.axes},
        "log_throughput_mean": [each.log_throughput_mean for each in settings],
        "log_throughput_sd": [each.log_throughput_sd for each in settings],
        "log_power_mean": [each.log_power_mean for each in settings] if powered else None,
        "log_power_sd": [each.log_power_sd for each in settings] if powered else None,
        "log_covariance": [each.log_covariance for each in settings] if powered else None,
        "certified": [each.certified for each in settings],
        "observed": [asdict(each) | {"parameters": each.parameters.known()} for each in leaf.observed],
        "base_power_w": leaf.table.base_power_w,
    }


def _partitions(leaf: LeafModel, before: StoredModel | None) -> list[dict[str, Any]]:
    """Rows of a leaf's partitions, matched with those of the nearest leaf of the model before."""
    old, tier_ids = _nearest(leaf.leaf, before)
    known = {id(partition): tier_id for partition, tier_id in zip(old, tier_ids, strict=True)}
    return [_partition(match, known) for match in match_partitions(old, leaf.partitions)]


def _nearest(leaf: Leaf, before: StoredModel | None) -> tuple[Sequence[Partition], Sequence[UUID]]:
    if before is None:
        return (), ()
    nearest = min(
        range(len(before.model.leaves)),
        key=lambda i: (
            before.model.leaves[i].leaf.octaves_from(2**leaf.log2_mean_file_bytes, 2**leaf.log2_file_count),
            abs(before.model.leaves[i].leaf.load - leaf.load),
        ),
    )
    return before.model.leaves[nearest].partitions, before.tier_ids[nearest]


def _partition(match: Match, known: Mapping[int, UUID]) -> dict[str, Any]:
    new = match.new
    return {
        "kind": new.kind,
        "confidence": new.confidence,
        "energy_basis": new.energy_basis,
        "lower": new.lower,
        "upper": new.upper,
        "closed": new.closed,
        "parameters": new.parameters.known(),
        "predicted": {name: getattr(new.setting, name) for name in _PREDICTED},
        "probability": new.probability,
        "regret": new.regret,
        "tier_id": uuid4() if match.old is None else known[id(match.old)],
        "needs_review": match.moved,
    }


_PREDICTED = ("log_throughput_mean", "log_throughput_sd", "log_power_mean", "log_power_sd", "log_covariance")


def _leaf(row: Row[Any], partitions: Sequence[Row[Any]]) -> LeafModel:
    lattice = Lattice(MappingProxyType({axis: tuple(values) for axis, values in row.axes.items()}))
    return LeafModel(
        leaf=Leaf(
            dataset_tier=row.dataset_tier,
            load_tier=row.load_tier,
            log2_mean_file_bytes=row.log2_mean_file_bytes,
            log2_file_count=row.log2_file_count,
            load=row.load,
            row_count=row.rows,
        ),
        lattice=lattice,
        table=SettingTable(_settings(lattice, row), row.base_power_w),
        observed=tuple(
            ObservedSetting(**(each | {"parameters": Parameters(**each["parameters"])})) for each in row.observed
        ),
        partitions=tuple(map(_stored_partition, partitions)),
        accuracy=MappingProxyType(row.accuracy),
        queueing_delay_p90_s={int(streams): delay for streams, delay in row.queueing_delay_p90_s.items()},
        loss_baseline=row.loss_baseline,
    )


def _settings(lattice: Lattice, row: Row[Any]) -> tuple[PredictedSetting, ...]:
    count = len(row.log_throughput_mean)
    power = row.log_power_mean or [None] * count
    power_sd = row.log_power_sd or [0.0] * count
    covariance = row.log_covariance or [0.0] * count
    columns = (row.log_throughput_mean, row.log_throughput_sd, power, power_sd, covariance, row.certified)
    return tuple(
        PredictedSetting(
            parameters=parameters,
            log_throughput_mean=mean,
            log_throughput_sd=sd,
            log_power_mean=log_power,
            log_power_sd=log_power_sd,
            log_covariance=log_covariance,
            certified=certified,
        )
        for parameters, mean, sd, log_power, log_power_sd, log_covariance, certified in zip(
            lattice.settings(), *columns, strict=True
        )
    )


def _stored_partition(row: Row[Any]) -> Partition:
    return Partition(
        kind=SlaKind(row.kind),
        confidence=row.confidence,
        energy_basis=EnergyBasis(row.energy_basis),
        lower=row.lower,
        upper=row.upper,
        closed=row.closed,
        setting=PredictedSetting(parameters=Parameters(**row.parameters), **row.predicted),
        probability=row.probability,
        regret=row.regret,
    )
