"""Files that one process at a time writes: locked until the process exits, however that happens."""

import errno
import fcntl
import os
from contextlib import suppress

StrPath = str | os.PathLike[str]

_OPEN = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
_CREATE = _OPEN | os.O_CREAT | os.O_EXCL
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})
_MOST_RIVALS = 8
"""Times that a file may be published or removed by others between its opening and its locking."""


class LockedElsewhere(Exception):
    """Another run holds the file."""


class LocksUnsupported(Exception):
    """The file system has no locks."""


def create_locked(path: StrPath) -> int | None:
    """Create and hold ``path``; ``None`` where there is such a file already.

    Raises
    ------
    LocksUnsupported : nothing was created.
    LockedElsewhere, OSError
    """
    try:
        fd = os.open(path, _CREATE, 0o666)
    except FileExistsError:
        return None
    try:
        return fd if _lock(path, fd) else None
    except LocksUnsupported:
        with suppress(FileNotFoundError):
            os.unlink(path)
        raise


def create_unlocked(path: StrPath) -> int:
    """Create ``path`` under a name that nobody else uses, without a lock."""
    return os.open(path, _CREATE, 0o666)


def open_locked(path: StrPath) -> int | None:
    """Open and hold ``path``; ``None`` where there is no such file.

    Raises
    ------
    LockedElsewhere, LocksUnsupported, OSError
    """
    for _ in range(_MOST_RIVALS):
        try:
            fd = open_unlocked(path)
        except FileNotFoundError:
            return None
        if _lock(path, fd):
            return fd
    raise LockedElsewhere


def open_unlocked(path: StrPath) -> int:
    """Open ``path`` without a lock."""
    return os.open(path, _OPEN)


def _lock(path: StrPath, fd: int) -> bool:
    """Lock an open file; whether it still has its name. It is closed where this run does not hold it then."""
    is_held = False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_held = has_name(path, fd)
    except BlockingIOError:
        raise LockedElsewhere from None
    except OSError as error:
        if error.errno in _NO_LOCKS:
            raise LocksUnsupported from error
        raise
    finally:
        if not is_held:
            os.close(fd)
    return is_held


def has_name(path: StrPath, fd: int) -> bool:
    """Return whether ``path`` is the open file, and not another one that has taken its name."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    opened = os.fstat(fd)
    return (found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino)


def read_file_state(fd: int) -> tuple[int, ...]:
    """Return what shows that a file is the same and untouched; a new one may have the number of one that is gone."""
    found = os.fstat(fd)
    return found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns
