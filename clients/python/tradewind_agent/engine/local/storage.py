"""Files under way on the local disk: a part that one run alone writes, the final name only when it is complete.

A run holds its part by a lock: a part that a crash has left is free, one that another run is writing is not. Where the
file system has no locks each run has a part of its own, which no later run goes on with.
"""

import os
from contextlib import suppress
from pathlib import Path
from threading import Lock
from uuid import uuid4

from tradewind_agent.engine.local.checksums import Checksum, RunningSum
from tradewind_agent.engine.local.folder_names import FolderNames
from tradewind_agent.engine.local.identity import FileIdentity
from tradewind_agent.engine.local.journal import (
    name_journal,
    name_part,
    read_journal,
    remove_journal,
    write_journal,
)
from tradewind_agent.engine.local.local_files import (
    begin_writing,
    make_folders,
    reject_special_file,
    to_storage_error,
)
from tradewind_agent.engine.local.locked_file import (
    LockedElsewhere,
    LocksUnsupported,
    StrPath,
    create_locked,
    create_unlocked,
    has_name,
    open_locked,
    open_unlocked,
    read_file_state,
)
from tradewind_agent.engine.local.ranges import RangeSet
from tradewind_agent.errors import AgentError, FileFault

_NAMED: tuple[int, ...] = ()
"""State of a part that has become the file; no part can be opened again in its place."""

_MOST_CREATIONS = 8
"""Attempts to create a part that can be locked: rivals may start at the same moment."""


class PartInUse(FileFault):
    """Another run writes the same file."""

    def __init__(self, destination: str) -> None:
        super().__init__(f"another copy is writing {destination}; let it end, or copy to another name", retryable=False)


class _TranslatedErrors:
    """Raises errors of the system as the agent's own. It is no generator: every step of every file enters it."""

    def __init__(self, destination: str) -> None:
        self._destination = destination

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OSError):
            raise to_storage_error(error, self._destination) from error
        if isinstance(error, LockedElsewhere):
            raise PartInUse(self._destination) from None


class PartFile:
    """The open part of one file. Positions are absolute; parallel ranges write into the same file.

    Parameters
    ----------
    source : address that the bytes come from; the journal names it.

    Attributes
    ----------
    folder : of the file, as text.
    has_journal : whether it has a journal, as far as known.
    changed_folders : those in which a folder was made for it: their own new names have to reach the disk as well.
    """

    def __init__(self, destination: StrPath, source: str = "") -> None:
        # Paths are text: thousands of files are created, named and closed, and `Path` takes longer than the system.
        self.destination = os.fspath(destination)
        self.source = source
        self.has_journal = True
        self.changed_folders: tuple[Path, ...] = ()
        self._fd: int | None = None
        self._closed: tuple[int, ...] | None = None  # as the part with this run's bytes was when it was closed
        self._has_locks = True
        self._lock = Lock()  # checkpoints and publishing run in threads
        self._translated_errors = _TranslatedErrors(self.destination)
        folder, self._name = os.path.split(self.destination)
        self.folder = folder or os.curdir
        self._path = os.path.join(self.folder, name_part(self._name))

    def _remove_journal(self) -> None:
        remove_journal(self.folder, self._name)

    def may_be_there(self, names: FolderNames) -> bool:
        """Return whether the file, its part or its journal may be on the disk already."""
        self.has_journal = names.may_hold(self.folder, name_journal(self._name))
        return self.has_journal or names.may_hold(self.folder, self._name, os.path.basename(self._path))

    def resume(self) -> tuple[FileIdentity, RangeSet] | None:
        """Lock the part of an earlier run and return its version and ranges; remove it if they are unknown.

        Raises
        ------
        PartInUse : another run is writing it.
        FileFault, StorageFailed : it cannot be opened.
        """
        with self._translated_errors, suppress(LocksUnsupported):
            if not self._lock_existing():
                return None
            left = read_journal(Path(self.destination), self.source)
            if left is not None and left[0].validator is not None:
                return left
            self._remove()
        return None

    def _open(self) -> int:
        if self._fd is None:
            if self._closed is None:
                self._create()
            else:
                self._reopen(self._closed)
        assert self._fd is not None
        return self._fd

    def _create(self) -> None:
        """Create a part that this run locks; a part that a crash left without a journal is removed."""
        for _ in range(_MOST_CREATIONS):
            try:
                self._fd = create_locked(self._path)
                if self._fd is not None:
                    return
                if self._lock_existing():
                    self._remove()
            except FileNotFoundError:  # the first file of its folder
                self.changed_folders = make_folders(Path(self.folder))
            except LocksUnsupported:
                self._has_locks = False
                self._path = f"{self._path}-{uuid4().hex[:8]}"
                self._fd = create_unlocked(self._path)
                return
        raise LockedElsewhere

    def _reopen(self, closed: tuple[int, ...]) -> None:
        """Open the part again that this run has closed for a while."""
        with suppress(FileNotFoundError, LocksUnsupported):
            self._fd = open_locked(self._path) if self._has_locks else open_unlocked(self._path)
        if self._fd is None or read_file_state(self._fd) != closed:
            self._close()
            self._closed = closed
            raise FileFault(f"the part of {self.destination} was taken away; copy it again", retryable=False)

    def _lock_existing(self) -> bool:
        """Hold the part that is there, if there is one."""
        self._fd = open_locked(self._path)
        return self._fd is not None

    def write(self, position: int, data: memoryview | bytes) -> None:
        """Write all of ``data`` at ``position``.

        Raises
        ------
        StorageFailed, FileFault : the disk refuses, or another run writes the same file.
        """
        try:
            fd = self._fd if self._fd is not None else self._open()
            written = os.pwrite(fd, data, position)
            while written < len(data):
                written += os.pwrite(fd, data[written:], position + written)
        except OSError as error:
            raise to_storage_error(error, self.destination) from error
        except LockedElsewhere:
            raise PartInUse(self.destination) from None

    def checkpoint(self, identity: FileIdentity, received: RangeSet) -> None:
        """Sync the part, then note in the journal what it holds; nothing once the file is published or closed.

        Bytes that no later run could resume are not noted.
        """
        with self._translated_errors, self._lock:
            if self._fd is None or not self._has_locks or identity.validator is None:
                return
            os.fdatasync(self._fd)
            self.has_journal = True
            write_journal(Path(self.destination), self.source, identity, received)

    def close_for_resume(self, identity: FileIdentity, received: RangeSet) -> None:
        """Close; note the received ranges for another run, or remove the part where none could use it."""
        if self._fd is not None and (not received or not self._has_locks or identity.validator is None):
            self.discard()
        try:
            self.checkpoint(identity, received)
        except AgentError:  # such as of a full disk: an older journal is still right, and without one it is of no use
            if not os.path.exists(os.path.join(self.folder, name_journal(self._name))):
                self.discard()
            raise
        finally:
            self.close()

    def add_to_sum(self, running: RunningSum, end: int) -> bool:
        """Add the bytes before ``end`` that are not in a sum yet; return whether the part was open for all of them.

        The part is locked for a block at a time: whoever has to close it does not wait for the rest.
        """
        with self._translated_errors, running.lock:
            while running.position < end:
                with self._lock:
                    if self._fd is None or not running.add_block(self._fd, end):
                        return False
        return True

    def compute_checksum(self, running: RunningSum, size_bytes: int) -> Checksum:
        """Return the sum of the entire part; what is not in ``running`` yet is read back from disk or page cache."""
        with self._translated_errors, running.lock, self._lock:
            return running.add_rest(self._open(), size_bytes)

    def complete(self, size_bytes: int, modified_at_s: float | None) -> None:
        """Every byte is written: make the part what the file is to be.

        Raises
        ------
        FileFault : somebody has taken the part away or cut it; what is left is thrown away.
        """
        with self._translated_errors, self._lock:
            fd = self._open()
            part_bytes = os.fstat(fd).st_size
            if part_bytes > size_bytes:
                os.ftruncate(fd, size_bytes)  # an earlier run's part of a longer version
            if modified_at_s is not None:
                os.utime(fd, (modified_at_s, modified_at_s))
        if part_bytes < size_bytes:
            self.discard()
            raise FileFault(f"the part has {part_bytes} of {size_bytes} bytes; it was cut meanwhile", retryable=False)

    def start_writeback(self) -> None:
        """Have the system begin to write the part to the disk, where the sync will find it done."""
        if hasattr(os, "posix_fadvise"):
            with self._translated_errors, self._lock:
                os.posix_fadvise(self._open(), 0, 0, os.POSIX_FADV_DONTNEED)

    def write_behind(self) -> None:
        """Have the system begin to write what has arrived to the disk, and return at once: it stays in memory."""
        with self._translated_errors:
            with self._lock:
                fd = None if self._fd is None else os.dup(self._fd)
            if fd is not None:
                begin_writing(fd)
                os.close(fd)

    def sync(self) -> None:
        """Return when the part survives a power cut."""
        with self._translated_errors, self._lock:
            os.fsync(self._open())

    def name(self) -> None:
        """Give the complete part its final name.

        Raises
        ------
        FileFault : something that is no file has come to stand there, or the part is not this run's any more.
        """
        with self._translated_errors, self._lock:
            fd = self._open()
            reject_special_file(self.destination)
            if not has_name(self._path, fd):
                raise FileFault(f"the part of {self.destination} was replaced; copy it again", retryable=False)
            os.replace(self._path, self.destination)
            if self.has_journal and self._has_locks:  # while the lock is held: then it is no other run's
                self._remove_journal()
            self._close()
            self._closed = _NAMED

    def discard(self) -> None:
        """Throw the part and its journal away: another version of the file is to be received.

        Raises
        ------
        PartInUse : another run is writing it.
        FileFault, StorageFailed : it cannot be removed.
        """
        with self._translated_errors, self._lock, suppress(LocksUnsupported):
            if self._fd is not None or self._lock_existing():
                self._remove()
            else:
                self._remove_journal()

    def _remove(self) -> None:
        """Remove the part that this run holds, and close it last: until then nobody else takes its name."""
        assert self._fd is not None
        if has_name(self._path, self._fd):
            if self._has_locks:
                self._remove_journal()
            with suppress(FileNotFoundError):
                os.unlink(self._path)
        self._close()
        self._closed = None

    def close_unnamed(self) -> None:
        """Close a complete part that could not become the file; remove one that no later run could go on with."""
        if not self.has_journal:
            with suppress(AgentError):
                self.discard()
        self.close()

    def close(self) -> None:
        """Close the part, which frees it for other runs."""
        with self._lock:
            if self._fd is not None:
                self._closed = read_file_state(self._fd)
            self._close()

    def _close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
