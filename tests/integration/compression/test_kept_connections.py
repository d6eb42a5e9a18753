"""Connections that packed copies ask over, one request after the other."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.integration.serve_files.serving import serving
from tradewind.compression.codecs import parse_setting
from tradewind_agent.compression.packed.connection_pool import MAX_IDLE_S, ConnectionPool
from tradewind_agent.compression.packed.run import PackedCopy
from tradewind_agent.compression.packing_choice import choose_packing
from tradewind_agent.compression.planning import PackingMode
from tradewind_agent.copy.listing import list_files
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import ConnectionFault
from tradewind_agent.serve import Server
from tradewind_agent.serve.options import ServerLimits

OPTIONS = EngineOptions(durable=False, answer_timeout_s=5)
FILES = 6
PLAIN = b"all work and no play makes Jack a dull boy\n" * 3000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "served"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number}.txt").write_bytes(PLAIN)
    with serving(folder, writable=True) as running:
        yield running


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Whom connections were opened to."""
    found: list[tuple[str, int]] = []
    create = socket.create_connection

    def counted(address: tuple[str, int], *more: object, **options: object) -> socket.socket:
        found.append(address)
        return create(address, *more, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "create_connection", counted)
    return found


class Clock:
    at_s = 0.0

    def now_s(self) -> float:
        return self.at_s


def ask(connections: ConnectionPool, url: Url, method: str = "HEAD", *, all_of_it: bool = True) -> None:
    with connections.lend_connection(url, OPTIONS) as used:
        used.release(used.request_and_discard(method, {}) if all_of_it else used.send_request(method, {}))


def test_many_files_go_over_as_many_connections_as_are_open_at_once(
    server: Server, tmp_path: Path, opened: list[tuple[str, int]]
) -> None:
    target = tmp_path / "down"
    for source, to in ((f"{server.url}", str(target)), (str(target), f"{server.url}up/")):
        listing = list_files([source], to, options=OPTIONS)
        opened.clear()
        report = PackedCopy(listing, PackingMode(parse_setting("gzip:1")), OPTIONS, files_at_once=2).run()
        assert (report.files_done, report.failures) == (FILES, [])
        assert 1 <= len(opened) <= 2
    assert {file.read_bytes() for file in target.iterdir()} == {PLAIN}


def test_idle_connection_is_reused_until_server_may_close_it(server: Server, opened: list[tuple[str, int]]) -> None:
    clock = Clock()
    url = Url.parse(f"{server.url}0.txt")
    with closing(ConnectionPool(clock.now_s)) as connections:
        for idle_s, expected in ((0.0, 1), (MAX_IDLE_S, 1), (MAX_IDLE_S + 0.1, 2)):
            clock.at_s += idle_s
            ask(connections, url)
            assert len(opened) == expected


def test_connection_with_unread_answer_is_not_reused(server: Server, opened: list[tuple[str, int]]) -> None:
    url = Url.parse(f"{server.url}0.txt")
    with closing(ConnectionPool()) as connections:
        ask(connections, url, "GET", all_of_it=False)
        ask(connections, url)
    assert len(opened) == 2


def answer_once(listening: socket.socket, times: int, *, closes: bool) -> None:
    """Answer one request on each of so many connections, and then close it, at once or with the next request."""
    for _ in range(times):
        client, _ = listening.accept()
        with client:
            client.recv(65536)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            if not closes:
                client.recv(65536)


@pytest.mark.parametrize("closes", [True, False])
def test_closed_idle_connection_is_replaced(opened: list[tuple[str, int]], closes: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, closing(ConnectionPool()) as connections:
        url = Url.parse(f"http://127.0.0.1:{listening.getsockname()[1]}/a")
        with ThreadPoolExecutor(1) as pool:
            answering = pool.submit(answer_once, listening, 2, closes=closes)
            ask(connections, url)
            ask(connections, url)
            connections.close()
            answering.result()
    assert len(opened) == 2


def drop_one(listening: socket.socket) -> None:
    listening.accept()[0].close()


def test_request_lost_on_new_connection_is_not_repeated(opened: list[tuple[str, int]]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, closing(ConnectionPool()) as connections:
        url = Url.parse(f"http://127.0.0.1:{listening.getsockname()[1]}/a")
        with ThreadPoolExecutor(1) as pool:
            gone = pool.submit(drop_one, listening)
            with pytest.raises(ConnectionFault):
                ask(connections, url)
            gone.result()
    assert len(opened) == 1


def test_an_answer_before_the_answer_frees_no_connection(opened: list[tuple[str, int]]) -> None:
    def answer(listening: socket.socket) -> None:
        for _ in range(2):
            client, _ = listening.accept()
            with client:
                client.recv(65536)
                client.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n")
                client.recv(65536)

    with socket.create_server(("127.0.0.1", 0)) as listening, closing(ConnectionPool()) as connections:
        url = Url.parse(f"http://127.0.0.1:{listening.getsockname()[1]}/a")
        with ThreadPoolExecutor(1) as pool:
            answering = pool.submit(answer, listening)
            ask(connections, url)
            ask(connections, url)
            answering.result()
    assert len(opened) == 2


def test_files_that_come_as_they_are_come_over_one_connection(tmp_path: Path, opened: list[tuple[str, int]]) -> None:
    (tmp_path / "served").mkdir()
    for number in range(FILES):
        (tmp_path / "served" / f"{number}.txt").write_bytes(PLAIN)
    with serving(tmp_path / "served", limits=ServerLimits(max_packed_downloads=0)) as plain:
        listing = list_files([plain.url], str(tmp_path / "down"), options=OPTIONS)
        opened.clear()
        report = PackedCopy(listing, PackingMode(parse_setting("gzip:1")), OPTIONS, files_at_once=1).run()
    assert (report.files_done, report.failures, set(report.used)) == (FILES, [], set())
    assert len(opened) == 1


@pytest.mark.parametrize("upload", [True, False])
def test_file_uses_connection_of_its_query(
    server: Server, tmp_path: Path, opened: list[tuple[str, int]], upload: bool
) -> None:
    (tmp_path / "a.txt").write_bytes(PLAIN)
    here, there = str(tmp_path / ("a.txt" if upload else "b.txt")), f"{server.url}{'a' if upload else '0'}.txt"
    listing = list_files([here if upload else there], there if upload else here, options=OPTIONS)
    known = CopyOptions(bandwidth_bps=1e6, rtt_s=0.02, engine=OPTIONS)
    with closing(ConnectionPool()) as connections:
        chosen = choose_packing(listing, known, None, connections)
        how = {"advised": chosen.advised, "connections": connections}
        report = PackedCopy(listing, PackingMode(None), OPTIONS, **how).run()  # type: ignore[arg-type]
    assert report.files_done == 1
    assert None not in report.used
    assert len(opened) == 1
