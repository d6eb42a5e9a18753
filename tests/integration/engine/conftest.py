"""Files to move, and the servers that serve them."""

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.engine.servers.web_servers import WebServer, apache, caddy, lighttpd, nginx

KEEPALIVE_REQUESTS = 7
"""Answers after which the servers close a connection, fewer than most tests pipeline."""


@pytest.fixture(scope="session")
def world_readable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that the server's own user can read (pytest's is closed to others)."""
    with tempfile.TemporaryDirectory(prefix="tradewind-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


WRITTEN_AT = 1_700_000_000
"""Long ago: Apache gives a file that was written within this second another, weak, ETag than later on."""


@pytest.fixture(scope="session")
def content(world_readable: Path) -> Path:
    """60 small files, 6 middling ones in a folder, 2 large ones, an empty one and odd names."""
    root = world_readable / "content"
    rng = random.Random(7)
    sizes = {f"small/s{number:02}.bin": rng.randrange(1, 60_000) for number in range(60)}
    sizes |= {f"middle/m{number}.bin": rng.randrange(700_000, 1_500_000) for number in range(6)}
    sizes |= {"large/l0.bin": 9_000_001, "large/l1.bin": 6_000_000, "empty.bin": 0}
    sizes |= {"odd/a b#c%20.txt": 1234, "odd/ünï.bin": 77, "odd/plus+and&.bin": 99, "odd/deep/er/x.bin": 2000}
    for name, size in sizes.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rng.randbytes(size))
        os.utime(path, (WRITTEN_AT, WRITTEN_AT))
    return root


def make_work_folder(folder: Path) -> Path:
    """A folder of one server's own; the same server may be set up several times, as tests take turns with it."""
    work = Path(tempfile.mkdtemp(dir=folder))
    work.chmod(0o755)
    return work


@pytest.fixture(scope="session", params=[nginx, apache, lighttpd, caddy], ids=lambda serve: serve.__name__)
def web_server(request: pytest.FixtureRequest, content: Path, world_readable: Path) -> Iterator[WebServer]:
    """Each server in turn, at its defaults."""
    with request.param(content, make_work_folder(world_readable)) as server:
        yield server


@pytest.fixture(
    scope="session",
    params=[
        (nginx, f"keepalive_requests {KEEPALIVE_REQUESTS};"),
        (apache, f"MaxKeepAliveRequests {KEEPALIVE_REQUESTS}"),
        (lighttpd, f"server.max-keep-alive-requests = {KEEPALIVE_REQUESTS}"),
    ],
    ids=lambda pair: pair[0].__name__,
)
def impatient_server(request: pytest.FixtureRequest, content: Path, world_readable: Path) -> Iterator[WebServer]:
    """Each server in turn, closing connections after a few requests."""
    serve, limit = request.param
    with serve(content, make_work_folder(world_readable), server=limit) as server:
        yield server
