"""Connections that packed copies ask over, one request after the other."""

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.conditions import eventually
from tests.integration.serving import serving
from tradewind.compression.codecs import parse_setting
from tradewind_agent.compression.choosing import choose
from tradewind_agent.compression.copying import PackedCopy
from tradewind_agent.compression.http import asked, heard
from tradewind_agent.compression.kept_connections import KEPT_S, Connections
from tradewind_agent.compression.planning import Wish
from tradewind_agent.copy_listing import list_files
from tradewind_agent.copy_options import CopyOptions
from tradewind_agent.engine.address import Url
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.serve import Server

OPTIONS = EngineOptions(durable=False, idle_timeout_s=5)
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


def ask(connections: Connections, url: Url, method: str = "HEAD", *, all_of_it: bool = True) -> None:
    with connections.to(url, OPTIONS) as line:
        how = heard if all_of_it else asked
        line.over(how(line.connection, method, url, {}, OPTIONS))


def test_many_files_go_over_as_many_connections_as_are_open_at_once(
    server: Server, tmp_path: Path, opened: list[tuple[str, int]]
) -> None:
    target = tmp_path / "down"
    for source, to in ((f"{server.url}", str(target)), (str(target), f"{server.url}up/")):
        listing = list_files([source], to, options=OPTIONS)
        opened.clear()
        report = PackedCopy(listing, Wish(parse_setting("gzip:1")), OPTIONS, files_at_once=2).run()
        assert (report.files_done, report.failures) == (FILES, [])
        assert 1 <= len(opened) <= 2
    assert {file.read_bytes() for file in target.iterdir()} == {PLAIN}


def test_a_connection_is_taken_again_until_the_other_end_may_close_it(
    server: Server, opened: list[tuple[str, int]]
) -> None:
    times_s = iter((0.0, KEPT_S, KEPT_S, 2 * KEPT_S + 0.1, 2 * KEPT_S + 0.1))
    url = Url.parse(f"{server.url}0.txt")
    with closing(Connections(lambda: next(times_s))) as connections:
        for expected in (1, 1, 2):
            ask(connections, url)
            assert len(opened) == expected


def test_what_was_not_read_to_its_end_is_asked_nothing_more(server: Server, opened: list[tuple[str, int]]) -> None:
    url = Url.parse(f"{server.url}0.txt")
    with closing(Connections()) as connections:
        ask(connections, url, "GET", all_of_it=False)
        ask(connections, url)
    assert len(opened) == 2


def test_a_connection_that_the_server_has_closed_is_not_taken(
    server: Server, opened: list[tuple[str, int]], until_closed: Callable[[Connections], None]
) -> None:
    url = Url.parse(f"{server.url}0.txt")
    with closing(Connections()) as connections:
        ask(connections, url)
        until_closed(connections)
        ask(connections, url)
    assert len(opened) == 2


@pytest.fixture
def until_closed(server: Server) -> Callable[[Connections], None]:
    """Has the kept connection's own end see the other's: its server half is shut from here."""

    def wait(connections: Connections) -> None:
        (*_, connection) = connections._kept[0]
        connection.sock.shutdown(socket.SHUT_WR)  # the server answers an end with its own
        eventually(lambda: connection.sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"")

    return wait


def test_nothing_is_kept_once_they_are_closed(server: Server, opened: list[tuple[str, int]]) -> None:
    url = Url.parse(f"{server.url}0.txt")
    connections = Connections()
    ask(connections, url)
    connections.close()
    ask(connections, url)
    ask(connections, url)
    connections.close()
    assert len(opened) == 3


@pytest.mark.parametrize("upload", [True, False])
def test_a_file_goes_over_the_connection_that_was_asked_over(
    server: Server, tmp_path: Path, opened: list[tuple[str, int]], upload: bool
) -> None:
    (tmp_path / "a.txt").write_bytes(PLAIN)
    here, there = str(tmp_path / ("a.txt" if upload else "b.txt")), f"{server.url}{'a' if upload else '0'}.txt"
    listing = list_files([here if upload else there], there if upload else here, options=OPTIONS)
    known = CopyOptions(bandwidth_bps=1e6, rtt_s=0.02, engine=OPTIONS)
    with closing(Connections()) as connections:
        chosen = choose(listing, known, None, connections)
        how = {"advised": chosen.advised, "connections": connections}
        report = PackedCopy(listing, Wish(None), OPTIONS, **how).run()  # type: ignore[arg-type]
    assert report.files_done == 1
    assert None not in report.used
    assert len(opened) == 1
