"""An API process that is told to end, as in containers behind a proxy, on connections that the proxy keeps."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.conditions import eventually, stretched
from tests.endings import Program
from tests.ports import free_port

COMMAND = (sys.executable, "-P", "-m", "services.api_process", "--host=127.0.0.1")
REQUEST = b"GET /docs HTTP/1.1\r\nHost: api\r\n\r\n"


@pytest.fixture
def ending(database_url: str, redis_url: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process of the API with the containers' protocol, and its port."""
    port = free_port()
    process = Program(
        (*COMMAND, f"--port={port}", "--http=services.api.draining:Draining"),
        env=os.environ | {"DATABASE_URL": database_url, "REDIS_URL": redis_url},
    )
    try:
        yield process, port
    finally:
        process.kill()
        process.wait()


def connected(port: int) -> socket.socket | None:
    try:
        return socket.create_connection(("127.0.0.1", port), timeout=stretched(20))
    except ConnectionRefusedError:
        return None


def refused(port: int) -> bool:
    connection = connected(port)
    if connection is not None:
        connection.close()
    return connection is None


def answer(connection: socket.socket) -> bytes:
    """The head of the next answer; the rest of it is read too."""
    head, _, body = _received(connection, b"").partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body = _received(connection, body)
    return head


def _received(connection: socket.socket, before: bytes) -> bytes:
    more = connection.recv(65_536)
    assert more, "closed without an answer"
    return before + more


def test_a_process_that_ends_lets_nobody_in_and_answers_once_more_on_each_connection(ending):
    process, port = ending
    used = eventually(lambda: connected(port))
    unused = socket.create_connection(("127.0.0.1", port), timeout=stretched(20))
    with used, unused:
        used.sendall(REQUEST)
        assert b"connection: close" not in answer(used)
        process.send_signal(signal.SIGTERM)
        eventually(lambda: refused(port))
        for connection in (used, unused):
            connection.sendall(REQUEST)
            head = answer(connection)
            assert head.startswith(b"HTTP/1.1 200")
            assert b"connection: close" in head
            assert connection.recv(1) == b""
        assert process.wait(stretched(20)) is not None


def test_connections_that_nobody_uses_do_not_keep_a_process_that_ends(ending):
    process, port = ending
    with eventually(lambda: connected(port)) as idle, socket.create_connection(("127.0.0.1", port)) as used:
        used.sendall(REQUEST)  # once it is answered the process has started, and has the connection before it, too
        answer(used)
        process.send_signal(signal.SIGTERM)
        assert idle.recv(1) == b""
        assert process.wait(stretched(20)) is not None


def test_wrong_settings_end_the_start_with_one_line():
    environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    for given, told in (
        ({}, "api: DATABASE_URL: must be set"),
        ({"DATABASE_URL": "postgresql://db/x"}, "api: REDIS_URL: must be set"),
        ({"DATABASE_URL_FILE": "/nowhere"}, "api: DATABASE_URL_FILE: cannot read /nowhere: No such file or directory"),
    ):
        ran = subprocess.run(
            (*COMMAND, "--port=0"), env=environment | given, capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stderr.splitlines()) == (1, [told])
