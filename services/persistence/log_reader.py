"""A link's or an endpoint's transfer logs as Arrow, for fitting: columns, not objects."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa

from services.persistence.tables import transfer_logs

BATCH_BYTES = 8 * 2**20


class LogReader:
    """Reads rows of one tenant at a time; row-level security holds here as elsewhere.

    Parameters
    ----------
    database_url : of the application's role.
    """

    def __init__(self, database_url: str) -> None:
        self._database_url = database_url

    def link_rows(self, tenant_id: UUID, link_id: UUID, columns: Sequence[str]) -> pa.Table:
        """Rows of a link in the order of their start.

        Parameters
        ----------
        columns : names of columns of ``transfer_logs``; identifiers come as their text.
        """
        with self.link_batches(tenant_id, link_id, columns) as reader:
            return reader.read_all()

    @contextmanager
    def link_batches(self, tenant_id: UUID, link_id: UUID, columns: Sequence[str]) -> Iterator[pa.RecordBatchReader]:
        """As ``link_rows``, in batches: memory does not grow with the link."""
        query = f"SELECT {_listed(columns)} FROM transfer_logs WHERE link_id = '{link_id}' ORDER BY started_at, id"  # noqa: S608 - column names are checked, a UUID cannot break out
        with self._reading(tenant_id, query) as reader:
            yield reader

    def endpoint_rows(self, tenant_id: UUID, endpoint_id: UUID, columns: Sequence[str]) -> pa.Table:
        """Rows of every link that begins or ends at an endpoint, with ``link_id``, in the order of their start."""
        query = f"""
            SELECT link_id::text, {_listed(columns)} FROM transfer_logs
             WHERE link_id IN (SELECT id FROM links
                                WHERE source_id = '{endpoint_id}' OR destination_id = '{endpoint_id}')
             ORDER BY started_at, id
        """  # noqa: S608 - as above
        with self._reading(tenant_id, query) as reader:
            return reader.read_all()

    @contextmanager
    def _reading(self, tenant_id: UUID, query: str) -> Iterator[pa.RecordBatchReader]:
        with adbc.connect(self._database_url) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT set_config('tradewind.tenant', '{tenant_id}', true)")
            cursor.fetchall()
            cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(BATCH_BYTES)})
            cursor.execute(query)
            yield cursor.fetch_record_batch()


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(_selected(name) for name in columns)


def _selected(name: str) -> str:
    column = transfer_logs.columns[name]
    return f"{column.name}::text" if column.type.python_type is UUID else column.name
