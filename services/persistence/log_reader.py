"""Transfer logs as Arrow, for fitting: columns in batches, so that memory does not grow with a link.

For workers: the API does not import this module, whose libraries take 90 MB.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from uuid import UUID

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa

from services.application.learned import StoredLink

BATCH_BYTES = 8 * 2**20

# A chunked transfer logs its chunks and its whole; the whole is left out where its chunks are known.
_COUNTED_ONCE = """
    NOT (chunk = 'whole' AND EXISTS (
        SELECT 1 FROM transfer_logs AS part
         WHERE part.link_id = log.link_id AND part.transfer_id = log.transfer_id AND part.chunk <> 'whole'))
"""

_MOVED = "extract(epoch FROM started_at)::float8 AS start_s, extract(epoch FROM ended_at)::float8 AS end_s, bytes_moved"

_FIT = (
    "bandwidth_bps",
    "rtt_s",
    "min_rtt_s",
    "buffer_bytes",
    "retransmitted_bytes",
    "usage_cpu",
    "usage_disk",
    "mean_file_bytes",
    "file_count",
    "throughput_bps",
    "concurrency",
    "parallelism",
    "pipelining",
    "cores",
    "frequency_hz",
    "io_block_bytes",
    "source_energy_j",
    "source_base_w",
    "destination_energy_j",
    "destination_base_w",
)


class LogReader:
    """Reads rows of one tenant at a time; row-level security holds here as elsewhere.

    Identifiers are bound as literals, because a bound parameter would be sent as a table of its own; a UUID or a time
    cannot break out of its quotes.

    Parameters
    ----------
    database_url : of the application's role.
    """

    def __init__(self, database_url: str) -> None:
        self._database_url = database_url

    def fit_rows(self, tenant_id: UUID, link_id: UUID) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
        """Successful rows of a link in order of start, with all that a model is fitted from; ids as 16 bytes."""
        query = f"""
            SELECT uuid_send(id) AS id, {_MOVED}, {", ".join(_FIT)} FROM transfer_logs AS log
             WHERE link_id = '{link_id}' AND status = 'succeeded' AND throughput_bps > 0 AND {_COUNTED_ONCE}
             ORDER BY started_at, id
        """  # noqa: S608 - see the class
        return self._reading(tenant_id, query)

    def month_rows(
        self, tenant_id: UUID, endpoint_id: UUID, month: datetime
    ) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
        """What moved at an endpoint in the month that begins at ``month``."""
        links = f"SELECT id FROM links WHERE source_id = '{endpoint_id}' OR destination_id = '{endpoint_id}'"  # noqa: S608 - see the class
        query = f"""
            SELECT {_MOVED} FROM transfer_logs AS log
             WHERE link_id IN ({links}) AND started_at >= '{month.isoformat()}'
               AND started_at < '{month.isoformat()}'::timestamptz + interval '1 month' AND {_COUNTED_ONCE}
        """  # noqa: S608 - see the class
        return self._reading(tenant_id, query)

    def rows_between(self, tenant_id: UUID, link: StoredLink) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
        """What moved between the two ends of a link, by any mover, in either direction."""
        one, other = link.source_id, link.destination_id
        links = f"""
            SELECT id FROM links WHERE (source_id = '{one}' AND destination_id = '{other}')
                                    OR (source_id = '{other}' AND destination_id = '{one}')
        """  # noqa: S608 - see the class
        query = f"SELECT {_MOVED} FROM transfer_logs AS log WHERE link_id IN ({links}) AND {_COUNTED_ONCE}"  # noqa: S608 - see the class
        return self._reading(tenant_id, query)

    @contextmanager
    def _reading(self, tenant_id: UUID, query: str) -> Iterator[Iterator[pa.RecordBatch]]:
        with adbc.connect(self._database_url) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT set_config('tradewind.tenant', '{tenant_id}', true)")
            cursor.fetchall()
            cursor.execute("SET LOCAL timezone = 'UTC'")
            cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(BATCH_BYTES)})
            cursor.execute(query)
            yield iter(cursor.fetch_record_batch())
