"""The state of a watched folder on disk: how far each log was read, and the part that may not be spooled yet."""

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from tradewind_agent.errors import WatchFailed
from tradewind_agent.folders import make_private, replace_durably
from tradewind_agent.history.log_tail import Position
from tradewind_agent.system_errors import explain_os_error

_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedFile:
    """One log: where reading goes on, and its format once it is known.

    ``head_bytes`` : how much of its beginning decides what its columns mean; ``None`` before its first row.
    """

    position: Position
    format: str | None = None
    head_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingPart:
    """A part that is being spooled, from where its log was read to so far.

    After a kill exactly these bytes are read again: the same records make the same segment, which the spool and the
    service know by its hash.
    """

    file_id: str
    until: int
    format: str | None


@dataclass(slots=True)
class WatchState:
    """Logs by device and inode."""

    files: dict[str, FollowedFile] = field(default_factory=dict)
    pending: PendingPart | None = None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the state stored in ``path``; return an empty one when there is none.

        Raises
        ------
        WatchFailed : the file is damaged or of a later version.
        """
        try:
            document = json.loads(path.read_bytes())
        except FileNotFoundError:
            return cls()
        except OSError as failure:
            raise WatchFailed(f"{path} cannot be read: {explain_os_error(failure)}") from None
        except ValueError:
            raise WatchFailed(f"{path} is damaged; remove it to read all logs again") from None
        try:
            if document["version"] != _VERSION:
                raise WatchFailed(f"{path} is of version {document['version']}; update this program")
            return cls(
                {name: _build_followed(each) for name, each in document["files"].items()},
                PendingPart(**document["pending"]) if document["pending"] else None,
            )
        except (KeyError, TypeError, AttributeError):
            raise WatchFailed(f"{path} is damaged; remove it to read all logs again") from None

    def write(self, path: Path) -> None:
        """Keep the state, atomically and durably."""
        document = {
            "version": _VERSION,
            "files": {
                name: {
                    "position": each.position.build_document(),
                    "format": each.format,
                    "head_bytes": each.head_bytes,
                }
                for name, each in self.files.items()
            },
            "pending": asdict(self.pending) if self.pending else None,
        }
        replace_durably(path, json.dumps(document).encode())


def build_state_path(state_folder: Path, watched: Path) -> Path:
    """File of the state of one watched folder, whatever path leads to it."""
    name = hashlib.sha256(os.fsencode(watched.resolve())).hexdigest()[:32]
    return state_folder / "watch" / f"{name}.json"


@contextlib.contextmanager
def hold_folder(state: Path) -> Iterator[None]:
    """Hold the folder for this process; the kernel lets go when it ends, however it ends.

    Raises
    ------
    WatchFailed : another process watches the same folder.
    """
    make_private(state.parent)
    descriptor = os.open(state.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WatchFailed("another `tradewind logs watch` is at work on this folder; stop it first") from None
        yield
    finally:
        os.close(descriptor)


def _build_followed(document: dict[str, Any]) -> FollowedFile:
    position = Position(**document["position"])
    return FollowedFile(position=position, format=document["format"], head_bytes=document.get("head_bytes"))
