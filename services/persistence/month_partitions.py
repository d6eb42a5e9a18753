"""Partitions of tables that have one for each month: made when the first rows of a month come."""

from collections.abc import Collection, Iterable
from datetime import UTC, date, datetime

from sqlalchemy import Connection, Engine, text

_MISSING = text(
    "SELECT month FROM unnest(CAST(:months AS date[])) AS month"
    " WHERE to_regclass('public.' || :table || '_' || to_char(month, 'YYYY_MM')) IS NULL"
)
_ENSURE = {
    "transfer_logs": text("SELECT ensure_log_partitions(:months)"),
    "transfer_samples": text("SELECT ensure_sample_partitions(:months)"),
    "quotes": text("SELECT ensure_quote_partitions(:months)"),
}


class MonthPartitions:
    """Partitions of a table, as a transaction needs them.

    Parameters
    ----------
    connection : in the transaction.
    apart : engine for making them, which must not be undone with the transaction.
    """

    def __init__(self, connection: Connection, apart: Engine, table: str) -> None:
        self._connection = connection
        self._apart = apart
        self._table = table

    def ensure(self, months: Collection[date]) -> None:
        """Make those that are missing, of months by their first days."""
        asked = {"months": sorted(months), "table": self._table}
        missing = self._connection.execute(_MISSING, asked).scalars().all()
        if missing:
            with self._apart.begin() as connection:
                connection.execute(_ENSURE[self._table], {"months": missing})


def list_months(times: Iterable[datetime]) -> set[date]:
    """The first days of their months."""
    return {each.astimezone(UTC).date().replace(day=1) for each in times}
