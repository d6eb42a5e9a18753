"""The folders of the agent's files: the XDG base folders, private to the user."""

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

APPLICATION = "tradewind"
PRIVATE_FOLDER_MODE = 0o700
PRIVATE_FILE_MODE = 0o600
_NO_HOME = Path("/")


def build_config_folder(environ: Mapping[str, str]) -> Path:
    """``$XDG_CONFIG_HOME/tradewind``, by default ``~/.config/tradewind``."""
    return _find_base(environ, "XDG_CONFIG_HOME", ".config") / APPLICATION


def build_state_folder(environ: Mapping[str, str]) -> Path:
    """``$XDG_STATE_HOME/tradewind``, by default ``~/.local/state/tradewind``."""
    return _find_base(environ, "XDG_STATE_HOME", ".local/state") / APPLICATION


def build_ledger_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder where agents note their changes to this host for the limits of a transfer."""
    return build_state_folder(environ) / "resources"


def _find_base(environ: Mapping[str, str], variable: str, default: str) -> Path:
    stated = environ.get(variable, "")
    if os.path.isabs(stated):  # noqa: PTH117 -- the specification: relative values are to be ignored
        return Path(stated)
    return find_home(environ) / default


def find_home(environ: Mapping[str, str]) -> Path:
    """Return the user's home; the root folder where there is none, or only that of another user."""
    try:
        home = Path(environ.get("HOME") or Path.home())
        is_closed = home.is_dir() and not os.access(home, os.X_OK)
    except (RuntimeError, PermissionError):  # containers may run users that the system does not know
        return _NO_HOME
    return _NO_HOME if is_closed else home


def make_private(folder: Path) -> None:
    """Create ``folder`` with mode 0700; one that others could read is closed to them."""
    folder.mkdir(mode=PRIVATE_FOLDER_MODE, parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        folder.chmod(PRIVATE_FOLDER_MODE)


def replace_durably(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` atomically and for the user alone; it is on disk when this returns."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """Yield a draft that becomes ``path`` at the end of the block; an error leaves ``path`` unchanged.

    Anything but an ordinary file, such as a pipe, is written to directly.

    Raises
    ------
    FileNotFoundError : there is no folder to put it into.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make renames and removals in ``folder`` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
