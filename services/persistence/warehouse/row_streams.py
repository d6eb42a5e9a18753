"""Stream the rows of a statement as bytes of a format through PostgreSQL's COPY: memory stays constant, since the
database refuses rows that are too large.

Each stream requests one row more than it may send, and so knows whether there were more: ``cut``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import psycopg
from psycopg import sql

from services.application.warehouse.query import Format
from services.persistence.warehouse.formulas import mark_formulas
from services.persistence.warehouse.row_sizes import Column, format_names, limit_line_sizes, limit_row_sizes
from tradewind.errors import QueryRefused, Unavailable
from tradewind.units import KIB, MIB
from tradewind.wire.warehouse import CUT_METADATA

CHUNK_BYTES = 256 * KIB
ARROW_BATCH_BYTES = 4 * MIB
CANCEL_PATIENCE_S = 5.0
ROW_TOO_LARGE = "bytes, more than the"
"""Words of `warehouse.row_too_large`."""


class RowStream(Protocol):
    """A stream of rows in one format: one class each for CSV, JSON and Arrow.

    One thread runs ``chunks``; another may call ``cancel``. ``sent_rows`` counts rows that were yielded or are held.
    """

    cut: bool
    sent_rows: int

    def read_chunks(self) -> Iterator[bytes]: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows to send: those of ``statement`` with these ``columns``, up to a number and a size of each."""

    statement: str
    columns: Sequence[Column]
    limit: int
    most_bytes: int

    def select_first(self, sized: str, names: str, selected: str = "*") -> str:
        """Return as many rows of ``sized`` as are sent, and one more, with their columns under these names."""
        return f"SELECT {selected} FROM (\n{sized}\n) AS tradewind_row ({names}) LIMIT {self.limit + 1}"  # noqa: S608 - the analyst's own, by the analyst's rights


class _CopyStream:
    """What CSV and JSON have in common: the connection that prepared the statement also copies."""

    def __init__(self, connection: psycopg.Connection, rows: Rows) -> None:
        self._connection = connection
        self._rows = rows
        self._limit = rows.limit
        self.cut = False
        self.sent_rows = 0

    def cancel(self) -> None:
        self._connection.cancel_safe(timeout=CANCEL_PATIENCE_S)

    def close(self) -> None:
        """Do nothing: the connection belongs to its owner."""

    def _copy(self, sized: str, names: str, options: str, selected: str = "*") -> psycopg.sql.Composed:
        query = sql.SQL(self._rows.select_first(sized, names, selected))
        return sql.SQL("COPY ({}) TO STDOUT WITH ({})").format(query, sql.SQL(options))


class CsvRows(_CopyStream):
    """A header line, then rows as PostgreSQL writes them, but for texts that a spreadsheet would take for formulas."""

    def read_chunks(self) -> Iterator[bytes]:
        held, size = [], 0
        rows = self._rows
        sized = limit_row_sizes(rows.statement, rows.columns, rows.most_bytes)
        options, harmless = "FORMAT csv, HEADER", mark_formulas(rows.columns)
        statement = self._copy(sized, format_names(rows.columns), options, harmless)
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            for number, line in enumerate(copy):  # number 0 is the header
                if number > self._limit:
                    self.cut = True
                    continue
                self.sent_rows = number
                held.append(line)
                size += len(line)
                if size >= CHUNK_BYTES:
                    yield b"".join(held)
                    held, size = [], 0
        yield b"".join(held)


class JsonRows(_CopyStream):
    """``{"rows": [{…}, …], "row_count": n, "cut": false}``, the rows as PostgreSQL writes them."""

    def read_chunks(self) -> Iterator[bytes]:
        held, size = ['{"rows":['], 0
        rows = self._rows
        statement = self._copy(limit_line_sizes(rows.statement, rows.columns, rows.most_bytes), "line", "FORMAT text")
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            for (row,) in copy.rows():
                if self.sent_rows == self._limit:
                    self.cut = True
                    continue
                held.append(f",\n{row}" if self.sent_rows else f"\n{row}")
                self.sent_rows += 1
                size += len(row)
                if size >= CHUNK_BYTES:
                    yield "".join(held).encode()
                    held, size = [], 0
        held.append(f'\n],"row_count":{self.sent_rows},"cut":{"true" if self.cut else "false"}}}\n')
        yield "".join(held).encode()


class ArrowRows:
    """An Arrow IPC stream. The columnar driver has a connection of its own, by the same login, instead of this one."""

    def __init__(self, connection: psycopg.Connection, rows: Rows) -> None:
        # Imported here: a process that never answers in Arrow saves 90 MB of libraries.
        import adbc_driver_postgresql.dbapi as adbc  # noqa: PLC0415

        self._errors: Any = adbc
        self._url = _build_url(connection)
        connection.close()  # a login has few connections
        self._rows = rows
        self._limit = rows.limit
        self.cut = False
        self.sent_rows = 0
        try:
            self._connection = adbc.connect(self._url, autocommit=True)
        except adbc.OperationalError as away:
            raise Unavailable("the database does not answer now, or is asked too much; try again") from away
        self._cursor = self._connection.cursor()

    def cancel(self) -> None:
        with suppress(self._errors.ProgrammingError):  # it is closed: there is nothing left to cancel
            self._cursor.adbc_cancel()

    def close(self) -> None:
        self._cursor.close()
        self._connection.close()

    def read_chunks(self) -> Iterator[bytes]:
        import pyarrow as pa  # noqa: PLC0415

        from services.persistence.warehouse.arrow_numbers import Numbers  # noqa: PLC0415

        sized = limit_row_sizes(self._rows.statement, self._rows.columns, self._rows.most_bytes)
        try:
            self._cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(ARROW_BATCH_BYTES)})
            self._cursor.execute(self._rows.select_first(sized, format_names(self._rows.columns)))
            reader = self._cursor.fetch_record_batch()
            numbers, sink = Numbers.of(self._rows.columns, reader.schema), _Sink()
            with pa.ipc.new_stream(sink, numbers.schema) as writer:
                for batch in reader:
                    sliced = batch.slice(0, self._limit - self.sent_rows)
                    self.cut |= sliced.num_rows < batch.num_rows
                    self.sent_rows += sliced.num_rows
                    writer.write_batch(numbers.in_batch(sliced))
                    yield from sink.read_taken()
                if self.cut:
                    nothing = pa.RecordBatch.from_pylist([], schema=numbers.schema)
                    writer.write_batch(nothing, custom_metadata={CUT_METADATA: b"true"})
            yield from sink.read_taken()
        except (self._errors.Error, pa.ArrowException, OSError) as error:
            raise _as_psycopg(error) from error


class _Sink:
    """A file that buffers what is written until it is taken."""

    closed = False

    def __init__(self) -> None:
        self._held: list[bytes] = []

    def write(self, data: Any) -> int:
        self._held.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: nothing is pending."""

    def writable(self) -> bool:
        return True

    def read_taken(self) -> Iterator[bytes]:
        held, self._held = self._held, []
        if held:
            yield b"".join(held)


def _build_url(connection: psycopg.Connection) -> str:
    """Return a connection's address, with its password, as a connection string of libpq."""
    return psycopg.conninfo.make_conninfo(connection.info.dsn, password=connection.info.password or None)


def _as_psycopg(error: Exception) -> Exception:
    """Return an error of the columnar driver as the other driver's error, by PostgreSQL's code."""
    sqlstate = getattr(error, "sqlstate", None)
    message = _find_server_message(str(error))
    if "canceling statement" in message:
        sqlstate = "57014"
    if ROW_TOO_LARGE in message:
        sqlstate = "54000"
    if message.startswith("out of memory"):
        sqlstate = "53200"
    try:
        kind = psycopg.errors.lookup(sqlstate) if sqlstate else None
    except KeyError:
        kind = None
    return kind(message) if kind is not None else QueryRefused(message, sqlstate=sqlstate)


def _find_server_message(text: str) -> str:
    """Return PostgreSQL's own message from that of the driver."""
    return text.rpartition("ERROR: ")[2].strip().partition("\n")[0] or text


ROW_STREAMS: Mapping[Format, Callable[[psycopg.Connection, Rows], RowStream]] = {
    Format.CSV: CsvRows,
    Format.JSON: JsonRows,
    Format.ARROW: ArrowRows,
}
