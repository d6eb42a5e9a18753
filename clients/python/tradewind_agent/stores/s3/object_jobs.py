"""From objects to jobs: which can be files here, and what is left out."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.jobs import DownloadJob, DownloadJobs, find_repeated
from tradewind_agent.engine.remote.index_page import check_path
from tradewind_agent.engine.remote.omissions import Omission, OmissionKind, make_name_omission
from tradewind_agent.engine.remote.path_selection import Selecting
from tradewind_agent.errors import UnsafeName
from tradewind_agent.stores.s3.address import S3Address
from tradewind_agent.stores.s3.bucket_pages import StoredObject, StoredObjects

_DIRECTORY_BUCKET = "--x-s3"
"""How names of directory buckets end: tags there look like sums and are none."""


class ObjectJobs:
    """The jobs of the objects of one bucket.

    Parameters
    ----------
    find_url : returns where a key is requested.
    unreadable : keys of objects that cannot be read now, with the reason.
    selecting : decides which objects are taken.
    keeps_keys : they go to an object store, which may have any key.

    Attributes
    ----------
    jobs : in the order in which they were added.
    omissions : what was found and left out.
    """

    def __init__(
        self,
        bucket: str,
        find_url: Callable[[str], Url],
        unreadable: Mapping[str, str],
        selecting: Selecting,
        *,
        keeps_keys: bool = False,
    ) -> None:
        self._bucket = bucket
        self._find_url = find_url
        self._unreadable = unreadable
        self._selecting = selecting
        self._keeps_keys = keeps_keys
        self.jobs = DownloadJobs()
        self.omissions: list[Omission] = []

    def add_folder(self, objects: StoredObjects, prefix: str, destination: Path) -> None:
        """Add the objects below a prefix, which are to be stored below ``destination``; ``objects`` is empty then.

        Object stores have no folders: a key may be a file and hold others, which no file system can store.
        """
        if find_repeated(objects.iterate_field("key")):
            objects = StoredObjects({each.key: each for each in objects}.values())
        holders = frozenset[str]() if self._keeps_keys else _find_holders(objects, prefix)
        here = str(destination / "a")[:-1]
        for found in objects.drain():
            path = found.key.removeprefix(prefix)
            is_folder = found.size_bytes == 0 and (path == "" or path.endswith("/"))
            if is_folder and not (self._keeps_keys and path):
                continue
            if not self._selecting.take_file(path):
                continue
            if self._keeps_keys and path:
                self.add_object(found, path)
                continue
            try:
                check_path(path, S3Address(self._bucket, prefix))
            except UnsafeName as error:
                self.omissions.append(make_name_omission(S3Address(self._bucket, found.key), error))
                continue
            if (holder := next((above for above in _list_above(path) if above in holders), None)) is not None:
                self._leave_out(found.key, f"cannot be stored: {holder!r} is a file and a folder at once")
                continue
            self.add_object(found, here + path)

    def add_object(self, found: StoredObject, destination: str) -> None:
        """Add one object, unless it cannot be read now."""
        if found.key in self._unreadable:
            self._leave_out(found.key, self._unreadable[found.key])
            return
        self.jobs.append(
            DownloadJob(
                source=self._find_url(found.key),
                destination=destination,
                size_bytes=found.size_bytes,
                etag=found.etag,
                has_md5_tag=not self._bucket.endswith(_DIRECTORY_BUCKET),
                modified_at=found.modified_at,
            )
        )

    def _leave_out(self, key: str, reason: str) -> None:
        """Leave out an object."""
        self.omissions.append(Omission(str(S3Address(self._bucket, key)), reason, OmissionKind.NOT_A_FILE))


def _find_holders(objects: StoredObjects, prefix: str) -> frozenset[str]:
    """Return the paths that are both an object and a folder of others. Folders are far fewer than objects."""
    begin = len(prefix)
    folders = {above for key in objects.iterate_field("key") for above in _list_above(key[begin:])}
    return frozenset(key[begin:] for key in objects.iterate_field("key") if key[begin:] in folders)


def _list_above(path: str) -> Iterator[str]:
    """Yield the folders that a path is in, the highest first."""
    at = path.find("/")
    while at != -1:
        yield path[:at]
        at = path.find("/", at + 1)
