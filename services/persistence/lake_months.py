"""One file for the days of a month: the rows of the days' files, with their day as a column.

The days may have been exported by different versions. The month has the columns of the day that was exported last; a
column that an older file lacks is NULL there, and amounts that it has as text become decimals.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import IO
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from services.application.logs.export import ExportedDay, FinishedMonth, find_folder
from services.persistence.lake_files import PART, Storage
from services.persistence.log_reader import EXACT_TYPES

ROWS_AT_ONCE = 20_000


def join_days(storage: Storage, tenant_id: UUID, finished: FinishedMonth) -> pa.RecordBatchReader:
    """Return the rows of a month's days in order, read from their files as they are taken."""

    def open_day(day: ExportedDay) -> AbstractContextManager[IO[bytes]]:
        return storage.read(f"{find_folder(day.view, tenant_id, day.day)}/{PART}")

    with open_day(max(finished.days, key=lambda day: day.exported_at)) as newest:
        fields = [
            field.with_type(EXACT_TYPES.get(field.name, field.type)) for field in pq.ParquetFile(newest).schema_arrow
        ]
    schema = pa.schema([pa.field("day", pa.date32(), nullable=False), *fields])

    def read() -> Iterator[pa.RecordBatch]:
        for day in finished.days:
            with open_day(day) as file:
                for batch in pq.ParquetFile(file).iter_batches(batch_size=ROWS_AT_ONCE):
                    yield _conform(batch, day, schema)

    return pa.RecordBatchReader.from_batches(schema, read())


def _conform(batch: pa.RecordBatch, day: ExportedDay, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows of a day with its date and exactly the columns of the month."""
    columns = [pa.repeat(pa.scalar(day.day, pa.date32()), batch.num_rows)]
    for field in list(schema)[1:]:
        has_column = field.name in batch.schema.names
        columns.append(
            batch.column(field.name).cast(field.type) if has_column else pa.nulls(batch.num_rows, field.type)
        )
    return pa.RecordBatch.from_arrays(columns, schema=schema)
