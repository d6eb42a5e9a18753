"""A provider's own names of tiers, and the boundaries between them."""

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from sqlalchemy import ARRAY, Connection, Uuid, and_, cast, delete, insert, select, update
from sqlalchemy.dialects.postgresql import insert as insert_or_replace

from services.application.models.custom_tiers import CustomBoundaries
from services.application.models.learned_model import ReviewedBounds
from services.persistence.tables import own_cuts, sla_partitions, tier_names
from tradewind.sla.kinds import EnergyBasis, SlaKind
from tradewind.tiers.partitions import PartitionKey


class CustomTiers:
    """Custom tiers of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def of_link(self, link_id: UUID) -> Sequence[CustomBoundaries]:
        """Return the boundaries on a link, in the order in which they were made."""
        rows = self._connection.execute(select(own_cuts).where(own_cuts.c.link_id == link_id).order_by(own_cuts.c.id))
        return [
            CustomBoundaries(
                PartitionKey(SlaKind(row.kind), row.confidence, EnergyBasis(row.energy_basis)),
                tuple(row.cuts),
                tuple(row.tier_ids),
            )
            for row in rows
        ]

    def keep(self, link_id: UUID, own: CustomBoundaries, *, replacing: Collection[UUID]) -> None:
        """Store boundaries in place of those that were made for any of these tiers."""
        self.forget(link_id, own.key, replacing)
        self._connection.execute(
            insert(own_cuts).values(
                tenant_id=self._tenant_id,
                link_id=link_id,
                kind=own.key.kind,
                confidence=own.key.confidence,
                energy_basis=own.key.energy_basis,
                cuts=list(own.cuts),
                tier_ids=list(own.tier_ids),
            )
        )

    def forget(self, link_id: UUID, key: PartitionKey, tier_ids: Collection[UUID]) -> None:
        """Remove the boundaries that were made for any of these tiers."""
        self._connection.execute(
            delete(own_cuts).where(
                and_(
                    own_cuts.c.link_id == link_id,
                    own_cuts.c.kind == key.kind,
                    own_cuts.c.confidence == key.confidence,
                    own_cuts.c.energy_basis == key.energy_basis,
                    own_cuts.c.tier_ids.op("&&")(cast(list(tier_ids), ARRAY(Uuid))),
                )
            )
        )

    def list_names(self) -> Mapping[UUID, str]:
        """Return the names of tiers that have one."""
        return {row.tier_id: row.name for row in self._connection.execute(select(tier_names))}

    def rename(self, tier_id: UUID, name: str | None) -> None:
        """Name a tier, or give it the name of its range."""
        if name is None:
            self._connection.execute(delete(tier_names).where(tier_names.c.tier_id == tier_id))
            return
        given = insert_or_replace(tier_names).values(tenant_id=self._tenant_id, tier_id=tier_id, name=name)
        self._connection.execute(
            given.on_conflict_do_update(index_elements=["tenant_id", "tier_id"], set_={"name": given.excluded.name})
        )

    def accept(self, tier_id: UUID, bounds: ReviewedBounds) -> None:
        """Mark a tier as reviewed, in the models in which it has these bounds."""
        self._connection.execute(
            update(sla_partitions)
            .where(
                sla_partitions.c.tier_id == tier_id,
                sla_partitions.c.lower == bounds.lower,
                sla_partitions.c.upper == bounds.upper,
            )
            .values(needs_review=False, reviewed_lower=None, reviewed_upper=None)
        )
