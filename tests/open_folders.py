"""Folders for embedded servers: started by root they run as another user, who cannot get into pytest's own folders."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def open_folder() -> Iterator[Path]:
    """A short path that every account can get to, so that all of a server's files are in it; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="tradewind-test-", dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)
