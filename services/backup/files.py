"""Files of a folder of backups, on any disk: errors of the system are reported, and locks held where it has any."""

import fcntl
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from services.backup.errors import BackupFailed


@contextmanager
def report_os_errors(place: Path) -> Iterator[None]:
    """Turn errors of the system, such as a full disk, into a failed copy."""
    try:
        yield
    except shutil.Error as several:  # of a tree: source, destination and reason each
        source, _, reason = several.args[0][0]
        raise BackupFailed(f"{source}: {reason}") from None
    except OSError as error:
        raise BackupFailed(f"{error.filename or place}: {error.strerror or error}") from None


def list_files(folder: Path) -> Sequence[Path]:
    """Return the content of a folder, by name; nothing if there is none."""
    with report_os_errors(folder):
        return sorted(folder.iterdir()) if folder.is_dir() else []


@contextmanager
def hold_lock(file: Path, *, alone: bool) -> Iterator[bool | None]:
    """Hold a file's lock, exclusively or shared.

    Yields
    ------
    ``False`` where another process has it; ``None`` where the file system has no locks.
    """
    with file.open("r+b" if alone else "rb") as opened:  # NFS requires write access for an exclusive lock
        held: bool | None = True
        try:
            fcntl.flock(opened, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            held = False
        except OSError:
            held = None
        yield held
