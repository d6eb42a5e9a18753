"""Export views as Parquet files to a folder or an object store: ``transfers/tenant=…/day=…/part-0.parquet``, and a
manifest.

The partition's columns are in its path only, as Spark, DuckDB and others expect them. A file replaces an older one
atomically: by a rename in a folder, by the end of its upload in an object store. Its manifest follows; its name begins
with an underscore, so that readers of Parquet skip it.

For workers: the API does not import this module, whose libraries take 90 MB.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from os import SEEK_END
from typing import IO, Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from services.application.logs.export import (
    Dimension,
    ExportedDay,
    FinishedMonth,
    View,
    WrittenDay,
    find_dimension_folder,
    find_folder,
    find_month_folder,
)
from services.persistence.lake_files import PART, Storage
from services.persistence.lake_months import join_days
from services.persistence.log_reader import LogReader
from tradewind.errors import Unavailable

MANIFEST = "_manifest.json"
COMPRESSION, COMPRESSION_LEVEL = "zstd", 3
BLOCK_BYTES = 2**20
FORMAT_VERSION = 1
"""Version of the manifest; readers refuse a version that they do not know."""


class ParquetLake:
    """Exported files of all tenants.

    Parameters
    ----------
    logs : reads the rows of one tenant at a time.
    """

    def __init__(self, storage: Storage, logs: LogReader) -> None:
        self._storage = storage
        self._logs = logs

    def write(self, view: View, tenant_id: UUID, day: date) -> WrittenDay:
        """Replace a day's file by the rows that the day has now, with a few batches in memory.

        Raises
        ------
        Unavailable : the database or the storage does not answer.
        """
        folder = find_folder(view, tenant_id, day)
        try:
            with (
                self._storage.replace(f"{folder}/{PART}") as file,
                self._logs.read_day_rows(view, tenant_id, day) as rows,
            ):
                written = write_parquet(rows, file)
            with self._storage.replace(f"{folder}/{MANIFEST}") as file:
                file.write(build_manifest(tenant_id, written, day=day.isoformat()))
        except OSError as error:
            raise Unavailable(f"the storage of exports does not answer: {error}; the day is tried again") from error
        return written

    def write_dimension(self, dimension: Dimension, tenant_id: UUID) -> WrittenDay:
        """Replace a dimension's file by the rows that it has now.

        Raises
        ------
        Unavailable : the database or the storage does not answer.
        """
        folder = find_dimension_folder(dimension, tenant_id)
        with (
            _translate_errors(),
            self._storage.replace(f"{folder}/{PART}") as file,
            self._logs.read_dimension_rows(dimension, tenant_id) as rows,
        ):
            written = write_parquet(rows, file)
        with _translate_errors(), self._storage.replace(f"{folder}/{MANIFEST}") as file:
            file.write(build_manifest(tenant_id, written))
        return written

    def compact(self, finished: FinishedMonth, tenant_id: UUID) -> WrittenDay | None:
        """Replace a month's file by the rows in the files of its days, with a few batches in memory.

        Return ``None`` where it is made of these files already, or one of them is missing or changed, which the
        retention of logs reports.

        Raises
        ------
        Unavailable : the storage does not answer.
        """
        folder = find_month_folder(finished.view, tenant_id, finished.month)
        sources = {day.day.isoformat(): day.file.sha256 for day in finished.days}
        with _translate_errors():
            if self._holds_month(folder, sources):
                return None
        if not all(self.holds(tenant_id, day) for day in finished.days):
            return None
        with _translate_errors():
            with self._storage.replace(f"{folder}/{PART}") as file:
                written = write_parquet(join_days(self._storage, tenant_id, finished), file)
            with self._storage.replace(f"{folder}/{MANIFEST}") as file:
                file.write(build_manifest(tenant_id, written, month=str(finished.month), days=sources))
        return written

    def _holds_month(self, folder: str, sources: Mapping[str, str]) -> bool:
        """Return whether a month's file is there, in its length, and its manifest says that it is made of these days.

        Parameters
        ----------
        sources : the checksum of each day's file.
        """
        try:
            with self._storage.read(f"{folder}/{MANIFEST}") as file:
                manifest = json.load(file)
            with self._storage.read(f"{folder}/{PART}") as file:
                size = file.seek(0, SEEK_END)
            return bool(manifest["days"] == sources and manifest["files"][0]["bytes"] == size)
        except (FileNotFoundError, ValueError, LookupError, TypeError):
            return False

    def holds(self, tenant_id: UUID, exported: ExportedDay) -> bool:
        """Return whether the file of a day is there, byte for byte as it was exported.

        Raises
        ------
        Unavailable : the storage does not answer.
        """
        try:
            with self._storage.read(f"{find_folder(exported.view, tenant_id, exported.day)}/{PART}") as file:
                return _compute_sha256(file) == exported.file.sha256
        except FileNotFoundError:
            return False
        except OSError as error:
            raise Unavailable(f"the storage of exports does not answer: {error}") from error


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(f"the storage of exports does not answer: {error}") from error


def _compute_sha256(file: IO[bytes]) -> str:
    sha256 = hashlib.sha256()
    while block := file.read(BLOCK_BYTES):
        sha256.update(block)
    return sha256.hexdigest()


def build_manifest(tenant_id: UUID, written: WrittenDay, **also: Any) -> bytes:
    """Return the manifest of a folder, with the checksum of its file."""
    document = {
        "version": FORMAT_VERSION,
        "tenant": str(tenant_id),
        **also,
        "files": [{"name": PART, "rows": written.rows, "bytes": written.bytes, "sha256": written.sha256}],
    }
    return json.dumps(document, indent=2).encode() + b"\n"


def write_parquet(rows: pa.RecordBatchReader, file: IO[bytes]) -> WrittenDay:
    """Write the rows as one file, with a row group for each batch."""
    sink, count = _HashingFile(file), 0
    options = {"compression": COMPRESSION, "compression_level": COMPRESSION_LEVEL, "version": "2.6"}
    with pq.ParquetWriter(sink, rows.schema, **options) as writer:
        for batch in rows:
            writer.write_batch(batch)
            count += batch.num_rows
    return WrittenDay(rows=count, bytes=sink.size, sha256=sink.sha256.hexdigest())


class _HashingFile:
    """A file that computes its checksum while it is written."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.size = 0
        self.sha256 = hashlib.sha256()

    def write(self, data: Any) -> int:
        view = memoryview(data)
        self._file.write(view)
        self.sha256.update(view)
        self.size += view.nbytes
        return view.nbytes

    def writable(self) -> bool:
        return True

    def flush(self) -> None:
        """Do nothing: whoever opened the file closes it."""
