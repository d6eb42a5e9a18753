"""Partitions of tables by month, created when the first rows of a month arrive."""

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
    apart : engine for creating them, which the transaction must not roll back.
    """

    def __init__(self, connection: Connection, apart: Engine, table: str) -> None:
        self._connection = connection
        self._apart = apart
        self._table = table

    def ensure(self, months: Collection[date]) -> None:
        """Create the missing partitions of these months, given by their first days."""
        parameters = {"months": sorted(months), "table": self._table}
        missing = self._connection.execute(_MISSING, parameters).scalars().all()
        if missing:
            with self._apart.begin() as connection:
                connection.execute(_ENSURE[self._table], {"months": missing})


def list_months(times: Iterable[datetime]) -> set[date]:
    """Return the first days of the months of these times."""
    return {each.astimezone(UTC).date().replace(day=1) for each in times}
