"""Quotes, by the month of the recommendation."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection, text
from sqlalchemy.dialects.postgresql import insert

from services.application.billing.quote_consumer import StoredQuote
from services.application.billing.what_if import Demand
from services.persistence.month_partitions import MonthPartitions, list_months
from services.persistence.tables import quotes
from tradewind.sla.kinds import EnergyBasis

QUOTED_BEFORE = timedelta(days=31)
"""Transfers that began within so long after a quote are joined with it."""

_DEMAND = text(
    """
    WITH completed AS MATERIALIZED (
        SELECT DISTINCT transfer_id FROM transfer_logs
         WHERE started_at >= :since AND status = 'succeeded' AND transfer_id IS NOT NULL
           AND (chunk IS NULL OR chunk = 'whole')
    ), quoted AS (
        SELECT DISTINCT ON (q.transfer_id) q.*
          FROM quotes q JOIN completed USING (transfer_id)
         WHERE q.at >= :quoted_from
         ORDER BY q.transfer_id, q.at
    ), held AS MATERIALIZED (
        SELECT key_id, customer_id, from_at,
               lead(from_at, 1, 'infinity') OVER (PARTITION BY key_id ORDER BY from_at) AS until_at
          FROM customer_keys
    ), ended AS (
        SELECT q.*, held.customer_id, coalesce(
                   (t.expected ->> 'feasible') IS DISTINCT FROM 'false' AND NOT t.agreement_kept, false) AS is_missed
          FROM quoted q
          LEFT JOIN transfers t ON t.id = q.transfer_id
          LEFT JOIN held ON held.key_id = q.key_id AND held.from_at <= q.at AND q.at < held.until_at
    )
    SELECT tier_id, customer_id, energy_basis, is_missed, count(*) AS requests, sum(total_bytes) AS total_bytes,
           count(energy_j) AS known_requests,
           coalesce(sum(total_bytes) FILTER (WHERE energy_j IS NOT NULL), 0) AS known_bytes,
           coalesce(sum(greatest(energy_j, 0.0)), 0.0) AS energy_j
      FROM ended GROUP BY tier_id, customer_id, energy_basis, is_missed
    """
)

_STORED = text(
    """
    SELECT transfer_id FROM quotes
     WHERE transfer_id = ANY(CAST(:ids AS uuid[])) AND at > now() - CAST('1 day' AS interval)
    """
)


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

    def find_stored(self, transfer_ids: Collection[UUID]) -> Collection[UUID]:
        """Return those of some transfers whose quote is stored; each was given within the last day."""
        if not transfer_ids:
            return frozenset()
        return frozenset(self._connection.execute(_STORED, {"ids": list(transfer_ids)}).scalars())

    def sum_demand(self, since: datetime) -> Sequence[Demand]:
        """Return the transfers that began since then and succeeded, by tier, customer, energy basis and whether
        they missed.

        A transfer counts as its first quote describes it, once, however often it was logged.
        """
        bounds = {"since": since, "quoted_from": since - QUOTED_BEFORE}
        return [
            Demand(
                tier_id=row.tier_id,
                energy_basis=EnergyBasis(row.energy_basis),
                requests=row.requests,
                total_bytes=int(row.total_bytes),
                known_requests=row.known_requests,
                known_bytes=int(row.known_bytes),
                energy_j=row.energy_j,
                is_missed=row.is_missed,
                customer_id=row.customer_id,
            )
            for row in self._connection.execute(_DEMAND, bounds)
        ]
