"""Transfer logs as Arrow, for fitting: columns in batches, so that memory does not grow with a link.

For workers: the API does not import this module, whose libraries take 90 MB.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import date, datetime
from uuid import UUID

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa
from psycopg.conninfo import make_conninfo

from services.application.logs.export import Dimension, View
from services.application.models.learned_model import StoredLink
from services.persistence.engine import SERVER_IS_GONE
from tradewind.errors import Unavailable

BATCH_BYTES = 8 * 2**20

_MOVED = "extract(epoch FROM started_at)::float8 AS start_s, extract(epoch FROM ended_at)::float8 AS end_s, bytes_moved"
_MOVED_COLUMNS = "started_at, ended_at, bytes_moved, transfer_id, chunk"

_FIT = (
    "extract(epoch FROM received_at)::float8 AS received_s",
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
    "part_bytes",
    "source_energy_j",
    "source_base_w",
    "destination_energy_j",
    "destination_base_w",
)

_TRANSFERS = (
    "id", "link_id", "transfer_id", "started_at", "ended_at", "duration_s", "received_at", "batch_id", "status",
    "protocol", "direction", "mover_version", "chunk", "sla", "quote", "bytes_moved", "files_done", "files_failed",
    "throughput_bps", "retransmitted_bytes", "file_count", "total_bytes", "mean_file_bytes", "min_file_bytes",
    "max_file_bytes", "sd_file_bytes", "content_type", "bandwidth_bps", "rtt_s", "min_rtt_s", "loss_rate",
    "buffer_bytes", "concurrency", "parallelism", "pipelining", "io_block_bytes", "cores", "frequency_hz",
    "memory_bytes", "disk_bps", "nic_bps", "codec", "congestion_control", "usage_cpu", "usage_memory",
    "usage_disk", "usage_nic", "energy_j",
    *(f"{end}_{what}" for end in ("source", "destination")
      for what in ("energy_j", "dynamic_j", "base_w", "tail_j", "energy_method", "energy_quality")),
    "part_bytes", "store", "energy_ends",
)  # fmt: skip
_HEARTBEATS = (
    "transfer_id", "transfer_started_at", "sequence", "at", "interval_s", "bytes_moved", "throughput_bps",
    "remaining_bytes", "remaining_files", "rtt_s", "min_rtt_s", "sent_bytes", "retransmitted_bytes", "power_w",
    "power_method", "power_quality", "usage_cpu", "usage_memory", "usage_disk", "usage_nic", "parameters", "chunks",
    "decided_chunks", "changed", "kind", "reason", "sla_bank",
)  # fmt: skip
_QUOTES = (
    "transfer_id", "at", "key_id", "link_id", "tier_id", "book_id", "amount", "currency", "energy_basis", "sla",
    "total_bytes", "throughput_bps", "energy_j",
)  # fmt: skip
_AS_TEXT = frozenset(
    {"id", "link_id", "transfer_id", "batch_id", "key_id", "tier_id", "book_id"}
    | {
        "endpoint_id",
        "cluster_id",
        "customer_id",
        "parameters",
        "chunks",
        "decided_chunks",
        "accuracy",
        "queueing_delay_p90_s",
    }
)
"""Identifiers and JSON, for which readers of Parquet have no one type."""

EXACT_TYPES: Mapping[str, pa.DataType] = {"amount": pa.decimal128(38, 6)}
"""Types of exact amounts, which are read as text: the driver has no type for them."""

_OF_A_DAY: Mapping[View, tuple[tuple[str, ...], str, str]] = {
    View.TRANSFERS: (_TRANSFERS, "started_at", "started_at, id"),
    View.HEARTBEATS: (_HEARTBEATS, "transfer_started_at", "transfer_started_at, transfer_id, sequence"),
    View.QUOTES: (_QUOTES, "at", "at, transfer_id"),
}
"""Columns of the view without its day, which is in the path of a file; the time whose day it is; the order of rows."""

_OF_A_DIMENSION: Mapping[Dimension, tuple[tuple[str, ...], str]] = {
    Dimension.LINKS: (
        ("link_id", "source", "destination", "network", "mover", "records", "last_log_at"),
        "source, destination, network, mover",
    ),
    Dimension.ENDPOINTS: (("endpoint_id", "endpoint", "power_policy", "region"), "endpoint"),
    Dimension.CLUSTERS: (
        (
            "cluster_id", "link_id", "release_id", "fitted_at", "ordinal", "dataset_tier", "load_tier",
            "mean_file_bytes", "file_count", "load", "records", "accuracy", "queueing_delay_p90_s", "loss_baseline",
            "bandwidth_bps", "rtt_s",
        ),
        "link_id, fitted_at, ordinal",
    ),
    Dimension.CUSTOMERS: (("customer_id", "number", "customer", "archived_at"), "number"),
    Dimension.TIERS: (
        (
            "tier_id", "tier", "link_id", "cluster_id", "kind", "confidence", "energy_basis", "lower_bound",
            "upper_bound", "probability",
        ),
        "link_id, tier_id",
    ),
}  # fmt: skip
"""Columns of the view; the order of rows."""


class LogReader:
    """A reader of the rows of one tenant at a time; row-level security applies here too.

    A chunked transfer logs its chunks and itself as a whole; the record of the whole is left out where its chunks are
    known.

    Identifiers are literals in the SQL, because a bound parameter would be sent as a table of its own; a UUID or a time
    cannot break out of its quotes.

    Parameters
    ----------
    database_url : of the application's role. Connected to when rows are first read.
    """

    def __init__(self, database_url: str) -> None:
        self._database_url = database_url
        self._first: adbc.Connection | None = None

    def fit_rows(self, tenant_id: UUID, link_id: UUID) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
        """Return the rows that a model is fitted from, in order of start; ids as 16 bytes.

        These are the successful transfers of a link that no user limited (`_is_unlimited`), each by its latest record.
        """
        columns = f"uuid_send(id) AS id, {_MOVED}, {', '.join(_FIT)}"
        here, rows = f"id = '{link_id}'", f"link_id = '{link_id}'"
        also = f"NOT superseded AND status = 'succeeded' AND throughput_bps > 0 AND {_is_unlimited(rows)}"
        limitless, parts = _of_links("*", here, also), _of_links("transfer_id", here, _IS_CHUNK)
        query = _build_distinct_query(columns, limitless, chunks=parts)
        return self._open_reading(tenant_id, f"{query} ORDER BY started_at, id")

    def read_month_rows(
        self, tenant_id: UUID, endpoint_id: UUID, month: datetime
    ) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
        """Return what moved at an endpoint in the month that begins at ``month``."""
        begins = f"'{month.isoformat()}'::timestamptz"
        here = f"source_id = '{endpoint_id}' OR destination_id = '{endpoint_id}'"
        rows = f"NOT superseded AND started_at >= {begins} AND started_at < {begins} + interval '1 month'"
        # The chunks of a transfer may begin after the month in which the transfer began.
        chunks = f"{_IS_CHUNK} AND started_at >= {begins} AND started_at < {begins} + interval '2 months'"
        moved, parts = _of_links(_MOVED_COLUMNS, here, rows), _of_links("transfer_id", here, chunks)
        return self._open_reading(tenant_id, _build_distinct_query(_MOVED, moved, chunks=parts))

    def read_day_rows(self, view: View, tenant_id: UUID, day: date) -> AbstractContextManager[pa.RecordBatchReader]:
        """Return all rows of a view of one day (UTC), with its columns except the day."""
        columns, began, order = _OF_A_DAY[view]
        begins = f"'{day.isoformat()}Z'::timestamptz"
        query = f"""
            SELECT {_select(columns)} FROM warehouse.{view}
             WHERE {began} >= {begins} AND {began} < {begins} + interval '1 day'
             ORDER BY {order}
        """  # noqa: S608 - see LogReader
        return self._open_exact_reading(tenant_id, query)

    def read_dimension_rows(
        self, dimension: Dimension, tenant_id: UUID
    ) -> AbstractContextManager[pa.RecordBatchReader]:
        """Return all rows of a dimension."""
        columns, order = _OF_A_DIMENSION[dimension]
        query = f"SELECT {_select(columns)} FROM warehouse.{dimension} ORDER BY {order}"  # noqa: S608 - see LogReader
        return self._open_exact_reading(tenant_id, query)

    def read_rows_between(self, tenant_id: UUID, link: StoredLink) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
        """Return what moved between the two ends of a link, by any mover, in either direction."""
        one, other = link.source_id, link.destination_id
        here = (
            f"source_id = '{one}' AND destination_id = '{other}' OR source_id = '{other}' AND destination_id = '{one}'"
        )
        moved, parts = _of_links(_MOVED_COLUMNS, here, "NOT superseded"), _of_links("transfer_id", here, _IS_CHUNK)
        return self._open_reading(tenant_id, _build_distinct_query(_MOVED, moved, chunks=parts))

    @contextmanager
    def _open_exact_reading(self, tenant_id: UUID, query: str) -> Iterator[pa.RecordBatchReader]:
        with self._open_reading(tenant_id, query) as rows:
            yield to_exact_amounts(rows)

    @contextmanager
    def _open_reading(self, tenant_id: UUID, query: str) -> Iterator[pa.RecordBatchReader]:
        try:
            with self._open_connection() as connection, connection.cursor() as cursor:
                cursor.execute(f"SELECT set_config('tradewind.tenant', '{tenant_id}', true)")
                cursor.fetchall()
                cursor.execute("SET LOCAL timezone = 'UTC'")
                # Before a new month is analysed, the planner estimates few rows and takes a loop over
                # chunks for cheap.
                cursor.execute("SET LOCAL enable_nestloop = off")
                cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(BATCH_BYTES)})
                cursor.execute(query)
                yield cursor.fetch_record_batch()
        except adbc.OperationalError as away:
            raise Unavailable("the database does not answer now; try again") from away

    def _open_connection(self) -> adbc.Connection:
        """Return a new connection; the first one stays open, because it has read the types of the database."""
        if self._first is None:
            self._first = adbc.connect(make_conninfo(self._database_url, **SERVER_IS_GONE))
        return self._first.adbc_clone()

    def close(self) -> None:
        if self._first is not None:
            self._first.close()


USUAL_PART = 0.9
"""Share of a link's rows that state a resource where its tool always states it, rather than one user limiting it."""

_HOST_RESOURCES = ("cores", "frequency_hz", "memory_bytes")


def _is_unlimited(rows: str) -> str:
    """Return the condition that the user of a transfer did not limit it.

    What a limited transfer reaches says nothing of what the path can do. A rate limit above the path's own rate limits
    nothing. Some tools log cores, frequency or memory of every transfer; where nearly all rows of the link state one of
    these, it is a setting that varies, and where few rows do, it is the limit of their user.
    """
    stated = ", ".join(f"CASE WHEN {name} IS NOT NULL THEN '{name}' END" for name in _HOST_RESOURCES)
    usual = ", ".join(
        f"CASE WHEN count({name}) >= {USUAL_PART} * count(*) THEN '{name}' END" for name in _HOST_RESOURCES
    )
    return f"""
        coalesce(least(nic_bps, disk_bps) > bandwidth_bps, least(nic_bps, disk_bps) IS NULL)
        AND (coalesce({", ".join(_HOST_RESOURCES)}) IS NULL
             OR array_remove(ARRAY[{stated}], NULL) <@
                (SELECT ARRAY[{usual}] FROM transfer_logs WHERE {rows} AND status = 'succeeded'))
    """  # noqa: S608 - see LogReader


def _select(columns: Sequence[str]) -> str:
    as_text = _AS_TEXT | EXACT_TYPES.keys()
    return ", ".join(f"{name}::text AS {name}" if name in as_text else name for name in columns)


def to_exact_amounts(rows: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return the rows with decimals for amounts that come as text."""
    if not EXACT_TYPES.keys() & set(rows.schema.names):
        return rows
    schema = pa.schema([field.with_type(EXACT_TYPES.get(field.name, field.type)) for field in rows.schema])
    return pa.RecordBatchReader.from_batches(schema, (batch.cast(schema) for batch in rows))


_IS_CHUNK = "chunk <> 'whole'"


def _of_links(columns: str, condition: str, also: str) -> str:
    """Return a query of ``columns`` of the logs of the links that match ``condition``, looked up link by link.

    The planner assumes the number of links, whatever there are (`migrations.reader_isolation`), and would read all logs
    of the tenant for a list of links. ``OFFSET 0`` leaves it no other way, and no joins within the loop.
    """
    return f"""
        SELECT found.* FROM (SELECT id FROM links WHERE {condition}) here
         CROSS JOIN LATERAL (SELECT {columns} FROM transfer_logs WHERE link_id = here.id AND {also} OFFSET 0) found
         OFFSET 0
    """  # noqa: S608 - see LogReader


def _build_distinct_query(columns: str, rows: str, *, chunks: str) -> str:
    """Return a query of ``rows`` without the records of complete transfers that have ``chunks``, by a single join.

    A subquery in the condition would run for each row, or over the logs of all links.
    """
    return f"""
        SELECT {columns} FROM ({rows}) moved
          LEFT JOIN (SELECT DISTINCT transfer_id AS chunked_id FROM ({chunks}) parts)
            ON chunk = 'whole' AND transfer_id = chunked_id
         WHERE chunked_id IS NULL
    """  # noqa: S608 - see LogReader
