"""Computes again what is billed of the transfers that changed, and stores it, so that it is only added up when read."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Connection, text

from services.application.billing.usage import Month
from services.persistence.repositories.billing.usage import build_times
from services.persistence.repositories.billing.usage_rules_sql import COLUMNS, COMPUTED, TURN, match_units

_ANY_MARK = text("SELECT EXISTS (SELECT FROM usage_marks)")
_TAKE_TURN = text(f"SELECT pg_try_advisory_xact_lock({TURN})")

# All units of a key, a book or a tenant get marks of their own, which are then taken in portions.
_MARK_UNITS = text(
    f"""
    WITH taken AS (
        DELETE FROM usage_marks WHERE unit IS NULL RETURNING key_id, book_id, billing
    )
    INSERT INTO usage_marks (tenant_id, unit)
    SELECT DISTINCT CAST(:tenant AS uuid), matched.unit FROM taken CROSS JOIN LATERAL ({match_units("taken")}) matched
    """  # noqa: S608 - of constants
)
_TAKE = text(
    """
    WITH due AS (
        SELECT DISTINCT unit FROM usage_marks WHERE unit IS NOT NULL ORDER BY unit LIMIT :most
    ), taken AS (
        DELETE FROM usage_marks USING due WHERE usage_marks.unit = due.unit
    )
    SELECT unit FROM due
    """
)
_UNITS = "WITH units AS MATERIALIZED (SELECT unnest(CAST(:units AS uuid[])) AS unit)"
_FORGET = text("DELETE FROM usage_transfers WHERE unit = ANY(CAST(:units AS uuid[]))")
_FORGET_DROPPED = (
    text("DELETE FROM usage_transfers WHERE month IN (SELECT month FROM closed_months WHERE dropped_at IS NOT NULL)"),
    text(
        "DELETE FROM usage_imports USING closed_months c WHERE c.dropped_at IS NOT NULL "
        "AND usage_imports.day >= c.month AND usage_imports.day < c.month + interval '1 month'"
    ),
)
_MONTHS = text(
    f"""{_UNITS}
    SELECT DISTINCT date_trunc('month', logged.started_at AT TIME ZONE 'UTC') AS month
      FROM units CROSS JOIN LATERAL (
          SELECT started_at FROM transfer_logs WHERE transfer_id = units.unit
           UNION ALL
          SELECT started_at FROM transfer_logs WHERE id = units.unit
      ) logged
     ORDER BY month
    """  # noqa: S608 - of constants
)
_STORE = text(
    f"""{_UNITS}, {COMPUTED}
    INSERT INTO usage_transfers (tenant_id, month, {COLUMNS})
    SELECT :tenant, :month, {COLUMNS} FROM computed
    """  # noqa: S608 - of constants
)


class UsageRefresh:
    """What is stored of one tenant's usage."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant = {"tenant": str(tenant_id)}

    def refresh(self, most: int) -> int:
        """Compute at most ``most`` marked transfers again; return how many.

        One process at a time: the result is 0 while another one computes.
        """
        if not self._connection.execute(_ANY_MARK).scalar_one():
            return 0
        # In a statement of its own: what the next ones see is then not older than what the turn before has stored.
        if not self._connection.execute(_TAKE_TURN, self._tenant).scalar_one():
            return 0
        for forget in _FORGET_DROPPED:
            self._connection.execute(forget)
        self._connection.execute(_MARK_UNITS, self._tenant)
        units = self._connection.execute(_TAKE, {"most": most}).scalars().all()
        if units:
            self._compute(units)
        return len(units)

    def _compute(self, units: Sequence[UUID]) -> None:
        of_units = {**self._tenant, "units": list(units)}
        self._connection.execute(_FORGET, of_units)
        for began in self._connection.execute(_MONTHS, of_units).scalars().all():
            self._connection.execute(_STORE, {**of_units, **build_times(Month(began.year, began.month))})
