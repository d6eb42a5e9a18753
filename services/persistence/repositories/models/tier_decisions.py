"""Models that wait for a provider's decision, because they would remove or move priced tiers."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, delete, insert, select

from services.application.models.priced_tiers import UndecidedModel
from services.application.models.tier_decisions import TierDecision
from services.persistence.tables import link_models, tier_decisions, tier_names
from tradewind.errors import NotFound
from tradewind.wire.releases import TierChange


class TierDecisions:
    """Open decisions of one tenant, at most one a link. A model is removed with its decision unless a release has
    it.
    """

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def raise_for(self, link_id: UUID, undecided: UndecidedModel) -> None:
        """Store a model until its provider decides, in place of an older one of its link."""
        self.drop(link_id)
        self._connection.execute(
            insert(tier_decisions).values(
                tenant_id=self._tenant_id,
                link_id=link_id,
                link_model_id=undecided.model_id,
                release_id=undecided.release_id,
                raised_at=undecided.raised_at,
                changes=[each.model_dump(mode="json") for each in undecided.changes],
            )
        )

    def drop(self, link_id: UUID) -> None:
        """Remove the open decision of a link with the model that waits for it."""
        waiting = select(tier_decisions.c.link_model_id).where(tier_decisions.c.link_id == link_id)
        self._connection.execute(delete(link_models).where(link_models.c.id.in_(waiting)))

    def list_all(self) -> Sequence[TierDecision]:
        """Return the open decisions, the oldest first, with the names that tiers have now."""
        rows = self._connection.execute(
            select(tier_decisions).order_by(tier_decisions.c.raised_at, tier_decisions.c.id)
        ).all()
        if not rows:
            return []
        names = {row.tier_id: row.name for row in self._connection.execute(select(tier_names))}
        return [_build_decision(row, names) for row in rows]

    def claim(self, decision_id: UUID) -> TierDecision:
        """Return an open decision, locked until the transaction ends.

        Raises
        ------
        NotFound : it was decided, or a newer model has taken its place.
        """
        row = self._connection.execute(
            select(tier_decisions).where(tier_decisions.c.id == decision_id).with_for_update()
        ).one_or_none()
        if row is None:
            raise NotFound("no such open decision: it was decided already, or a newer model has taken its place")
        return _build_decision(row, {})


def _build_decision(row: Row[Any], names: dict[UUID, str]) -> TierDecision:
    changes = [TierChange(**each) for each in row.changes]
    return TierDecision(
        id=row.id,
        link_id=row.link_id,
        model_id=row.link_model_id,
        release_id=row.release_id,
        raised_at=row.raised_at,
        changes=tuple(each.model_copy(update={"name": names.get(each.tier_id)}) for each in changes),
    )
