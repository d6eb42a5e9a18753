"""Connections that packed copies go over, one file after the other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.compression.unlogged_copy import copy_packed
from tests.integration.serve_files.serving import serving
from tradewind.compression.codecs import parse_setting
from tradewind_agent.compression.planning import PackingMode
from tradewind_agent.copy.listing import list_files
from tradewind_agent.engine import pool
from tradewind_agent.engine.http.address import Origin
from tradewind_agent.engine.http.connection import Connection
from tradewind_agent.engine.options import EngineOptions
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
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Origin]:
    """Whom connections of transfers were opened to."""
    found: list[Origin] = []
    dial = pool.dial

    async def counted(origin: Origin, *more: Any) -> Connection:
        found.append(origin)
        return await dial(origin, *more)

    monkeypatch.setattr(pool, "dial", counted)
    return found


def test_many_files_go_over_as_many_connections_as_are_open_at_once(
    server: Server, tmp_path: Path, opened: list[Origin]
) -> None:
    target = tmp_path / "down"
    for source, to in ((f"{server.url}", str(target)), (str(target), f"{server.url}up/")):
        listing = list_files([source], to, options=OPTIONS)
        opened.clear()
        report = copy_packed(listing, PackingMode(parse_setting("gzip:1")), OPTIONS, files_at_once=2)
        assert (report.files_done, report.failures) == (FILES, [])
        assert 1 <= len(opened) <= 2
    assert {file.read_bytes() for file in target.iterdir()} == {PLAIN}


def test_files_that_come_as_they_are_come_over_one_connection(tmp_path: Path, opened: list[Origin]) -> None:
    (tmp_path / "served").mkdir()
    for number in range(FILES):
        (tmp_path / "served" / f"{number}.txt").write_bytes(PLAIN)
    with serving(tmp_path / "served", limits=ServerLimits(max_packed_downloads=0)) as plain:
        listing = list_files([plain.url], str(tmp_path / "down"), options=OPTIONS)
        opened.clear()
        report = copy_packed(listing, PackingMode(parse_setting("gzip:1")), OPTIONS, files_at_once=1)
    assert (report.files_done, report.failures, set(report.used)) == (FILES, [], set())
    assert len(opened) == 1
