"""Relays between programs that many servers run: nginx stores what is PUT, and sees whole files alone."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.engine.servers.web_servers import WebServer, nginx
from tests.integration.engine.transfers import options
from tests.integration.relays.file_source import FileSource, Turn
from tests.integration.serve_files.serving import event_loop
from tradewind.parameters import Parameters
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.copy.run import copy_files

DAV = "dav_methods PUT DELETE MKCOL COPY MOVE; create_full_put_path on; client_max_body_size 0;"
SIZES = {"a": 0, "b c%41": 3_000, "deep/er/d": 200_000, "large": 30_000_000}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[WebServer, Path]]:
    root, work = tmp_path / "root", tmp_path / "work"
    root.mkdir()
    work.mkdir()
    with nginx(root, work, server=DAV) as running:
        yield running, root


def copy(source: str, destination: str, **changes: object) -> CopyReport:
    by_hand = Parameters(concurrency=3, parallelism=2, pipelining=2)
    used = CopyOptions(by_hand=by_hand, tune=False, engine=options(**changes))
    return copy_files([source], destination, options=used)


def read(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_goes_from_a_web_server_to_itself_under_another_name(server: tuple[WebServer, Path]):
    running, root = server
    draw = random.Random(6)
    for name, size in SIZES.items():
        path = root / "from" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(draw.randbytes(size))
    report = copy(f"{running.url}from/", f"{running.url}to/")
    assert report.is_complete
    assert read(root / "to") == read(root / "from")
    assert report.bytes_by_servers == 0


@pytest.mark.parametrize("sent_bytes", [0, 12_000_000])
def test_a_source_that_ends_in_the_middle_leaves_no_file(server: tuple[WebServer, Path], sent_bytes: int):
    """All tries break off at the same place."""
    running, root = server
    content = random.Random(7).randbytes(20_000_000)
    source = FileSource(
        {"/large": content},
        turn=lambda head, _: Turn(sent_bytes=None if head.method == "HEAD" else sent_bytes),
        has_ranges=False,
        has_tags=False,
    )
    with event_loop() as run:
        run(source.__aenter__())
        try:
            report = copy(f"{source.url}/large", f"{running.url}to/large")
        finally:
            run(source.__aexit__())
    assert not report.succeeded
    assert len(report.failures) == 1
    assert read(root) == {}
