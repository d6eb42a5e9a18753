"""The opening of files to read. Another program may have put something else in their place since they were listed."""

import os
import stat


def open_regular_file(path: str | os.PathLike[str]) -> int:
    """Return the descriptor of a file to read, at once: a pipe in its place would wait for somebody who writes.

    Raises
    ------
    OSError : it cannot be opened, or is no regular file.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError("it is no regular file")
    return fd
