"""A local folder whose files are compared with those of a source, and removed: never behind a link, never outside."""

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from tradewind_agent.engine.local.journal import is_own_name
from tradewind_agent.engine.remote.path_selection import Selecting
from tradewind_agent.errors import UnusableSource
from tradewind_agent.system_errors import explain_os_error

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

FileState = tuple[int, int, int, int]
"""Device, inode, size and time of modification in ns: another file, or a changed one, has another state."""


def find_files(root: str, selecting: Selecting) -> dict[str, FileState]:
    """Return all selected regular files below a folder by their paths, without those of copies under way.

    Links are not followed, and not found. A folder that is not there holds nothing.

    Raises
    ------
    UnusableSource : a folder cannot be read.
    """
    files: dict[str, FileState] = {}
    waiting = [""] if os.path.isdir(root) else []
    while waiting:
        folder = waiting.pop()
        place = os.path.join(root, folder)
        try:
            with os.scandir(place) as scan:
                entries = [(entry.name, entry.stat(follow_symlinks=False)) for entry in scan]
        except OSError as failure:
            raise UnusableSource(f"{place} cannot be read: {explain_os_error(failure)}") from failure
        for name, found in entries:
            path = folder + name
            if stat.S_ISDIR(found.st_mode):
                if selecting.take_folder(path):
                    waiting.append(f"{path}/")
            elif stat.S_ISREG(found.st_mode) and not is_own_name(name) and selecting.take_file(path):
                files[path] = _get_state(found)
    return files


def remove_file(root: str, path: str, state: FileState) -> None:
    """Remove a file if it is still the one that was found, and the folders that have become empty with it.

    Raises
    ------
    OSError : it cannot be removed, a folder on its way is a link now, or it is another file.
    """
    *folders, name = path.split("/")
    opened = [os.open(root, _FOLDER & ~os.O_NOFOLLOW)]  # the user has named the root, even where it is a link
    try:
        for folder in folders:
            opened.append(os.open(folder, _FOLDER, dir_fd=opened[-1]))
        found = os.stat(name, dir_fd=opened[-1], follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode) or _get_state(found) != state:
            raise OSError(errno.ESTALE, "it has changed since it was listed")
        os.unlink(name, dir_fd=opened[-1])
        with suppress(OSError):  # one of them is not empty
            while folders:
                os.close(opened.pop())
                os.rmdir(folders.pop(), dir_fd=opened[-1])
    finally:
        for descriptor in opened:
            os.close(descriptor)


def is_any_of(root: str, path: str, others: Iterable[str]) -> bool:
    """Return whether a path is another name of one of the files, as where names ignore case."""
    place = os.path.join(root, path)
    for other in others:
        with suppress(OSError):
            if os.path.samefile(place, os.path.join(root, other)):
                return True
    return False


def _get_state(found: os.stat_result) -> FileState:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
