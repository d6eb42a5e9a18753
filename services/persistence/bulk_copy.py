"""Transfer records into ``transfer_logs`` by the block: COPY into a staging table, from there only what is new.

COPY does not go into a table with row-level security and stops at the first duplicate; a temporary table has
neither trouble. Rows are rendered as COPY text by hand, a block at a time, rather than value by value.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, date, datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

from psycopg import Connection

from services.application.ingest_logs import AcceptedRow
from services.persistence.tables import transfer_logs
from tradewind.energy import Host
from tradewind.wire.records import WireRecord

COLUMNS = tuple(column.name for column in transfer_logs.columns)
COLUMN_LIST = ", ".join(COLUMNS)

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

_CREATE_STAGING = """
    CREATE TEMPORARY TABLE IF NOT EXISTS staged_transfer_logs ON COMMIT DELETE ROWS AS
    SELECT NULL::bigint AS row, * FROM transfer_logs WITH NO DATA
"""
_COPY_IN = f"COPY staged_transfer_logs (row, {COLUMN_LIST}) FROM STDIN"
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


class TransferCopy:
    """The transfers of one unit of work.

    Parameters
    ----------
    connection : in the transaction of the unit of work.
    ensure_months : makes the partitions of these months, in a transaction of its own.
    """

    def __init__(
        self, connection: Connection, tenant_id: UUID, ensure_months: Callable[[Collection[date]], None]
    ) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._ensure_months = ensure_months
        self._months: set[date] = set()

    def add(self, rows: Sequence[AcceptedRow], *, batch_id: UUID, received_at: datetime) -> set[int]:
        """Store the records that are new.

        Returns
        -------
        Numbers of the rows whose record (id and start) is stored already, or came before in ``rows``.
        """
        if not rows:
            return set()
        missing = {_month(each.record.started_at) for each in rows} - self._months
        if missing:
            self._ensure_months(missing)
            self._months |= missing
        with self._connection.cursor() as cursor:
            cursor.execute(_CREATE_STAGING)
            with cursor.copy(_COPY_IN) as copy:
                for text in copy_texts(rows, tenant_id=self._tenant_id, batch_id=batch_id, received_at=received_at):
                    copy.write(text)
            cursor.execute(_STORE_NEW)
            refused = {int(row) for (row,) in cursor.fetchall()}
            cursor.execute(_EMPTY_STAGING)
        return refused


ROWS_A_WRITE = 500
"""Rows rendered before they are handed to libpq: the server works on them while the next are rendered."""


def copy_texts(rows: Sequence[AcceptedRow], *, tenant_id: UUID, batch_id: UUID, received_at: datetime) -> Iterable[str]:
    """``rows`` as COPY text in the order of ``row`` and ``COLUMNS``, some at a time."""
    template = _template(tenant_id, batch_id, received_at)
    for start in range(0, len(rows), ROWS_A_WRITE):
        yield "".join([_text(each, template) for each in rows[start : start + ROWS_A_WRITE]])


def _template(tenant_id: UUID, batch_id: UUID, received_at: datetime) -> str:
    """One line of COPY text: what a batch has in common is written in, the rest is left as ``%s``."""
    common = {"tenant_id": tenant_id, "batch_id": batch_id, "received_at": received_at}
    return "\t".join(["%s", *(str(common.get(name, "%s")) for name in COLUMNS)]) + "\n"


def _text(accepted: AcceptedRow, template: str) -> str:
    row, record, link = accepted
    return template % tuple([_field(value) for value in (row, record.id, link.id, *_values(record))])


def _field(value: Any) -> Any:
    """COPY text of one value (PostgreSQL manual, COPY, text format)."""
    if value is None:
        return "\\N"
    if isinstance(value, str):
        return escaped(value)
    return value


def escaped(text: str) -> str:
    """Text with what COPY would take for a delimiter, a newline or an escape escaped."""
    if "\\" in text or not text.isprintable():
        return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    return text


def _values(record: WireRecord) -> tuple[Any, ...]:
    """Values of a record from ``started_at`` on, in the order of the columns."""
    dataset = record.dataset
    energy = {reading.host: _ENERGY(reading) for reading in record.energy}
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
        *energy.get(Host.SOURCE, _NO_ENERGY),
        *energy.get(Host.DESTINATION, _NO_ENERGY),
    )


def _month(at: datetime) -> date:
    utc = at.astimezone(UTC)
    return date(utc.year, utc.month, 1)
