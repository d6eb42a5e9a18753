"""What a write or a replacement of a file changes."""

from pathlib import Path


def identity(path: Path) -> tuple[int, int, int, int, int]:
    """Return what a write or a replacement changes, of a link itself; a mere look moves its time of access."""
    found = path.lstat()
    return found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
