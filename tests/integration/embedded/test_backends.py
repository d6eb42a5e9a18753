"""Both servers of a process that names none of its own, when one of them ends under it."""

from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import redis

from services.embedded.backends import open_backends
from services.embedded.supervision import EmbeddedServer
from tests.endings import kill_outright


def kill(server: EmbeddedServer) -> None:
    """End a server outright, and wait for its keeper to have seen it."""
    keeper = psutil.Process(int((server.folder / "keeper.lock").read_text()))
    kill_outright(keeper.children(recursive=True))
    keeper.wait(30)


def test_servers_that_end_are_started_again_under_their_addresses(
    server_folder: Path, processes_below: Callable[[], list[psutil.Process]]
) -> None:
    before = processes_below()
    with open_backends(server_folder, database_url=None, admin_database_url=None, redis_url=None) as found:
        assert found.admin_database_url is not None
        assert found.revive() == ()
        for server in found.embedded:
            kill(server)
            assert found.revive() == (server.name,)
        assert found.revive() == ()
        with psycopg.connect(found.admin_database_url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        with redis.Redis.from_url(found.redis_url) as client:
            assert client.ping()
    assert processes_below() == before
