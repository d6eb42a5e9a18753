"""SLA tiers as partitions of a release's models."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import Connection, select

from services.application.learned import Tier
from services.application.sla_tiers import TierOfLink
from services.persistence.repositories.model_rows import stored_partition
from services.persistence.tables import clusters, release_links, sla_partitions, tier_names
from tradewind.sla_partitions import tier_name


class SlaTiers:
    """Tiers of one tenant."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def page(
        self, release_id: int, *, limit: int, offset: int = 0, link_id: UUID | None = None
    ) -> Sequence[TierOfLink]:
        """Tiers of a release link by link, in the order of their clusters and bounds."""
        query = (
            select(sla_partitions, release_links.c.link_id, tier_names.c.name)
            .select_from(sla_partitions)
            .outerjoin(tier_names, tier_names.c.tier_id == sla_partitions.c.tier_id)
            .join(clusters, clusters.c.id == sla_partitions.c.cluster_id)
            .join(release_links, release_links.c.link_model_id == clusters.c.link_model_id)
            .where(release_links.c.release_id == release_id)
            .order_by(release_links.c.link_id, clusters.c.ordinal, sla_partitions.c.ordinal)
            .limit(limit)
            .offset(offset)
        )
        if link_id is not None:
            query = query.where(release_links.c.link_id == link_id)
        return [
            TierOfLink(
                row.link_id, row.cluster_id, Tier(row.tier_id, row.needs_review, row.name), stored_partition(row)
            )
            for row in self._connection.execute(query)
        ]

    def names(self, release_id: int, tier_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        """What these tiers of a release are called; absent where it does not have one."""
        query = (
            select(sla_partitions, tier_names.c.name)
            .select_from(sla_partitions)
            .outerjoin(tier_names, tier_names.c.tier_id == sla_partitions.c.tier_id)
            .join(clusters, clusters.c.id == sla_partitions.c.cluster_id)
            .join(release_links, release_links.c.link_model_id == clusters.c.link_model_id)
            .where(release_links.c.release_id == release_id, sla_partitions.c.tier_id.in_(tier_ids))
        )
        return {row.tier_id: row.name or tier_name(stored_partition(row)) for row in self._connection.execute(query)}
