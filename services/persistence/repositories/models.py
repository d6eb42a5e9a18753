"""Models of links: clusters, surfaces and SLA partitions, written and read in bulk."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import groupby
from types import MappingProxyType
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, Select, func, insert, select

from services.application.learned import IndexedModel, ModelOverview, StoredLeaf, StoredModel, Tier
from services.persistence.tables import clusters, link_models, release_links, sla_partitions, surfaces
from tradewind.cluster import Leaf
from tradewind.errors import NotFound
from tradewind.load_effect import LoadEffect
from tradewind.model import LeafModel, LinkModel, ObservedSetting
from tradewind.parameters import Lattice, Parameters
from tradewind.path import Path
from tradewind.prediction import PredictedSetting
from tradewind.selection import SettingTable
from tradewind.sla import EnergyBasis, SlaKind
from tradewind.sla_partitions import Partition

_CENTRE = ("dataset_tier", "load_tier", "log2_mean_file_bytes", "log2_file_count", "load")
_PATH = ("bandwidth_bps", "rtt_s", "min_rtt_s", "loss_rate", "buffer_bytes")


class Models:
    """Models of one tenant's links."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def add(self, link_id: UUID, model: LinkModel, tiers: Sequence[Sequence[Tier]], *, fitted_at: datetime) -> UUID:
        """Store a model; it serves once a release that holds it is published.

        Parameters
        ----------
        tiers : for each leaf, one for each of its partitions.
        """
        model_id: UUID = self._connection.execute(
            insert(link_models)
            .values(
                tenant_id=self._tenant_id,
                link_id=link_id,
                fitted_at=fitted_at,
                rows=model.rows,
                load_median=model.load_median,
                unknown_bps=model.unknown_bps,
                failures=list(model.failures),
                **{name: getattr(model.path, name) for name in _PATH},
            )
            .returning(link_models.c.id)
        ).scalar_one()
        if not model.leaves:
            return model_id
        cluster_ids = self._connection.execute(
            insert(clusters).returning(clusters.c.id, sort_by_parameter_order=True),
            [self._own(_cluster(leaf), link_model_id=model_id, ordinal=n) for n, leaf in enumerate(model.leaves)],
        ).scalars()
        by_cluster = dict(zip(cluster_ids, model.leaves, strict=True))
        self._connection.execute(
            insert(surfaces), [self._own(_surface(leaf), cluster_id=each) for each, leaf in by_cluster.items()]
        )
        partitions = [
            self._own(_partition(partition, tier), cluster_id=cluster_id, ordinal=n)
            for (cluster_id, leaf), leaf_tiers in zip(by_cluster.items(), tiers, strict=True)
            for n, (partition, tier) in enumerate(zip(leaf.partitions, leaf_tiers, strict=True))
        ]
        if partitions:
            self._connection.execute(insert(sla_partitions), partitions)
        return model_id

    def get(self, model_id: UUID) -> StoredModel:
        """The model.

        Raises
        ------
        NotFound : the tenant has none of this id.
        """
        found = self._read(select(link_models.c.id).where(link_models.c.id == model_id))
        if not found:
            raise NotFound("no such model")
        return found[0]

    def index(self, release_id: int) -> Mapping[UUID, IndexedModel]:
        """Of each link that a release holds: its model, the model's path, its leaves' centres and who knows power."""
        rows = self._connection.execute(
            select(
                link_models,
                clusters.c.rows.label("leaf_rows"),
                *(clusters.c[name] for name in _CENTRE),
                surfaces.c.log_power_mean.is_not(None).label("powered"),
            )
            .join(release_links, release_links.c.link_model_id == link_models.c.id)
            .join(clusters, clusters.c.link_model_id == link_models.c.id)
            .join(surfaces, surfaces.c.cluster_id == clusters.c.id)
            .where(release_links.c.release_id == release_id)
            .order_by(link_models.c.id, clusters.c.ordinal)
        )
        return {
            link_id: IndexedModel(
                group[0].id, _path(group[0]), tuple(map(_centre, group)), tuple(row.powered for row in group)
            )
            for link_id, group in ((key, list(rows)) for key, rows in groupby(rows, key=lambda row: row.link_id))
        }

    def overviews(self, release_id: int) -> Mapping[UUID, ModelOverview]:
        """What a list of links shows of each model that a release holds."""
        rows = self._connection.execute(
            select(link_models, func.count(clusters.c.id).label("clusters"))
            .join(release_links, release_links.c.link_model_id == link_models.c.id)
            .outerjoin(clusters, clusters.c.link_model_id == link_models.c.id)
            .where(release_links.c.release_id == release_id)
            .group_by(link_models.c.id)
        )
        return {row.link_id: ModelOverview(_path(row), row.clusters) for row in rows}

    def reasons(self, release_id: int) -> Mapping[UUID, str]:
        """Of each link that a release could not fit: why."""
        rows = self._connection.execute(
            select(release_links.c.link_id, release_links.c.reason).where(
                release_links.c.release_id == release_id, release_links.c.reason.is_not(None)
            )
        )
        return {row.link_id: row.reason for row in rows}

    def verdicts(self, release_id: int) -> Mapping[UUID, Mapping[str, Any]]:
        """Of each link that a release fitted: the figures that its newest fit was judged by, refused or not."""
        rows = self._connection.execute(
            select(release_links.c.link_id, release_links.c.verdict).where(
                release_links.c.release_id == release_id, release_links.c.verdict.is_not(None)
            )
        )
        return {row.link_id: row.verdict for row in rows}

    def of_link(self, release_id: int, link_id: UUID) -> StoredModel | None:
        """The model of one link in a release."""
        found = self._read(
            select(release_links.c.link_model_id).where(
                release_links.c.release_id == release_id, release_links.c.link_id == link_id
            )
        )
        return found[0] if found else None

    def with_cluster(self, release_id: int, cluster_id: UUID) -> StoredModel | None:
        """The model that a cluster of a release belongs to."""
        found = self._read(
            select(release_links.c.link_model_id)
            .join(clusters, clusters.c.link_model_id == release_links.c.link_model_id)
            .where(release_links.c.release_id == release_id, clusters.c.id == cluster_id)
        )
        return found[0] if found else None

    def _own(self, values: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        return {"tenant_id": self._tenant_id, **values, **more}

    def _read(self, model_ids: Select[Any]) -> Sequence[StoredModel]:
        models = self._connection.execute(
            select(link_models).where(link_models.c.id.in_(model_ids)).order_by(link_models.c.link_id)
        ).all()
        of_models = select(clusters.c.id).where(clusters.c.link_model_id.in_(model_ids))
        partitions: dict[UUID, list[Row[Any]]] = defaultdict(list)
        for row in self._connection.execute(
            select(sla_partitions)
            .where(sla_partitions.c.cluster_id.in_(of_models))
            .order_by(sla_partitions.c.cluster_id, sla_partitions.c.ordinal)
        ):
            partitions[row.cluster_id].append(row)
        leaves: dict[UUID, list[StoredLeaf]] = defaultdict(list)
        for row in self._connection.execute(
            select(
                clusters,
                clusters.c.rows.label("leaf_rows"),
                *(column for column in surfaces.columns if column.name not in ("tenant_id", "cluster_id")),
            )
            .join(surfaces, surfaces.c.cluster_id == clusters.c.id)
            .where(clusters.c.link_model_id.in_(model_ids))
            .order_by(clusters.c.link_model_id, clusters.c.ordinal)
        ):
            leaves[row.link_model_id].append(_stored_leaf(row, partitions[row.id]))
        return [_stored_model(row, leaves[row.id]) for row in models]


def _cluster(leaf: LeafModel) -> dict[str, Any]:
    values = asdict(leaf.leaf)
    return {
        **values,
        "rows": values.pop("row_count"),
        "accuracy": dict(leaf.accuracy),
        "queueing_delay_p90_s": {str(streams): delay for streams, delay in leaf.queueing_delay_p90_s.items()},
        "loss_baseline": leaf.loss_baseline,
    }


def _surface(leaf: LeafModel) -> dict[str, Any]:
    settings = leaf.table.settings
    powered = all(setting.log_power_mean is not None for setting in settings)
    return {
        "axes": {axis: list(values) for axis, values in leaf.lattice.values.items()},
        "log_throughput_mean": [setting.log_throughput_mean for setting in settings],
        "log_throughput_sd": [setting.log_throughput_sd for setting in settings],
        "log_power_mean": [setting.log_power_mean for setting in settings] if powered else None,
        "log_power_sd": [setting.log_power_sd for setting in settings] if powered else None,
        "log_covariance": [setting.log_covariance for setting in settings] if powered else None,
        "certified": [setting.certified for setting in settings],
        "observed": [
            {
                "parameters": each.parameters.known(),
                "rows": each.rows,
                "log_throughput_mean": each.log_throughput_mean,
                "power_w_mean": each.power_w_mean,
            }
            for each in leaf.observed
        ],
        "base_power_w": leaf.table.base_power_w,
        "load_effect": None if leaf.load_effect is None else asdict(leaf.load_effect),
    }


def _partition(partition: Partition, tier: Tier) -> dict[str, Any]:
    predicted = asdict(partition.setting)
    del predicted["parameters"]
    return {
        "kind": partition.kind,
        "confidence": partition.confidence,
        "energy_basis": partition.energy_basis,
        "lower": partition.lower,
        "upper": partition.upper,
        "closed": partition.closed,
        "parameters": partition.parameters.known(),
        "predicted": predicted,
        "probability": partition.probability,
        "regret": partition.regret,
        "tier_id": tier.id,
        "needs_review": tier.needs_review,
    }


def _stored_model(row: Row[Any], leaves: Iterable[StoredLeaf]) -> StoredModel:
    return StoredModel(
        id=row.id,
        link_id=row.link_id,
        fitted_at=row.fitted_at,
        path=_path(row),
        rows=row.rows,
        load_median=row.load_median,
        unknown_bps=row.unknown_bps,
        failures=tuple(row.failures),
        leaves=tuple(leaves),
    )


def _path(row: Row[Any]) -> Path:
    return Path(**{name: getattr(row, name) for name in _PATH})


def _centre(row: Row[Any]) -> Leaf:
    return Leaf(
        dataset_tier=row.dataset_tier,
        load_tier=row.load_tier,
        log2_mean_file_bytes=row.log2_mean_file_bytes,
        log2_file_count=row.log2_file_count,
        load=row.load,
        row_count=row.leaf_rows,
    )


def _stored_leaf(row: Row[Any], partitions: Sequence[Row[Any]]) -> StoredLeaf:
    lattice = Lattice(MappingProxyType({axis: tuple(values) for axis, values in row.axes.items()}))
    model = LeafModel(
        leaf=_centre(row),
        lattice=lattice,
        table=SettingTable(_settings(row, lattice), row.base_power_w),
        observed=tuple(
            ObservedSetting(**(each | {"parameters": Parameters(**each["parameters"])})) for each in row.observed
        ),
        partitions=tuple(_stored_partition(each) for each in partitions),
        accuracy=row.accuracy,
        queueing_delay_p90_s={int(streams): delay for streams, delay in row.queueing_delay_p90_s.items()},
        loss_baseline=row.loss_baseline,
        load_effect=_load_effect(row.load_effect),
    )
    return StoredLeaf(row.id, model, tuple(Tier(each.tier_id, each.needs_review) for each in partitions))


def _load_effect(stored: Mapping[str, list[float] | None] | None) -> LoadEffect | None:
    if stored is None:
        return None
    return LoadEffect(**{name: None if values is None else tuple(values) for name, values in stored.items()})  # type: ignore[arg-type]  # as it was written


def _settings(row: Row[Any], lattice: Lattice) -> tuple[PredictedSetting, ...]:
    unmetered = [None] * len(row.certified), [0.0] * len(row.certified), [0.0] * len(row.certified)
    powers = (row.log_power_mean, row.log_power_sd, row.log_covariance) if row.log_power_mean else unmetered
    return tuple(
        PredictedSetting(
            parameters=parameters,
            log_throughput_mean=mean,
            log_throughput_sd=sd,
            log_power_mean=power_mean,
            log_power_sd=power_sd,
            log_covariance=covariance,
            certified=certified,
        )
        for parameters, mean, sd, power_mean, power_sd, covariance, certified in zip(
            lattice.settings(), row.log_throughput_mean, row.log_throughput_sd, *powers, row.certified, strict=True
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
