"""Models of links: clusters, surfaces and SLA partitions, written and read in bulk."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, FromClause, Row, Select, func, insert, select, true
from sqlalchemy.dialects.postgresql import aggregate_order_by

from services.application.models.learned_model import (
    IndexedModel,
    LastFit,
    ModelOutline,
    ModelOverview,
    StoredLeaf,
    StoredModel,
    Tier,
)
from services.application.monitoring.overview import LowestSetting
from services.persistence.repositories.models.model_rows import (
    CENTRE,
    OF_SETTINGS,
    PATH,
    to_centre,
    to_cluster_row,
    to_fastest_leaf,
    to_model_outline,
    to_partition_row,
    to_path,
    to_stored_leaf,
    to_stored_model,
    to_surface_row,
)
from services.persistence.tables import clusters, link_models, release_links, sla_partitions, surfaces
from tradewind.errors import NotFound
from tradewind.model import LeafModel, LinkModel

_SURFACE = tuple(column for column in surfaces.columns if column.name not in ("tenant_id", "cluster_id"))

_OTHERS = tuple(column for column in _SURFACE if column.name not in OF_SETTINGS)


def _select_fastest() -> FromClause:
    """Return the values of the fastest certified settings of a surface, and their places in its lattice, from 0 on."""
    each = (
        func.unnest(*(surfaces.c[name] for name in OF_SETTINGS))
        .table_valued(*OF_SETTINGS, with_ordinality="place")
        .render_derived()
    )
    of_rank = func.rank().over(order_by=each.c.log_throughput_mean.desc()).label("of_rank")
    ranked = select(each, of_rank).where(each.c.certified).subquery()
    in_order = (
        aggregate_order_by(value, ranked.c.place)
        for value in (ranked.c.place - 1, *(ranked.c[name] for name in OF_SETTINGS))
    )
    return (
        select(
            *(func.array_agg(value).label(name) for value, name in zip(in_order, ("places", *OF_SETTINGS), strict=True))
        )
        .where(ranked.c.of_rank == 1)
        .lateral("fastest")
    )


_FASTEST = _select_fastest()


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
                **{name: getattr(model.path, name) for name in PATH},
            )
            .returning(link_models.c.id)
        ).scalar_one()
        if not model.leaves:
            return model_id
        cluster_ids = self._connection.execute(
            insert(clusters).returning(clusters.c.id, sort_by_parameter_order=True),
            [self._own(to_cluster_row(leaf), link_model_id=model_id, ordinal=n) for n, leaf in enumerate(model.leaves)],
        ).scalars()
        by_cluster = dict(zip(cluster_ids, model.leaves, strict=True))
        self._connection.execute(
            insert(surfaces), [self._own(to_surface_row(leaf), cluster_id=each) for each, leaf in by_cluster.items()]
        )
        partitions = [
            self._own(to_partition_row(partition, tier), cluster_id=cluster_id, link_model_id=model_id, ordinal=n)
            for (cluster_id, leaf), leaf_tiers in zip(by_cluster.items(), tiers, strict=True)
            for n, (partition, tier) in enumerate(zip(leaf.partitions, leaf_tiers, strict=True))
        ]
        if partitions:
            self._connection.execute(insert(sla_partitions), partitions)
        return model_id

    def get(self, model_id: UUID) -> StoredModel:
        """Return the model.

        Raises
        ------
        NotFound : the tenant has none of this id.
        """
        found = self._read(select(link_models.c.id).where(link_models.c.id == model_id))
        if not found:
            raise NotFound("no such model")
        return found[0]

    def index(self, release_id: int) -> Mapping[UUID, IndexedModel]:
        """Return for each link of a release: its model, the model's path, the centres of its leaves and which of them
        know power.
        """
        rows = self._connection.execute(
            select(
                link_models,
                clusters.c.rows.label("leaf_rows"),
                *(clusters.c[name] for name in CENTRE),
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
                group[0].id,
                to_path(group[0]),
                tuple(map(to_centre, group)),
                tuple(row.powered for row in group),
                link_id,
            )
            for link_id, group in ((key, list(rows)) for key, rows in groupby(rows, key=lambda row: row.link_id))
        }

    def list_overviews(self, release_id: int) -> Mapping[UUID, ModelOverview]:
        """Return what a list of links shows of each model of a release."""
        rows = self._connection.execute(
            select(link_models, func.count(clusters.c.id).label("clusters"))
            .join(release_links, release_links.c.link_model_id == link_models.c.id)
            .outerjoin(clusters, clusters.c.link_model_id == link_models.c.id)
            .where(release_links.c.release_id == release_id)
            .group_by(link_models.c.id)
        )
        return {row.link_id: ModelOverview(to_path(row), row.clusters) for row in rows}

    def list_reasons(self, release_id: int) -> Mapping[UUID, str]:
        """Return why a release could not fit a link, for each such link."""
        rows = self._connection.execute(
            select(release_links.c.link_id, release_links.c.reason).where(
                release_links.c.release_id == release_id, release_links.c.reason.is_not(None)
            )
        )
        return {row.link_id: row.reason for row in rows}

    def list_verdicts(self, release_id: int) -> Mapping[UUID, Mapping[str, Any]]:
        """Return the metrics that the newest fit of each link was judged by, refused or not."""
        rows = self._connection.execute(
            select(release_links.c.link_id, release_links.c.verdict).where(
                release_links.c.release_id == release_id, release_links.c.verdict.is_not(None)
            )
        )
        return {row.link_id: row.verdict for row in rows}

    def of_link(self, release_id: int, link_id: UUID) -> StoredModel | None:
        """Return the model of one link in a release."""
        found = self._read(
            select(release_links.c.link_model_id).where(
                release_links.c.release_id == release_id, release_links.c.link_id == link_id
            )
        )
        return found[0] if found else None

    def find_outline(self, release_id: int, link_id: UUID) -> ModelOutline | None:
        """Return the model of one link in a release, a line a cluster."""
        model = self._connection.execute(
            select(link_models)
            .join(release_links, release_links.c.link_model_id == link_models.c.id)
            .where(release_links.c.release_id == release_id, release_links.c.link_id == link_id)
        ).one_or_none()
        if model is None:
            return None
        rows = self._connection.execute(
            select(
                clusters,
                clusters.c.rows.label("leaf_rows"),
                func.jsonb_array_length(surfaces.c.observed).label("settings_seen"),
                surfaces.c.log_throughput_mean,
                surfaces.c.log_throughput_sd,
                surfaces.c.certified,
            )
            .join(surfaces, surfaces.c.cluster_id == clusters.c.id)
            .where(clusters.c.link_model_id == model.id)
            .order_by(clusters.c.ordinal)
        ).all()
        return to_model_outline(model, rows)

    def find_last_fit(self, release_id: int, link_id: UUID) -> LastFit:
        """Return the result of the newest fit of one link in a release."""
        held = release_links.c
        row = self._connection.execute(
            select(held.reason, held.verdict).where(held.release_id == release_id, held.link_id == link_id)
        ).one_or_none()
        return LastFit() if row is None else LastFit(row.reason, row.verdict)

    def find_lowest_settings(
        self, release_id: int, link_ids: Collection[UUID]
    ) -> Mapping[UUID, Sequence[LowestSetting]]:
        """Return each cluster's lowest certified setting, for those of the links that a release has a model of."""
        lowest = func.array_position(surfaces.c.certified, True)  # lattices have their values in ascending order
        columns = (surfaces.c.log_throughput_mean, surfaces.c.log_throughput_sd, surfaces.c.log_power_mean)
        rows = self._connection.execute(
            select(
                clusters,
                clusters.c.rows.label("leaf_rows"),
                release_links.c.link_id,
                *(column[lowest].label(column.name) for column in columns),
            )
            .join(clusters, clusters.c.link_model_id == release_links.c.link_model_id)
            .join(surfaces, surfaces.c.cluster_id == clusters.c.id)
            .where(release_links.c.release_id == release_id, release_links.c.link_id.in_(link_ids))
            .where(lowest.is_not(None))
        )
        found: dict[UUID, list[LowestSetting]] = defaultdict(list)
        for row in rows:
            expected = row.log_throughput_mean, row.log_throughput_sd, row.log_power_mean
            found[row.link_id].append(LowestSetting(to_centre(row), *expected))
        return dict(found)

    def list_fastest(self, release_id: int, link_ids: Collection[UUID]) -> Mapping[UUID, Sequence[LeafModel]]:
        """Return the leaves of those of the links that a release has a model of, without their partitions, and of their
        settings the fastest certified one alone: building all takes a hundred times as long.
        """
        rows = self._connection.execute(
            select(clusters, clusters.c.rows.label("leaf_rows"), release_links.c.link_id, *_OTHERS, *_FASTEST.c)
            .join(clusters, clusters.c.link_model_id == release_links.c.link_model_id)
            .join(surfaces, surfaces.c.cluster_id == clusters.c.id)
            .join(_FASTEST, true())
            .where(release_links.c.release_id == release_id, release_links.c.link_id.in_(link_ids))
            .order_by(clusters.c.link_model_id, clusters.c.ordinal)
        )
        found: dict[UUID, list[LeafModel]] = defaultdict(list)
        for row in rows:
            found[row.link_id].append(to_fastest_leaf(row))
        return dict(found)

    def with_cluster(self, release_id: int, cluster_id: UUID) -> StoredModel | None:
        """Return the model that a cluster of a release belongs to."""
        found = self._read(
            select(release_links.c.link_model_id)
            .join(clusters, clusters.c.link_model_id == release_links.c.link_model_id)
            .where(release_links.c.release_id == release_id, clusters.c.id == cluster_id)
        )
        return found[0] if found else None

    def link_of_cluster(self, cluster_id: UUID) -> UUID | None:
        """Return the link of a cluster, present or past; ``None`` once its model is removed."""
        found: UUID | None = self._connection.scalar(
            select(link_models.c.link_id)
            .join(clusters, clusters.c.link_model_id == link_models.c.id)
            .where(clusters.c.id == cluster_id)
        )
        return found

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
                *_SURFACE,
            )
            .join(surfaces, surfaces.c.cluster_id == clusters.c.id)
            .where(clusters.c.link_model_id.in_(model_ids))
            .order_by(clusters.c.link_model_id, clusters.c.ordinal)
        ):
            leaves[row.link_model_id].append(to_stored_leaf(row, partitions[row.id]))
        return [to_stored_model(row, leaves[row.id]) for row in models]
