"""An object store in a process of its own, which leaves no sockets behind here."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conditions import eventually
from tests.endings import Program
from tests.ports import free_port

_MOST_STARTS = 5


@contextmanager
def serve_store(log: Path) -> Iterator[str]:
    """Yield the address of a store that is empty; ``log`` takes what it prints."""
    for _ in range(_MOST_STARTS):  # another process may take the port first
        port = free_port()
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        with log.open("wb") as output, Program(command, stdout=output, stderr=output) as process:
            eventually(lambda: process.poll() is not None or _listens(port))  # noqa: B023 -- called here
            if process.poll() is not None:
                continue
            yield f"http://127.0.0.1:{port}"
            process.terminate()
            process.wait()
            return
    pytest.fail(f"the store did not start: {log.read_text(errors='replace')}")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
