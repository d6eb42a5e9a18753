"""The local disk of a download: its errors, sums of files, folders, and permitted destinations."""

import errno
import os
import stat
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from tradewind_agent.engine.local.locked_file import StrPath
from tradewind_agent.errors import FileFault, StorageFailed
from tradewind_agent.system_errors import explain_os_error

_SYNC_FILE_RANGE_WRITE = 2
"""See sync_file_range(2)."""

_STOPPING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})
_MAKE_ROOM = "make room and run the same command again, what was received is kept"
_ADVICE: Mapping[int | None, str] = MappingProxyType(
    {
        errno.EROFS: "choose another destination, or have it mounted for writing",
        errno.EIO: "the disk has a fault; choose another one and run the same command again",
    }
)
_KINDS: Mapping[int, str] = MappingProxyType(
    {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
)


def to_storage_error(error: OSError, path: StrPath) -> StorageFailed | FileFault:
    """Return the error to raise: the transfer stops where no file could be written, else only this file fails."""
    words = explain_os_error(error)
    if error.errno in _STOPPING:
        return StorageFailed(f"cannot write {path}: {words.what}; {_ADVICE.get(error.errno, _MAKE_ROOM)}")
    return FileFault(f"cannot write {path}: {words}", retryable=False)


def reject_special_file(destination: StrPath) -> None:
    """See that ``destination`` is free or a regular file, also where a link leads: nothing else may be replaced.

    Raises
    ------
    FileFault : a device, pipe, socket or folder stands there.
    """
    try:
        mode = os.stat(destination).st_mode
    except OSError:
        return  # nothing there, or nothing that can be reached: writing says why
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "no regular file")
        raise FileFault(f"{destination} is {kind}; a copy replaces only files, name another one", retryable=False)


def make_folders(folder: Path) -> tuple[Path, ...]:
    """Make a folder and those above it that are missing; return their parents."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(each.parent for each in missing)


def sync_folder(folder: StrPath) -> None:
    """Make the names in ``folder`` survive a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def begin_writing(fd: int) -> None:
    """Have the system begin to write an open file to the disk; do nothing where it cannot be asked for that.

    The file stays in memory. Errors of the disk are met by the sync.
    """
    if (sync_file_range := _find_sync_file_range()) is not None:
        sync_file_range(fd, 0, 0, _SYNC_FILE_RANGE_WRITE)


@lru_cache(maxsize=1)
def _find_sync_file_range() -> Callable[[int, int, int, int], int] | None:
    """Return the call of Linux that Python does not have."""
    import ctypes  # noqa: PLC0415 -- for long files only

    function = getattr(ctypes.CDLL(None), "sync_file_range", None)
    if function is not None:
        function.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    return function
