"""Export views as Parquet files to a folder or an object store: ``transfers/tenant=…/day=…/part-0.parquet``, and a
manifest.

The partition's columns are in its path only, as Spark, DuckDB and others expect them. A file replaces an older one
atomically: by a rename in a folder, by the end of its upload in an object store. Its manifest follows; its name begins
with an underscore, so that readers of Parquet skip it.

For workers: the API does not import this module, whose libraries take 90 MB.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from pathlib import Path
from typing import IO, Any, Protocol
from uuid import UUID, uuid4

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from services.application.logs.export import ExportedDay, View, WrittenDay, find_folder
from services.persistence.log_reader import LogReader
from tradewind.errors import Unavailable

PART, MANIFEST = "part-0.parquet", "_manifest.json"
COMPRESSION, COMPRESSION_LEVEL = "zstd", 3
BLOCK_BYTES = 2**20
FORMAT_VERSION = 1
"""Version of the manifest; readers refuse a version that they do not know."""


class Storage(Protocol):
    """Files by their path below a root: a folder or an object store."""

    def replace(self, path: str) -> Any:
        """Return a context with a file to write to, which replaces ``path`` when it ends without an error."""

    def read(self, path: str) -> AbstractContextManager[IO[bytes]]:
        """Return a context with a file to read from; raise ``FileNotFoundError`` where there is none."""


class Folder:
    """A folder of this host, or a mounted one. Files and folders that are made in it are its owner's alone."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextmanager
    def replace(self, path: str) -> Iterator[IO[bytes]]:
        place = self._root / path
        for folder in reversed((place.parent, *place.parent.parents)):  # `mode` of mkdir is for the last one only
            folder.mkdir(mode=0o700, exist_ok=True)
        partial = place.with_name(f".{place.name}.{uuid4().hex}")
        try:
            with open(partial, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(place)
        finally:
            partial.unlink(missing_ok=True)

    def read(self, path: str) -> AbstractContextManager[IO[bytes]]:
        return (self._root / path).open("rb")


class ObjectStore:
    """A bucket, or a folder in one. An object appears only when its upload is complete."""

    def __init__(self, url: str) -> None:
        self._filesystem, self._root = fsspec.core.url_to_fs(url)

    @contextmanager
    def read(self, path: str) -> Iterator[IO[bytes]]:
        with _as_os_error(), self._filesystem.open(f"{self._root}/{path}", "rb") as file:
            yield file

    @contextmanager
    def replace(self, path: str) -> Iterator[IO[bytes]]:
        with _as_os_error():
            file = self._filesystem.open(f"{self._root}/{path}", "wb")
        try:
            yield file
        except BaseException:
            file.discard()
            file.closed = True  # otherwise it would upload its buffer when it is collected
            raise
        with _as_os_error():
            file.close()


@contextmanager
def _as_os_error() -> Iterator[None]:
    """Turn every error of a store into an ``OSError``: each kind of store has errors of its own."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(str(error)) from error


def open_storage(place: str) -> Storage:
    """Return the storage of a setting: the path of a folder, or the URL of an object store such as
    ``s3://bucket/folder``.
    """
    return ObjectStore(place) if "://" in place else Folder(Path(place))


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
                file.write(build_manifest(tenant_id, day, written))
        except OSError as error:
            raise Unavailable(f"the storage of exports does not answer: {error}; the day is tried again") from error
        return written

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


def _compute_sha256(file: IO[bytes]) -> str:
    sha256 = hashlib.sha256()
    while block := file.read(BLOCK_BYTES):
        sha256.update(block)
    return sha256.hexdigest()


def build_manifest(tenant_id: UUID, day: date, written: WrittenDay) -> bytes:
    """Return the manifest of a day's folder, with the checksum of its file."""
    document = {
        "version": FORMAT_VERSION,
        "tenant": str(tenant_id),
        "day": day.isoformat(),
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
