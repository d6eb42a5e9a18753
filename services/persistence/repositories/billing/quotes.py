"""Quotes, by the month of the recommendation."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import insert

from services.application.billing.quote_consumer import StoredQuote
from services.application.billing.what_if import Demand
from services.persistence.month_partitions import MonthPartitions, list_months
from services.persistence.tables import quotes
from tradewind.sla.kinds import EnergyBasis


class Quotes:
    """Quotes of one tenant.

    Parameters
    ----------
    partitions : of the table of quotes.
    """

    def __init__(self, connection: Connection, tenant_id: UUID, partitions: MonthPartitions) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._partitions = partitions

    def add(self, new: Collection[StoredQuote]) -> None:
        """Store quotes that are not stored yet."""
        self._partitions.ensure(list_months(each.at for each in new))
        self._connection.execute(
            insert(quotes).on_conflict_do_nothing(),
            [{"tenant_id": self._tenant_id, **each._asdict()} for each in new],
        )

    def sum_demand(self, since: datetime) -> Sequence[Demand]:
        """Return the requests since then, by tier and energy basis."""
        known = quotes.c.energy_j.is_not(None)
        rows = self._connection.execute(
            select(
                quotes.c.tier_id,
                quotes.c.energy_basis,
                func.count().label("requests"),
                func.sum(quotes.c.total_bytes).label("total_bytes"),
                func.count(quotes.c.energy_j).label("known_requests"),
                func.coalesce(func.sum(quotes.c.total_bytes).filter(known), 0).label("known_bytes"),
                func.coalesce(func.sum(func.greatest(quotes.c.energy_j, 0.0)).filter(known), 0.0).label("energy_j"),
            )
            .where(quotes.c.at >= since)
            .group_by(quotes.c.tier_id, quotes.c.energy_basis)
        )
        return [
            Demand(
                tier_id=row.tier_id,
                energy_basis=EnergyBasis(row.energy_basis),
                requests=row.requests,
                total_bytes=int(row.total_bytes),
                known_requests=row.known_requests,
                known_bytes=int(row.known_bytes),
                energy_j=row.energy_j,
            )
            for row in rows
        ]
