"""SDK: SQL on the warehouse. Libraries of data frames are imported when they are asked for.

They are extras of this distribution: ``pip install tradewind-agent[arrow]``, ``[pandas]`` or ``[polars]``. Without any
of them `QueryResult.rows` and `QueryResult.csv` work.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode
from uuid import UUID

import httpx
from pydantic import TypeAdapter, ValidationError

from tradewind.wire.base import describe_validation_error
from tradewind.wire.warehouse import (
    CUT_METADATA,
    ROW_LIMIT_HEADER,
    Parameter,
    QueryFormat,
    QueryRequest,
    WarehouseCredentials,
    WarehouseExports,
    WarehouseQueryLog,
    WarehouseSchema,
    parse_integer,
    parse_number,
)
from tradewind_agent.service.calls import Calls
from tradewind_agent.service.libraries import import_library

ANSWER_TIMEOUT_S = 600.0
"""Longer than the service lets a query run: it reports its own limit."""


ExportedView = Literal["transfers", "heartbeats", "quotes"]

SqlValue = Parameter | date | timedelta | Decimal | UUID | Sequence["SqlValue"]
"""What a parameter of a statement may be."""


class QueryResult:
    """The rows of a query, which each call of a method runs again.

    Attributes
    ----------
    cut : whether the answer read last ended at ``limit`` although there were more rows.
    """

    def __init__(self, calls: Calls, request: QueryRequest) -> None:
        self._calls = calls
        self._request = request
        self.cut = False

    def rows(self) -> list[dict[str, Any]]:
        """Return a dictionary a row, with the values of JSON: numbers, text, true, false, None, lists, objects.

        Numbers beyond the range of a double are text.
        """
        with self._request_answer("json") as response:
            response.read()
            document = response.json(parse_int=parse_integer, parse_float=parse_number)
        self.cut = document["cut"]
        found: list[dict[str, Any]] = document["rows"]
        return found

    def csv(self) -> Iterator[bytes]:
        """Yield the rows as CSV under a line of names, piece by piece; ``cut`` is known after the last of them.

        CSV has no place to say that there are more rows, so one more is requested than is returned. Where the service
        permits no more than ``limit``, as many rows as that count as cut.
        """
        self.cut = False
        limit = self._request.limit
        if limit is None:  # more than the service permits is an error
            with self._request_answer("csv") as response:
                yield from response.iter_bytes()
            return
        first = FirstRecords(limit + 1)
        with self._request_answer("csv", limit=limit + 1) as response:
            permitted = int(response.headers.get(ROW_LIMIT_HEADER, limit + 1))
            for piece in response.iter_bytes():
                if records := first.cut_piece(piece):
                    yield records
        self.cut = first.more or first.records > permitted

    def arrow(self) -> Any:
        """Return the rows as a ``pyarrow.Table``."""
        pyarrow = import_library("pyarrow", "arrow")
        with self._open_stream() as reader:
            return pyarrow.Table.from_batches(list(self._read_batches(reader)), reader.schema)

    def batches(self) -> Iterator[Any]:
        """Yield the rows as ``pyarrow.RecordBatch``, piece by piece as they arrive, in flat memory.

        ``cut`` is known after the last of them. An answer without rows has no batch.
        """
        with self._open_stream() as reader:
            yield from self._read_batches(reader)

    @contextmanager
    def _open_stream(self) -> Iterator[Any]:
        pyarrow = import_library("pyarrow", "arrow")
        with (
            self._request_answer("arrow") as response,
            pyarrow.ipc.open_stream(_Reader(response.iter_bytes())) as reader,
        ):
            yield reader

    def _read_batches(self, reader: Any) -> Iterator[Any]:
        self.cut = False
        while True:
            try:
                batch, metadata = reader.read_next_batch_with_custom_metadata()
            except StopIteration:
                return
            self.cut = metadata is not None and CUT_METADATA in metadata
            yield batch

    def pandas(self) -> Any:
        """Return the rows as a ``pandas.DataFrame``; ids are text."""
        import_library("pandas", "pandas")
        return _format_ids(self.arrow()).to_pandas()

    def polars(self) -> Any:
        """Return the rows as a ``polars.DataFrame``; ids are text."""
        return import_library("polars", "polars").from_arrow(_format_ids(self.arrow()))

    def arrow_file(self, path: str) -> int:
        """Write the rows to a file in the format of Arrow IPC (Feather 2); how many they are."""
        pyarrow = import_library("pyarrow", "arrow")
        with (
            self._open_stream() as reader,
            _replace_at_success(path) as partial,
            pyarrow.OSFile(str(partial), "wb") as file,
            pyarrow.ipc.new_file(file, reader.schema) as writer,
        ):
            return self._write_batches(reader, writer)

    def parquet(self, path: str) -> int:
        """Write the rows to a Parquet file (zstd); how many they are."""
        parquet = import_library("pyarrow.parquet", "arrow")
        with (
            self._open_stream() as reader,
            _replace_at_success(path) as partial,
            parquet.ParquetWriter(partial, reader.schema, compression="zstd") as writer,
        ):
            return self._write_batches(reader, writer)

    def _write_batches(self, reader: Any, writer: Any) -> int:
        rows = 0
        for batch in self._read_batches(reader):
            writer.write_batch(batch)
            rows += batch.num_rows
        return rows

    def _request_answer(self, form: QueryFormat, **changed: Any) -> AbstractContextManager[httpx.Response]:
        body = self._request.model_copy(update={"format": form, **changed})
        return self._calls.stream("POST", "/v1/warehouse/query", body=body, timeout_s=ANSWER_TIMEOUT_S)


@contextmanager
def _replace_at_success(path: str) -> Iterator[Path]:
    """Yield a file next to ``path`` that takes its place once the block ends well; otherwise it is removed.

    Writers close their files when a stream breaks off, too, and what they have written by then reads as complete.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():  # such as a pipe
        yield target
        return
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        yield partial
        if target.exists():
            partial.chmod(stat.S_IMODE(target.stat().st_mode))
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _format_ids(table: Any) -> Any:
    """Return an Arrow table with ids as text, which data frames have no type for."""
    pyarrow = import_library("pyarrow", "arrow")
    for index, field in enumerate(table.schema):
        if getattr(field.type, "extension_name", "") == "arrow.uuid":
            ids = [None if value is None else str(value) for value in table.column(index).to_pylist()]
            table = table.set_column(index, field.name, pyarrow.array(ids, pyarrow.string()))
    return table


class FirstRecords:
    """The first records of a CSV that comes in pieces, its line of names among them.

    ``records`` : how many have come; ``more`` : whether something came behind those.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._quoted = False
        self.records = 0
        self.more = False

    def cut_piece(self, piece: bytes) -> bytes:
        """Return the part of a piece that belongs to the first records."""
        position = 0
        for number, part in enumerate(piece.split(b'"')):  # a doubled quote ends the field and begins it again
            if number:
                self._quoted = not self._quoted
                position += 1
            ends = 0 if self._quoted else part.count(b"\n")
            if self.records + ends >= self._count:
                return self._cut_behind_last(piece, position)
            self.records += ends
            position += len(part)
        return piece

    def _cut_behind_last(self, piece: bytes, position: int) -> bytes:
        while self.records < self._count:
            position = piece.index(b"\n", position) + 1
            self.records += 1
        self.more |= position < len(piece)
        return piece[:position]


class Warehouse:
    """The warehouse of the key's tenant; its key needs the scope analyst."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def query(self, sql: str, parameters: Sequence[SqlValue] = (), *, limit: int | None = None) -> QueryResult:
        """Prepare one read-only statement with values for its ``$1``, ``$2``, …; it is sent when its rows are read.

        Parameters
        ----------
        parameters : numbers, texts, dates and times, ids; a `timedelta` is an interval and a list an array.
        limit : the answer ends after so many rows. Without one, more than the service's limit is an error.

        Raises
        ------
        InvalidValue : the statement is empty or too long, or a value cannot be sent.
        """
        try:
            request = QueryRequest(sql=sql, parameters=tuple(map(_to_parameter, parameters)), limit=limit)
        except ValidationError as wrong:
            raise describe_validation_error(wrong.errors()[0]) from None
        return QueryResult(self._calls, request)

    def schema(self) -> WarehouseSchema:
        """Return the views, with the meaning and unit of each column."""
        return self._calls.call("GET", "/v1/warehouse/schema", TypeAdapter(WarehouseSchema))

    def queries(self, *, limit: int = 100, before: int | None = None) -> WarehouseQueryLog:
        """Return the key's own queries that have ended, the newest first; ``before`` : of lower ids than that."""
        query = urlencode({"limit": limit, **({} if before is None else {"before": before})})
        return self._calls.call("GET", f"/v1/warehouse/queries?{query}", TypeAdapter(WarehouseQueryLog))

    def credentials(self) -> WarehouseCredentials:
        """Return a read-only login for psql, notebooks and dashboards."""
        return self._calls.call("GET", "/v1/warehouse/credentials", TypeAdapter(WarehouseCredentials))

    def exports(
        self, view: ExportedView = "transfers", *, limit: int = 100, before: date | None = None
    ) -> WarehouseExports:
        """Return where exports are, and the newest days of a view; `tradewind_agent.service.exports` reads the files.

        Parameters
        ----------
        limit, before : at most so many days, all before that one.
        """
        query = {"view": view, "limit": limit, **({} if before is None else {"before": before.isoformat()})}
        return self._calls.call("GET", f"/v1/warehouse/exports?{urlencode(query)}", TypeAdapter(WarehouseExports))


def _to_parameter(value: SqlValue) -> Parameter:
    """Return a value as the request has it: PostgreSQL reads what JSON has no type for from its text."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, timedelta):
        return f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"
    if isinstance(value, list | tuple):
        return "{" + ",".join(map(_quote_element, value)) + "}"
    return str(value)


def _quote_element(value: SqlValue) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list | tuple):
        return str(_to_parameter(value))
    text = str(_to_parameter(value)).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


class _Reader:
    """A file of the pieces of an answer."""

    closed = False

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = memoryview(b"")

    def read(self, size: int = -1) -> bytes:
        """Read ``size`` bytes, fewer only at the end; all that are left if it is below 0."""
        if 0 <= size <= len(self._held):
            taken, self._held = self._held[:size], self._held[size:]
            return bytes(taken)
        parts, missing = [self._held], size - len(self._held)
        self._held = memoryview(b"")
        for piece in self._pieces:
            if 0 <= missing < len(piece):
                parts.append(memoryview(piece)[:missing])
                self._held = memoryview(piece)[missing:]
                break
            parts.append(memoryview(piece))
            missing -= len(piece)
        return b"".join(parts)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True
