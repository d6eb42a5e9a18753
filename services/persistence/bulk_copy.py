"""Store transfer records in ``transfer_logs`` in blocks: COPY into a staging table, and from there only what is new.

COPY does not go into a table with row-level security and stops at the first duplicate; a temporary table avoids both.
Rows are rendered as CSV by orjson, whose arrays are CSV but for their brackets: it takes a tenth of the time of
psycopg's ``write_row``. One thread stores a block while the next one is rendered.
"""

from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, date, datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

import orjson
from psycopg import Connection

from services.application.logs.ingest import RenderedBlock
from services.application.logs.rows import AcceptedRow
from services.persistence.month_partitions import MonthPartitions
from services.persistence.tables import transfer_logs
from tradewind.energy.measured import Host
from tradewind.wire.records import WireRecord

COLUMNS = tuple(column.name for column in transfer_logs.columns if column.name != "superseded")
"""Columns that come with a record; whether another one replaces it shows later."""

COLUMN_LIST = ", ".join(COLUMNS)

_CREATE_STAGING = """
    CREATE TEMPORARY TABLE IF NOT EXISTS staged_transfer_logs ON COMMIT DELETE ROWS AS
    SELECT NULL::bigint AS row, * FROM transfer_logs WITH NO DATA
"""
_COPY_IN = (
    f"COPY staged_transfer_logs (row, {COLUMN_LIST}) FROM STDIN "
    r"""WITH (FORMAT csv, NULL 'null', QUOTE '"', ESCAPE '\')"""
)
_STORE_NEW = f"""
    WITH stored AS (
        INSERT INTO transfer_logs ({COLUMN_LIST})
        SELECT {COLUMN_LIST} FROM staged_transfer_logs ORDER BY row
        ON CONFLICT DO NOTHING RETURNING id, started_at
    ), staged AS (
        SELECT row, id, started_at, row_number() OVER (PARTITION BY id, started_at ORDER BY row) AS nth
          FROM staged_transfer_logs
    )
    SELECT row FROM staged LEFT JOIN stored USING (id, started_at) WHERE nth > 1 OR stored.id IS NULL
"""  # noqa: S608 - made of column names alone
_EMPTY_STAGING = "TRUNCATE staged_transfer_logs"

ROWS_A_WRITE = 500
"""Rows that go to libpq at once: together a few hundred kilobytes."""


class TransferCopy:
    """Bulk storage of transfer records within one unit of work.

    Parameters
    ----------
    connection : in the transaction of the unit of work.
    partitions : of the table of logs.
    """

    def __init__(self, connection: Connection, tenant_id: UUID, partitions: MonthPartitions) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._partitions = partitions
        self._months: set[tuple[int, int]] = set()
        self._staged = False
        self._storing = ThreadPoolExecutor(1, thread_name_prefix="copy")

    def render(self, rows: Iterable[AcceptedRow], *, batch_id: UUID, received_at: datetime) -> RenderedBlock:
        """Return rows as COPY data, and the months that they belong to."""
        common = (self._tenant_id, batch_id, received_at)
        lines: list[bytes] = []
        months: set[tuple[int, int]] = set()
        for row in rows:
            lines.append(render_line(row, *common))
            months.add(_find_month(row.record.started_at))
        return RenderedBlock(lines, months)

    def store(self, block: RenderedBlock) -> Future[Collection[int]]:
        """Start to store the records that are new; the connection is busy until the result is there.

        Returns
        -------
        Numbers of the rows whose record (id and start) is stored already, or came before in the block.
        """
        return self._storing.submit(self._store, block)

    def close(self) -> None:
        """Wait until storing has finished."""
        self._storing.shutdown()

    def _store(self, block: RenderedBlock) -> Collection[int]:
        if not block.lines:
            return set()
        self._prepare(block.months)
        with self._connection.cursor() as cursor:
            cursor.execute(_EMPTY_STAGING if self._staged else _CREATE_STAGING)
            self._staged = True
            with cursor.copy(_COPY_IN) as copy:
                for start in range(0, len(block.lines), ROWS_A_WRITE):
                    copy.write(b"".join(block.lines[start : start + ROWS_A_WRITE]))
            cursor.execute(_STORE_NEW)
            return {int(row) for (row,) in cursor.fetchall()}

    def _prepare(self, months: Collection[tuple[int, int]]) -> None:
        missing = set(months) - self._months
        if missing:
            self._partitions.ensure([date(year, month, 1) for year, month in missing])
            self._months |= missing


def render_line(accepted: AcceptedRow, tenant_id: UUID, batch_id: UUID, received_at: datetime) -> bytes:
    """Return one line of COPY data: the row's number, then ``COLUMNS``."""
    row, record, link = accepted
    values = (row, tenant_id, record.id, link.id, batch_id, received_at, *list_record_values(record))
    line = orjson.dumps(values)[1:-1]
    return (_encode_csv_of_odd_text(values) if b"\\" in line else line) + b"\n"


def _encode_csv_of_odd_text(values: Sequence[Any]) -> bytes:
    """Return values with quotes, backslashes or control characters as CSV; JSON escapes most of them differently."""
    return b",".join(
        b'"%s"' % value.replace("\\", "\\\\").replace('"', '\\"').encode()
        if isinstance(value, str)
        else orjson.dumps(value)
        for value in values
    )


_WHEN_AND_WHAT = attrgetter("started_at", "ended_at", "protocol", "direction", "mover.version")
_LABELS = attrgetter("chunk", "transfer_id", "sla", "quote")
_PATH = attrgetter("bandwidth_bps", "rtt_s", "min_rtt_s", "loss_rate", "buffer_bytes")
_DATASET = attrgetter("min_file_bytes", "max_file_bytes", "sd_file_bytes", "content_type")
_PARAMETERS = attrgetter(
    "concurrency", "parallelism", "pipelining", "io_block_bytes", "cores", "frequency_hz",
    "memory_bytes", "disk_bps", "nic_bps", "codec", "congestion_control",
)  # fmt: skip
_OUTCOME = attrgetter("status", "bytes_moved", "files_done", "files_failed", "throughput_bps", "retransmitted_bytes")
_USAGE = attrgetter("cpu", "memory", "disk", "nic")
_ENERGY = attrgetter("total_j", "dynamic_j", "base_w", "tail_j", "method", "quality")

_NO_PATH = (None,) * 5
_NO_PARAMETERS = (None,) * 11
_NO_USAGE = (None,) * 4
_NO_ENERGY = (None,) * 6


def list_record_values(record: WireRecord) -> tuple[Any, ...]:
    """Return the values of a record from ``started_at`` on, in the order of ``COLUMNS``."""
    dataset = record.dataset
    source = destination = _NO_ENERGY
    for reading in record.energy:
        if reading.host is Host.SOURCE:
            source = _ENERGY(reading)
        else:
            destination = _ENERGY(reading)
    mean = dataset.mean_file_bytes
    return (
        *_WHEN_AND_WHAT(record),
        *_LABELS(record),
        *(_PATH(record.path) if record.path else _NO_PATH),
        dataset.file_count,
        dataset.total_bytes,
        dataset.total_bytes / dataset.file_count if mean is None else mean,
        *_DATASET(dataset),
        *(_PARAMETERS(record.parameters) if record.parameters else _NO_PARAMETERS),
        *_OUTCOME(record.outcome),
        *(_USAGE(record.usage) if record.usage else _NO_USAGE),
        *source,
        *destination,
        record.parameters.part_bytes if record.parameters else None,
        record.store,
    )


def _find_month(at: datetime) -> tuple[int, int]:
    utc = at.astimezone(UTC)
    return utc.year, utc.month
