"""Where exported files are: a folder or an object store. A file replaces an older one atomically."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, Protocol
from uuid import uuid4

import fsspec

PART = "part-0.parquet"
"""The one file of rows in a folder of a day, a month or a dimension."""


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
