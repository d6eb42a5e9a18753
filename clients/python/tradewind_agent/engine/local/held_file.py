"""Files that one process at a time writes: held by a lock that ends with the process, however that ends."""

import errno
import fcntl
import os
from pathlib import Path

_OPEN = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
_CREATE = _OPEN | os.O_CREAT | os.O_EXCL
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})
_MOST_RIVALS = 8
"""Times that a file may be published or removed by others between its opening and its locking."""


class HeldElsewhere(Exception):
    """Another run holds the file."""


class LocksMissing(Exception):
    """The file system has no locks."""


def create_held(path: Path) -> int | None:
    """Create and hold ``path``; ``None`` where there is such a file already.

    Raises
    ------
    LocksMissing : nothing was created.
    HeldElsewhere, OSError
    """
    try:
        fd = os.open(path, _CREATE, 0o666)
    except FileExistsError:
        return None
    try:
        return fd if _hold(path, fd) else None
    except LocksMissing:
        path.unlink(missing_ok=True)
        raise


def create_own(path: Path) -> int:
    """Create ``path`` under a name that nobody else uses, without a lock."""
    return os.open(path, _CREATE, 0o666)


def open_held(path: Path) -> int | None:
    """Open and hold ``path``; ``None`` where there is no such file.

    Raises
    ------
    HeldElsewhere, LocksMissing, OSError
    """
    for _ in range(_MOST_RIVALS):
        try:
            fd = open_own(path)
        except FileNotFoundError:
            return None
        if _hold(path, fd):
            return fd
    raise HeldElsewhere


def open_own(path: Path) -> int:
    """Open ``path`` without a lock."""
    return os.open(path, _OPEN)


def _hold(path: Path, fd: int) -> bool:
    """Lock an open file; whether it still has its name. It is closed where this run does not hold it then."""
    is_held = False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_held = is_named(path, fd)
    except BlockingIOError:
        raise HeldElsewhere from None
    except OSError as error:
        if error.errno in _NO_LOCKS:
            raise LocksMissing from error
        raise
    finally:
        if not is_held:
            os.close(fd)
    return is_held


def is_named(path: Path, fd: int) -> bool:
    """Whether ``path`` is the open file, and not another one that has taken its name."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    opened = os.fstat(fd)
    return (found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino)


def state_of(fd: int) -> tuple[int, ...]:
    """Return what shows that a file is the same and untouched; a new one may have the number of one that is gone."""
    found = os.fstat(fd)
    return found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns
