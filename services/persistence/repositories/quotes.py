"""What was quoted, by the month of the offer."""

from collections.abc import Callable, Collection
from datetime import UTC, date
from uuid import UUID

from sqlalchemy import Connection, text
from sqlalchemy.dialects.postgresql import insert

from services.application.journal_quotes import StoredQuote
from services.persistence.tables import quotes

_MONTHS_WITHOUT_PARTITION = text(
    "SELECT month FROM unnest(CAST(:months AS date[])) AS month"
    " WHERE to_regclass('public.quotes_' || to_char(month, 'YYYY_MM')) IS NULL"
)


class Quotes:
    """Quotes of one tenant.

    Parameters
    ----------
    ensure_months : makes the partitions of these months, in a transaction of its own.
    """

    def __init__(
        self, connection: Connection, tenant_id: UUID, ensure_months: Callable[[Collection[date]], None]
    ) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._ensure_months = ensure_months

    def add(self, told: Collection[StoredQuote]) -> None:
        """Store those that are not stored yet."""
        months = {each.at.astimezone(UTC).date().replace(day=1) for each in told}
        missing = self._connection.execute(_MONTHS_WITHOUT_PARTITION, {"months": sorted(months)}).scalars().all()
        if missing:
            self._ensure_months(missing)
        self._connection.execute(
            insert(quotes).on_conflict_do_nothing(),
            [{"tenant_id": self._tenant_id, **each.model_dump()} for each in told],
        )
