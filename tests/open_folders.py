"""Folders for embedded servers: started by root they run as another user, who cannot enter pytest's own folders."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def open_folder() -> Iterator[Path]:
    """Yield a short path that every account can enter, for all of a server's files; remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="tradewind-test-", dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)
