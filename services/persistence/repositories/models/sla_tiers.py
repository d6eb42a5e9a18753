"""SLA tiers, as partitions of a release's models."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Connection, Row, Select, Uuid, any_, literal, select, text

from services.application.models.sla_tiers import LinkTier, OpenTiers, format_cluster
from services.persistence.repositories.models.model_rows import to_partition, to_tier
from services.persistence.tables import clusters, release_links, sla_partitions, tier_names
from tradewind.sla.kinds import EnergyBasis, SlaKind
from tradewind.tiers.partitions import format_tier_name

_CENTRE = (clusters.c.log2_file_count, clusters.c.log2_mean_file_bytes, clusters.c.load)

_COUNT_OPEN = text(
    """
    SELECT held.link_id, count(*) AS tiers, count(*) FILTER (WHERE tier.needs_review) AS to_review,
           count(*) FILTER (WHERE price.tier_id IS NULL) AS unpriced
      FROM release_links held
      JOIN clusters cluster ON cluster.link_model_id = held.link_model_id
      JOIN sla_partitions tier ON tier.cluster_id = cluster.id
      LEFT JOIN prices price ON price.book_id = CAST(:book_id AS uuid) AND price.tier_id = tier.tier_id
     WHERE held.release_id = :release_id
     GROUP BY held.link_id
    """
)


class _Range(NamedTuple):
    """What a tier is named by where its provider has not named it."""

    kind: SlaKind
    confidence: float
    energy_basis: EnergyBasis
    lower: float
    upper: float


class SlaTiers:
    """Tiers of one tenant."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list_page(
        self, release_id: int, *, limit: int | None, offset: int = 0, link_id: UUID | None = None
    ) -> Sequence[LinkTier]:
        """Return tiers of a release link by link, in the order of their clusters and bounds."""
        query = _select_tiers(release_id).limit(limit).offset(offset)
        if link_id is not None:
            query = query.where(release_links.c.link_id == link_id)
        return self._read(query)

    def of(self, release_id: int, tier_ids: Collection[UUID]) -> Sequence[LinkTier]:
        """Return these tiers of a release in the same order, without those that it does not have."""
        return self._read(_select_tiers(release_id).where(sla_partitions.c.tier_id.in_(tier_ids)))

    def list_names(self, release_id: int, tier_ids: Collection[UUID]) -> Mapping[UUID, str]:
        """Return the names of these tiers of a release by id: those of their provider, or their ranges."""
        tier = sla_partitions.c
        held = select(clusters.c.id).where(clusters.c.link_model_id.in_(_select_models(release_id)))
        query: Select[Any] = (
            select(
                tier.tier_id, tier.kind, tier.confidence, tier.energy_basis, tier.lower, tier.upper, tier_names.c.name
            )
            .outerjoin(tier_names, tier_names.c.tier_id == tier.tier_id)
            .where(_is_one_of(tier_ids), tier.cluster_id.in_(held))
        )
        return {row.tier_id: row.name or _format_range(row) for row in self._connection.execute(query)}

    def list_data_sets(self, release_id: int, tier_ids: Collection[UUID]) -> Mapping[UUID, str]:
        """Return the data sets of these tiers of a release by id, as text."""
        query = (
            select(sla_partitions.c.tier_id, *_CENTRE)
            .join(clusters, clusters.c.id == sla_partitions.c.cluster_id)
            .where(_is_one_of(tier_ids), clusters.c.link_model_id.in_(_select_models(release_id)))
        )
        return {
            row.tier_id: format_cluster(row.log2_file_count, row.log2_mean_file_bytes, row.load)
            for row in self._connection.execute(query)
        }

    def count_open(self, release_id: int, book_id: UUID | None) -> Mapping[UUID, OpenTiers]:
        """Return for each link of a release how many tiers it has, and how many of them wait for the provider."""
        found = self._connection.execute(_COUNT_OPEN, {"release_id": release_id, "book_id": book_id})
        return {row.link_id: OpenTiers(row.tiers, row.to_review, row.unpriced) for row in found}

    def _read(self, query: Select[Any]) -> Sequence[LinkTier]:
        return [
            LinkTier(
                row.link_id,
                row.cluster_id,
                to_tier(row),
                to_partition(row),
                format_cluster(row.log2_file_count, row.log2_mean_file_bytes, row.load),
            )
            for row in self._connection.execute(query)
        ]


def _format_range(row: Row[Any]) -> str:
    return format_tier_name(
        _Range(SlaKind(row.kind), row.confidence, EnergyBasis(row.energy_basis), row.lower, row.upper)
    )


def _is_one_of(tier_ids: Collection[UUID]) -> ColumnElement[bool]:
    return sla_partitions.c.tier_id == any_(literal(list(tier_ids), ARRAY(Uuid)))


def _select_models(release_id: int) -> Select[Any]:
    return select(release_links.c.link_model_id).where(release_links.c.release_id == release_id)


def _select_tiers(release_id: int) -> Select[Any]:
    return (
        select(sla_partitions, release_links.c.link_id, tier_names.c.name, *_CENTRE)
        .select_from(sla_partitions)
        .outerjoin(tier_names, tier_names.c.tier_id == sla_partitions.c.tier_id)
        .join(clusters, clusters.c.id == sla_partitions.c.cluster_id)
        .join(release_links, release_links.c.link_model_id == clusters.c.link_model_id)
        .where(release_links.c.release_id == release_id)
        .order_by(release_links.c.link_id, clusters.c.ordinal, sla_partitions.c.ordinal)
    )
