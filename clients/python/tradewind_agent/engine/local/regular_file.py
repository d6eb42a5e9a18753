"""The opening of files to read. Another program may have put something else in their place since they were listed."""

import os
import stat


def open_regular_file(path: str | os.PathLike[str]) -> int:
    """Return the descriptor of a file to read; a pipe in its place, which would wait for a writer, is refused.

    Raises
    ------
    OSError : it cannot be opened, or is no regular file.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except BlockingIOError:  # a file server holds a lease on it, which it gives back to whoever waits
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    os.set_blocking(fd, True)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError("it is no regular file")
    return fd
