"""What is to be moved: one file a job, and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from pathlib import Path

from tradewind_agent.engine.http.address import Url
from tradewind_agent.errors import AgentError


class SizeTrust(Enum):
    """What a size told before the transfer is worth."""

    ROUNDED = "an index page for people: 1.2M"
    LISTED = "exact when listed; the file may have changed since"
    BINDING = "a manifest demands it: another size is a failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadJob:
    """A file to fetch.

    ``size_bytes`` : what the listing says, as far as ``size_trust`` goes.
    ``least_bytes`` : of a rounded size, the smallest that it may stand for.
    ``sha256`` : lower-case hex, from a manifest.
    ``modified_at`` : from a listing that is exact to the second.
    ``may_be_folder`` : the listing does not tell, and the server was not asked.
    """

    source: Url
    destination: Path
    size_bytes: int | None = None
    size_trust: SizeTrust = SizeTrust.LISTED
    least_bytes: int = 0
    sha256: str | None = None
    etag: str | None = None
    modified_at: datetime | None = None
    may_be_folder: bool = False

    def __str__(self) -> str:
        return str(self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadJob:
    """A local file to send; size and time are those it had when it was listed."""

    source: Path
    destination: Url
    size_bytes: int
    modified_at_ns: int

    def __str__(self) -> str:
        return str(self.destination)


Job = DownloadJob | UploadJob


@dataclass(frozen=True, slots=True)
class FileFailure:
    """A file that could not be moved, and why in one line."""

    url: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferResult:
    """How a transfer ended.

    ``files_done`` counts what was moved now, ``files_skipped`` what was there already.
    ``permitted`` : connections at once by origin, of servers that have refused more.
    ``stopped`` is the error that ended everything early, such as a full disk; ``None`` where every file was tried.
    """

    bytes_moved: int
    files_done: int
    files_skipped: int
    failures: tuple[FileFailure, ...]
    duration_s: float
    stopped: AgentError | None = None
    permitted: Mapping[str, int] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        return not self.failures and self.stopped is None
