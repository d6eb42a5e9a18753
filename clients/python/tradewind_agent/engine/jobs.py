"""Jobs, one a file, and the result of a transfer."""

from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from itertools import pairwise
from pathlib import Path

from tradewind.errors import InvalidValue
from tradewind.quick_init import add_quick_init
from tradewind_agent.columns import (
    FieldColumn,
    NumberColumn,
    PathColumn,
    RecordColumns,
    SharedColumn,
    TagColumn,
    TimeColumn,
)
from tradewind_agent.engine.http.address import Origin, Url
from tradewind_agent.engine.local.checksums import Checksum
from tradewind_agent.engine.origin.book import PermittedConnections
from tradewind_agent.engine.skipping import StoredFile
from tradewind_agent.errors import AgentError

_HASHES_AT_ONCE = 100_000


class SizeTrust(Enum):
    """The reliability of a size that was known before the transfer."""

    ROUNDED = "rounded by an index page: 1.2M"
    LISTED = "exact when listed; the file may have changed since"
    BINDING = "required by a manifest: another size is a failure"


@add_quick_init
@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadJob:
    """A file to fetch; a copy may have a million of them, so that paths are text.

    ``size_bytes`` : as listed; ``size_trust`` says how reliable it is.
    ``least_bytes`` : the smallest size that a rounded size may stand for.
    ``checksum`` : that the file must have, from a manifest.
    ``has_md5_tag`` : the tag of the file is its MD5 sum, unless the answer says otherwise.
    ``modified_at`` : from a listing that is exact to the second.
    ``may_be_folder`` : the listing does not say, and the server was not queried.
    """

    source: Url
    destination: str
    size_bytes: int | None = None
    size_trust: SizeTrust = SizeTrust.LISTED
    least_bytes: int = 0
    checksum: Checksum | None = None
    etag: str | None = None
    has_md5_tag: bool = False
    modified_at: datetime | None = None
    may_be_folder: bool = False

    def __str__(self) -> str:
        return str(self.source)


class _UrlColumn:
    """Addresses; a server or folder that many of them share is stored once."""

    def __init__(self) -> None:
        self._servers = SharedColumn()
        self.targets = PathColumn()

    def append(self, url: Url) -> None:
        self._servers.append((url.origin, url.login))
        self.targets.append(url.target)

    def __getitem__(self, at: int) -> Url:
        origin, login = self._servers[at]
        return Url(origin, self.targets[at], login)

    def get_origin(self, at: int) -> Origin:
        origin: Origin = self._servers[at][0]
        return origin

    def find_origins(self) -> frozenset[Origin]:
        return frozenset(origin for origin, _ in self._servers.values)


class DownloadJobs(RecordColumns[DownloadJob]):
    """Files to fetch, in a few dozen bytes each and their names."""

    def __init__(self, jobs: Iterable[DownloadJob] = ()) -> None:
        self._sizes, self._sources = NumberColumn(), _UrlColumn()
        columns: dict[str, FieldColumn] = {
            "source": self._sources,
            "destination": PathColumn(self._sources.targets),
            "size_bytes": self._sizes,
            "checksum": SharedColumn(),
            "etag": TagColumn(),
            "modified_at": TimeColumn(),
        }
        super().__init__(DownloadJob, columns, ("size_trust", "least_bytes", "has_md5_tag", "may_be_folder"), jobs)

    def set_size(self, at: int, size_bytes: int | None) -> None:
        """Note the size of one file."""
        self._sizes[at] = size_bytes

    def get_origin(self, at: int) -> Origin:
        """Return the server of one file."""
        return self._sources.get_origin(at)

    def find_origins(self) -> frozenset[Origin]:
        """Return the servers of all files."""
        return self._sources.find_origins()


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadJob:
    """A local file to send; size and modification time are those of the listing.

    ``stored`` : what the destination has under its name, as far as known.
    """

    source: Path
    destination: Url
    size_bytes: int
    modified_at_ns: int
    stored: StoredFile | None = None

    def __str__(self) -> str:
        return str(self.destination)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayJob:
    """A file to fetch from one server and to send to another.

    ``fetched`` : the file at its source; its ``destination`` is the path below the destination of the copy.
    ``stored`` : what the destination has under its name, as far as known.
    """

    fetched: DownloadJob
    destination: Url
    stored: StoredFile | None = None

    @property
    def source(self) -> Url:
        return self.fetched.source

    @property
    def size_bytes(self) -> int | None:
        return self.fetched.size_bytes

    @property
    def size_trust(self) -> SizeTrust:
        return self.fetched.size_trust

    def __str__(self) -> str:
        return str(self.fetched)


Job = DownloadJob | UploadJob | RelayJob


@dataclass(frozen=True, slots=True)
class FileFailure:
    """A file that could not be moved, why in one line, and whether another run may move it.

    ``is_forbidden`` : the server refuses this file to this user.
    """

    url: str
    reason: str
    is_retryable: bool = False
    is_forbidden: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferResult:
    """The result of a transfer.

    ``files_done`` counts files moved now, ``files_skipped`` files that were there already.
    ``permitted`` : simultaneous connections by origin, for servers that have refused more.
    ``bytes_by_servers`` : part of ``bytes_moved`` that servers have moved between them, not through this host.
    ``notes`` : what the user should know.
    ``stopped`` : the error that stopped the transfer early, such as a full disk; ``None`` where every file was tried.
    """

    bytes_moved: int
    files_done: int
    files_skipped: int
    failures: tuple[FileFailure, ...]
    duration_s: float
    stopped: AgentError | None = None
    permitted: Mapping[str, PermittedConnections] = field(default_factory=dict)
    bytes_by_servers: int = 0
    notes: tuple[str, ...] = ()

    @property
    def succeeded(self) -> bool:
        return not self.failures and self.stopped is None


def are_relays(jobs: Sequence[Job]) -> bool:
    """Return whether the files go from one server to another; the jobs of a transfer are all of one kind."""
    return len(jobs) > 0 and isinstance(jobs[0], RelayJob)


def find_origins(jobs: Sequence[Job]) -> frozenset[Origin]:
    """Return the servers that this host exchanges the files with; those that relays send to."""
    if isinstance(jobs, DownloadJobs):
        return jobs.find_origins()
    return frozenset((job.source if isinstance(job, DownloadJob) else job.destination).origin for job in jobs)


def list_addresses(jobs: Sequence[Job]) -> Iterator[str]:
    """Yield the address of each file."""
    return map(str, jobs.iterate_field("source") if isinstance(jobs, DownloadJobs) else jobs)


def find_repeated(values: Iterable[Hashable]) -> frozenset[int]:
    """Return the hashes that several of the values have: without any the values are distinct.

    The values themselves are not retained. Of many, a part is compared at a time, as sorted numbers take several times
    the memory of the array.
    """
    hashes = array("q", map(hash, values))
    parts = len(hashes) // _HASHES_AT_ONCE + 1
    sorted_parts = (sorted(each for each in hashes if each % parts == part) for part in range(parts))
    return frozenset(one for part in sorted_parts for one, other in pairwise(part) if one == other)


def require_distinct(jobs: Iterable[Job]) -> Iterator[Job]:
    """Yield the jobs as they are, as long as no two write to the same place."""
    seen: set[str] = set()
    for job in jobs:
        if (place := str(job.destination)) in seen:
            raise InvalidValue("jobs", f"two files would both become {place}")
        seen.add(place)
        yield job
