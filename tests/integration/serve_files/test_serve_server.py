"""What surrounds a request: limits, bearer token, TLS, counters, malformed input, stopping."""

import asyncio
import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conditions import eventually
from tests.endings import Program
from tests.integration.certificates import make_certificates
from tests.integration.serve_files.serving import Wire, ask, event_loop, serving, sha256
from tradewind_agent.engine.http.address import Login
from tradewind_agent.serve import AccessEntry, ServerLimits, TlsFiles, serve


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "small").write_bytes(b"x" * 1000)
    (tmp_path / "large").write_bytes(os.urandom(3_000_000))
    return tmp_path


@pytest.fixture
def port(root: Path) -> Iterator[int]:
    with serving(root, limits=ServerLimits(max_head_bytes=2000)) as server:
        yield server.port


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /small HTTP/1.1\r\n\r\n", 400),
        (b"GET small HTTP/1.1\r\nHost: t\r\n\r\n", 400),
        (b"GET /small HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET /small HTTP/1.1\r\nHost: t\r\nExpect: tea\r\n\r\n", 417),
        (b"PUT /x HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"PUT /x HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip, chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n", 501),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"GET /small HTTP/1.1\r\nHost: t\r\nX: " + b"y" * 2500 + b"\r\n\r\n", 431),
        (b"GET /" + b"y" * 2500, 431),
    ],
)
def test_input_that_cannot_be_understood_is_answered_and_closed(port: int, sent: bytes, status: int):
    with Wire(port) as wire:
        wire.socket.sendall(sent)
        answer = wire.receive()
        assert answer.status == status
        assert answer.json["status"] == status
        assert answer.headers["connection"] == "close"
        assert wire.is_closed()
    assert ask(port, "GET", "/small").status == 200


def test_good_requests_before_a_bad_one_are_answered_first(port: int):
    with Wire(port) as wire:
        wire.socket.sendall(b"GET /small HTTP/1.1\r\nHost: t\r\n\r\nnonsense\r\n\r\n")
        assert [wire.receive().status for _ in range(2)] == [200, 400]


@pytest.mark.parametrize("method", ["POST", "DELETE", "PATCH", "PUT"])
def test_other_methods_are_405_and_say_what_is_allowed(port: int, method: str):
    answer = ask(port, method, "/small", b"body")
    assert answer.status == 405
    assert answer.headers["allow"] == "GET, HEAD, PROPFIND, OPTIONS"


def test_a_refused_body_does_not_become_the_next_request(port: int):
    smuggled = b"GET /small HTTP/1.1\r\nHost: t\r\n\r\n"
    with Wire(port) as wire:
        assert wire.ask("POST", "/small", smuggled).status == 405
        assert wire.ask("GET", "/missing").status == 404


def test_a_large_refused_body_ends_the_connection_after_the_answer(port: int):
    with Wire(port) as wire:
        wire.socket.sendall(b"POST /small HTTP/1.1\r\nHost: t\r\nContent-Length: 50000000\r\n\r\n" + bytes(300_000))
        answer = wire.receive()
        assert (answer.status, answer.headers["connection"]) == (405, "close")


def test_an_upgrade_is_ignored(port: int):
    answer = ask(port, "GET", "/small", Connection="Upgrade, HTTP2-Settings", Upgrade="h2c")
    assert (answer.status, len(answer.body)) == (200, 1000)


def test_connections_beyond_limit_get_503_while_all_others_work(root: Path):
    with (
        serving(root, writable=True, limits=ServerLimits(max_connections=2)) as server,
        Wire(server.port) as one,
        Wire(server.port) as two,
    ):
        for number, wire in enumerate((one, two)):
            assert wire.ask("GET", "/small").status == 200
            wire.send("PUT", f"/new{number}", None, Content_Length="4")
            wire.socket.sendall(b"bo")
        eventually(lambda: len(list(root.glob(".tradewind-part-*"))) == 2)
        with Wire(server.port) as three:
            answer = three.receive()
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert three.is_closed()
        one.socket.sendall(b"dy")
        assert one.receive().status == 201
        assert server.counters.refused_connections == 1


def test_idle_clients_never_served_shut_nobody_out(root: Path):
    options = {"bearer_token": "secret", "limits": ServerLimits(max_connections=3)}
    right = {"Authorization": "Bearer secret"}
    with serving(root, **options) as server, Wire(server.port) as served, ExitStack() as held:
        assert served.ask("GET", "/small", None, **right).status == 200
        silent = [held.enter_context(Wire(server.port)) for _ in range(10)]
        silent[0].socket.sendall(b"GET /small HTTP/1.1\r\nHo")
        eventually(lambda: server.counters.connections == 11)
        assert ask(server.port, "GET", "/small", None, **right).status == 200
        assert ask(server.port, "GET", "/small", None, Authorization="Bearer wrong").status == 401
        assert served.ask("GET", "/small", None, **right).status == 200
        assert silent[0].is_closed()
        assert server.counters.refused_connections == 0


def test_the_longest_idle_of_those_served_before_makes_room_for_another(root: Path):
    with serving(root, limits=ServerLimits(max_connections=2)) as server, ExitStack() as held:
        wires = []
        for _ in range(4):
            wires.append(held.enter_context(Wire(server.port)))
            assert wires[-1].ask("GET", "/small").status == 200
        assert all(wire.is_closed() for wire in wires[:2])
        assert {wire.ask("GET", "/small").status for wire in wires[2:]} == {200}


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1:80", 200), ("[::1]:80", 200), ("localhost", 200), ("a.localhost:80", 200), ("files", 200),
     (socket.gethostname(), 200), ("Data.Example.:8090", 200), ("evil.example", 421), ("127.0.0.1.evil.example", 421),
     ("localhost.evil.example:80", 421)],
)  # fmt: skip
def test_a_page_that_leads_a_browser_here_under_its_own_name_gets_nothing(root: Path, host: str, status: int):
    with serving(root, allowed_hosts=["data.example"]) as server:
        assert ask(server.port, "GET", "/small", None, Host=host).status == status


def test_with_a_token_any_name_is_answered(root: Path):
    with serving(root, bearer_token="secret") as server:
        assert ask(server.port, "GET", "/small", None, Host="evil.example").status == 401
        right = {"Authorization": "Bearer secret", "Host": "data.example"}
        assert ask(server.port, "GET", "/small", None, **right).status == 200


def test_no_content_is_taken_for_what_its_type_does_not_say(port: int):
    assert ask(port, "GET", "/small").headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("hidden", [False, True])
def test_names_that_begin_with_a_dot_are_served_where_it_is_permitted(root: Path, hidden: bool):
    (root / ".git").mkdir()
    (root / ".git" / "config").write_bytes(b"secret")
    (root / ".env").write_bytes(b"secret")
    with serving(root, writable=True, hidden=hidden) as server:
        seen = [ask(server.port, "GET", target).status for target in ("/.env", "/.git/", "/.git/config", "/%2eenv")]
        assert seen == ([200] * 4 if hidden else [404] * 4)
        assert ask(server.port, "PUT", "/.bashrc", b"x").status == (201 if hidden else 403)
        listed = ask(server.port, "GET", "/", None, Accept="application/json").json["entries"]
        assert (".env" in {each["name"] for each in listed}) == hidden


@pytest.mark.parametrize("begun", [b"", b"GET /small HTTP/1.1\r\nHo"])
def test_a_silent_connection_is_dropped(root: Path, begun: bytes):
    limits = ServerLimits(idle_timeout_s=0.05, head_timeout_s=0.05)
    with serving(root, limits=limits) as server, Wire(server.port) as wire:
        wire.socket.sendall(begun)
        assert wire.is_closed()


def test_a_client_that_stops_reading_is_dropped(root: Path):
    (root / "huge").write_bytes(bytes(64_000_000))
    with serving(root, limits=ServerLimits(stall_timeout_s=0.1)) as server, Wire(server.port) as wire:
        wire.send("GET", "/huge")
        while server.counters.connections == 0 or server.counters.open_connections:
            pass
        with pytest.raises(ConnectionError):
            wire.receive()


def test_every_request_needs_the_token(root: Path):
    with serving(root, bearer_token="s3cret") as server:
        refused = ask(server.port, "GET", "/small")
        assert (refused.status, refused.headers["www-authenticate"]) == (
            401,
            'Bearer realm="tradewind", Basic realm="tradewind"',
        )
        basic = [Login("me", password).authorization for password in ("s3cret", "other", "")]
        for wrong in ("Bearer other", "Basic s3cret", "Basic é", "Bearer", "s3cret", "Bearer é", *basic[1:]):
            assert ask(server.port, "GET", "/small", Authorization=wrong).status == 401
        assert ask(server.port, "GET", "/small", Authorization=basic[0]).status == 200
        assert ask(server.port, "GET", "/small", Authorization="Bearer s3cret").status == 200
        assert ask(server.port, "GET", "/missing").status == 401
        assert "s3cret" not in repr(server.options)


def test_tls_serves_the_same_files(root: Path, tmp_path_factory: pytest.TempPathFactory):
    made = make_certificates(tmp_path_factory.mktemp("certificates"))
    context = ssl.create_default_context(cafile=made.authority)
    with serving(root, tls=TlsFiles(made.certificate, made.key)) as server:
        assert server.url.startswith("https://")
        connection = http.client.HTTPSConnection("localhost", server.port, context=context)
        for name in ("small", "large", "large"):
            connection.request("GET", f"/{name}")
            assert sha256(connection.getresponse().read()) == sha256((root / name).read_bytes())
        connection.close()
        with socket.create_connection(("127.0.0.1", server.port)) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: t\r\n\r\n")
            assert b"HTTP/1.1" not in plain.recv(1000)


def test_counters_and_observer_report_requests(root: Path):
    seen: list[AccessEntry] = []
    with serving(root, observer=seen.append) as server:
        with Wire(server.port) as wire:
            wire.ask("GET", "/small", Range="bytes=0-99")
            wire.ask("GET", "/missing")
            wire.ask("HEAD", "/small")
        counters = server.counters
    assert (counters.connections, counters.open_connections, counters.requests) == (1, 0, 3)
    assert dict(counters.by_status) == {206: 1, 404: 1, 200: 1}
    assert dict(counters.by_method) == {"GET": 2, "HEAD": 1}
    assert [(access.method, access.target, access.status) for access in seen] == [
        ("GET", "/small", 206),
        ("GET", "/missing", 404),
        ("HEAD", "/small", 200),
    ]
    assert seen[0].sent_bytes == 100
    assert seen[2].sent_bytes == 0


def test_a_stop_lets_the_request_under_way_finish_and_closes_idle_connections(root: Path):
    (root / "huge").write_bytes(bytes(32_000_000))
    with event_loop() as run:
        server = run(serve(root))
        port = server.port
        with Wire(port) as idle, Wire(port) as busy:
            assert idle.ask("GET", "/small").status == 200
            busy.send("GET", "/huge")
            assert busy._file.readline().startswith(b"HTTP/1.1 200")
            stopping = run(_begin(server.close(grace_s=20.0)))
            assert idle.is_closed()
            assert len(busy._file.read()) > 32_000_000
            run(_end(stopping))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


def test_a_stop_does_not_wait_longer_than_its_grace(root: Path):
    (root / "huge").write_bytes(bytes(64_000_000))
    with event_loop() as run:
        server = run(serve(root))
        with Wire(server.port) as stuck:
            stuck.send("GET", "/huge")
            assert stuck._file.readline().startswith(b"HTTP/1.1 200")
            run(server.close(grace_s=0.05))
            with pytest.raises(ConnectionError):
                stuck.read(64_000_000)


@pytest.mark.parametrize("steps", range(5))
def test_nothing_of_a_stopped_server_works_on_for_a_client_that_came_last(root: Path, steps: int):
    async def stop_as_it_comes() -> tuple[set[asyncio.Task[None]], int]:
        server = await serve(root)
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(b"GET /small HTTP/1.1\r\nHost: test\r\n\r\n")
            for _ in range(steps):  # of the loop: it is accepted, made, read and answered in steps of their own
                await asyncio.sleep(0)
            await server.close(grace_s=0.0)
            left = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.sleep(0.02)
            return left, server.counters.open_connections

    assert asyncio.run(stop_as_it_comes()) == (set(), 0)


def test_serve_forever_stops_on_sigterm_with_success(root: Path):
    program = (
        "import sys; from pathlib import Path; from tradewind_agent.serve import ServeOptions, serve_forever\n"
        "counters = serve_forever(ServeOptions(root=Path(sys.argv[1])), on_ready=lambda s: print(s.port, flush=True))\n"
        "print(counters.requests)"
    )
    command = [sys.executable, "-c", program, str(root)]
    with Program(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        assert ask(port, "GET", "/small").status == 200
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == "1\n"
    assert process.returncode == 0


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path):
    with pytest.raises(FileNotFoundError), serving(tmp_path / "none"):
        pass


async def _begin(stopping):
    return asyncio.ensure_future(stopping)


async def _end(task):
    await task
