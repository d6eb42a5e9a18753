"""Views as Parquet files in a folder or an object store: ``transfers/tenant=…/day=…/part-0.parquet``, and a manifest.

The partition's columns are in its path alone, as Spark, DuckDB and others expect them. A file takes the place of an
older one at one stroke: by a rename in a folder, by the end of its upload in an object store. Then its manifest does,
whose name begins with an underscore, so that readers of Parquet pass it over.

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

from services.application.logs.export import ExportedDay, View, WrittenDay, folder_of
from services.persistence.log_reader import LogReader
from tradewind.errors import Unavailable

PART, MANIFEST = "part-0.parquet", "_manifest.json"
COMPRESSION, COMPRESSION_LEVEL = "zstd", 3
BLOCK_BYTES = 2**20
FORMAT_VERSION = 1
"""Of the manifest; readers refuse what they do not know."""


class Storage(Protocol):
    """Files by their path below a root."""

    def replace(self, path: str) -> Any:
        """A context with a file to write to, which takes the place of ``path`` when it ends without an error."""

    def read(self, path: str) -> AbstractContextManager[IO[bytes]]:
        """A context with a file to read from; ``FileNotFoundError`` where there is none."""


class Folder:
    """A folder of this host, or one that is mounted."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextmanager
    def replace(self, path: str) -> Iterator[IO[bytes]]:
        place = self._root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        partial = place.with_name(f".{place.name}.{uuid4().hex}")
        try:
            with partial.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(place)
        finally:
            partial.unlink(missing_ok=True)

    def read(self, path: str) -> AbstractContextManager[IO[bytes]]:
        return (self._root / path).open("rb")


class ObjectStore:
    """A bucket, or a folder in one. An object appears when its upload ends, as a whole."""

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
            file.closed = True  # else it would upload what it holds when it is collected
            raise
        with _as_os_error():
            file.close()


@contextmanager
def _as_os_error() -> Iterator[None]:
    """Each kind of store has errors of its own where it cannot be reached."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(str(error)) from error


def open_storage(place: str) -> Storage:
    """Where a setting says: the path of a folder, or the URL of an object store such as ``s3://bucket/folder``."""
    return ObjectStore(place) if "://" in place else Folder(Path(place))


class ParquetLake:
    """Files of all tenants.

    Parameters
    ----------
    logs : reads the rows of one tenant at a time.
    """

    def __init__(self, storage: Storage, logs: LogReader) -> None:
        self._storage = storage
        self._logs = logs

    def write(self, view: View, tenant_id: UUID, day: date) -> WrittenDay:
        """Put the rows that a day has now in the place of what was there; in memory of a few batches.

        Raises
        ------
        Unavailable : the database or the storage does not answer.
        """
        folder = folder_of(view, tenant_id, day)
        try:
            with self._storage.replace(f"{folder}/{PART}") as file, self._logs.day_rows(view, tenant_id, day) as rows:
                written = write_parquet(rows, file)
            with self._storage.replace(f"{folder}/{MANIFEST}") as file:
                file.write(build_manifest(tenant_id, day, written))
        except OSError as error:
            raise Unavailable(f"the storage of exports does not answer: {error}; the day is tried again") from error
        return written

    def holds(self, tenant_id: UUID, exported: ExportedDay) -> bool:
        """Whether the file of a day is there, byte for byte as it was exported.

        Raises
        ------
        Unavailable : the storage does not answer.
        """
        try:
            with self._storage.read(f"{folder_of(exported.view, tenant_id, exported.day)}/{PART}") as file:
                return _sha256_of(file) == exported.file.sha256
        except FileNotFoundError:
            return False
        except OSError as error:
            raise Unavailable(f"the storage of exports does not answer: {error}") from error


def _sha256_of(file: IO[bytes]) -> str:
    sha256 = hashlib.sha256()
    while block := file.read(BLOCK_BYTES):
        sha256.update(block)
    return sha256.hexdigest()


def build_manifest(tenant_id: UUID, day: date, written: WrittenDay) -> bytes:
    """What a day's folder holds, with the checksum of its file."""
    document = {
        "version": FORMAT_VERSION,
        "tenant": str(tenant_id),
        "day": day.isoformat(),
        "files": [{"name": PART, "rows": written.rows, "bytes": written.bytes, "sha256": written.sha256}],
    }
    return json.dumps(document, indent=2).encode() + b"\n"


def write_parquet(rows: pa.RecordBatchReader, file: IO[bytes]) -> WrittenDay:
    """Write the rows as one file, in groups of the batches that they come in."""
    sink, count = _Hashed(file), 0
    options = {"compression": COMPRESSION, "compression_level": COMPRESSION_LEVEL, "version": "2.6"}
    with pq.ParquetWriter(sink, rows.schema, **options) as writer:
        for batch in rows:
            writer.write_batch(batch)
            count += batch.num_rows
    return WrittenDay(rows=count, bytes=sink.size, sha256=sink.sha256.hexdigest())


class _Hashed:
    """A file that is hashed while it is written."""

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
        """The file is closed by whoever opened it."""
