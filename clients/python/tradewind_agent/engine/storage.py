"""Files under way on the local disk: a part file, a journal of what it holds, the final name only when complete.

``.name.tradewind-part`` holds the bytes, ``.name.tradewind-journal`` what identifies them and which ranges are safely
on disk: a header line, then one line ``[first, last]`` a range. It is replaced as a whole, after the bytes it speaks of
were synced.
"""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Self

from tradewind_agent.engine.ranges import RangeSet
from tradewind_agent.errors import FileFault, StorageFailed
from tradewind_agent.system_errors import in_words

_FORMAT = 1
_HASH_BLOCK_BYTES = 1 << 20
_OPEN_PART = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_STOPPING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells one version of a remote file from another; ``None`` where the server does not say."""

    size_bytes: int | None = None
    etag: str | None = None
    last_modified: str | None = None

    def contradicts(self, other: Self) -> bool:
        """Whether both say something about the same thing and differ. An ETag outweighs the time."""
        if self.size_bytes is not None and other.size_bytes is not None and self.size_bytes != other.size_bytes:
            return True
        if self.etag is not None and other.etag is not None:
            return self.etag != other.etag
        return None not in (self.last_modified, other.last_modified) and self.last_modified != other.last_modified

    def completed_by(self, other: Self) -> "Identity":
        """The same with its gaps filled from ``other``."""
        return Identity(
            self.size_bytes if self.size_bytes is not None else other.size_bytes,
            self.etag or other.etag,
            self.last_modified or other.last_modified,
        )

    @property
    def validator(self) -> str | None:
        """Value for If-Range: a strong ETag, else the time of modification (RFC 9110 §13.1.5)."""
        if self.etag is not None and not self.etag.startswith("W/"):
            return self.etag
        return self.last_modified


def part_path(destination: Path) -> Path:
    return destination.with_name(f".{destination.name}.tradewind-part")


def journal_path(destination: Path) -> Path:
    return destination.with_name(f".{destination.name}.tradewind-journal")


def storage_error(error: OSError, path: Path) -> StorageFailed | FileFault:
    """The error to raise: the whole transfer stops where no file could be written, else only this file fails."""
    told = in_words(error)
    if error.errno in _STOPPING:
        advice = "make room and run the same command again, what was received is kept"
        return StorageFailed(f"cannot write {path}: {told.what}; {advice}")
    return FileFault(f"cannot write {path}: {told}", retryable=False)


def read_journal(destination: Path) -> tuple[Identity, RangeSet] | None:
    """What an earlier run left of this file; ``None`` where nothing usable is left."""
    try:
        lines = journal_path(destination).read_text("utf-8").splitlines()
        part_bytes = part_path(destination).stat().st_size
        header = json.loads(lines[0])
        identity = Identity(header["size_bytes"], header["etag"], header["last_modified"])
        if header["format"] != _FORMAT:
            return None
    except (OSError, ValueError, LookupError, TypeError):
        return None
    ranges = RangeSet()
    for line in lines[1:]:
        try:
            first, last = json.loads(line)
        except (ValueError, TypeError):
            break
        if not 0 <= first <= last < part_bytes:
            break
        ranges.add(first, last)
    return identity, ranges


class PartFile:
    """The open part of one file. Positions are absolute; parallel ranges write into the same file.

    Attributes
    ----------
    journalled : whether there is a journal beside it, as far as known.
    grown_folders : those in which a folder was made for it: their own new names have to reach the disk as well.
    """

    def __init__(self, destination: Path) -> None:
        self.destination = destination
        self.journalled = True
        self.grown_folders: tuple[Path, ...] = ()
        self._fd: int | None = None
        self._lock = Lock()  # checkpoints and publishing run in threads

    @cached_property
    def _path(self) -> Path:
        """Made when the file is begun: of thousands that are to come it would take longer than to ask for the first."""
        return part_path(self.destination)

    def _open(self) -> int:
        if self._fd is None:
            try:
                self._fd = os.open(self._path, _OPEN_PART, 0o666)
            except FileNotFoundError:  # the first file of its folder
                self.grown_folders = _make_folder(self._path.parent)
                self._fd = os.open(self._path, _OPEN_PART, 0o666)
        return self._fd

    def write(self, position: int, data: memoryview | bytes) -> None:
        """Write all of ``data`` at ``position``.

        Raises
        ------
        StorageFailed, FileFault : the disk refuses.
        """
        try:
            fd = self._fd if self._fd is not None else self._open()
            written = os.pwrite(fd, data, position)
            while written < len(data):
                written += os.pwrite(fd, data[written:], position + written)
        except OSError as error:
            raise storage_error(error, self.destination) from error

    def checkpoint(self, identity: Identity, received: RangeSet) -> None:
        """Sync the part, then note in the journal what it holds; nothing once the file is published or closed."""
        try:
            with self._lock:
                if self._fd is None:
                    return
                os.fdatasync(self._fd)
                lines = [json.dumps({"format": _FORMAT, **asdict(identity)}), *(json.dumps(each) for each in received)]
                self.journalled = True
                _replace(journal_path(self.destination), "\n".join(lines) + "\n")
        except OSError as error:
            raise storage_error(error, self.destination) from error

    def leave(self, identity: Identity, received: RangeSet) -> None:
        """Close; what was received is noted for another run."""
        if received:
            self.checkpoint(identity, received)
        self.close()

    def sha256(self) -> str:
        """Hex digest of the whole part, read back from disk or page cache."""
        digest = sha256()
        fd, position = self._open(), 0
        while block := os.pread(fd, _HASH_BLOCK_BYTES, position):
            digest.update(block)
            position += len(block)
        return digest.hexdigest()

    def complete(self, size_bytes: int, modified_at_s: float | None) -> None:
        """Every byte is written: make the part what the file is to be.

        Raises
        ------
        FileFault : somebody has taken the part away or cut it; what is left is thrown away.
        """
        with self._for_good() as fd:
            part_bytes = os.fstat(fd).st_size
            if part_bytes > size_bytes:
                os.ftruncate(fd, size_bytes)  # an earlier run's part of a longer version
            if modified_at_s is not None:
                os.utime(fd, (modified_at_s, modified_at_s))
        if part_bytes < size_bytes:
            self.discard()
            raise FileFault(f"the part has {part_bytes} of {size_bytes} bytes; it was cut meanwhile", retryable=False)

    def write_back(self) -> None:
        """Have the system begin to write the part to the disk, where the sync will find it done."""
        if hasattr(os, "posix_fadvise"):
            with self._for_good() as fd:
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def sync(self) -> None:
        """Return when the part survives a power cut."""
        with self._for_good() as fd:
            os.fsync(fd)

    def name(self) -> None:
        """Give the complete part its final name."""
        with self._for_good():
            self._path.replace(self.destination)
        self.close()
        if self.journalled:
            journal_path(self.destination).unlink(missing_ok=True)

    @contextmanager
    def _for_good(self) -> Iterator[int]:
        """The part's descriptor, for one step of its publishing."""
        try:
            with self._lock:
                yield self._open()
        except OSError as error:
            raise storage_error(error, self.destination) from error

    def discard(self) -> None:
        """Throw the part and its journal away: another version of the file is to be received."""
        self.close()
        journal_path(self.destination).unlink(missing_ok=True)
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None


def _replace(path: Path, text: str) -> None:
    """Write ``path`` as a whole: a reader sees the old text or the new one."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, "utf-8")
    fresh.replace(path)


def _make_folder(folder: Path) -> tuple[Path, ...]:
    """Make a folder and those above it that are missing; where they were made."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(each.parent for each in missing)


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` survive a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
