"""Packed copies to and from a server that permits few connections at once."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from benchmarks.compression.unlogged_copy import PackedReport, copy_packed
from tests.integration.serve_files.serving import serving
from tradewind_agent.compression.planning import PackingMode
from tradewind_agent.copy.listing import list_files
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.serve import Server

FILES = {f"f{number}.csv": b"".join(b"%d,%d\n" % (row, number) for row in range(20_000)) for number in range(10)}


class Front:
    """Forwards ``limit`` connections to a server at a time, and refuses others by ``status``, or by closing them.

    ``counts_for_s`` : how long a connection counts that was closed.
    """

    def __init__(self, server: Server, limit: int, status: int | None, counts_for_s: float) -> None:
        self._behind, self._counts_for_s = _address(server.url), counts_for_s
        self.status, self.refused = status, 0
        self._slots = threading.BoundedSemaphore(limit)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._listener.accept()[0],), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with closing(near), suppress(OSError):
            if not self._slots.acquire(blocking=False):
                self.refused += 1
                if self.status is not None and near.recv(65536):
                    near.sendall(b"HTTP/1.1 %d Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % self.status)
                return
            try:
                with socket.create_connection(self._behind) as far:
                    back = threading.Thread(target=_pump, args=(far, near), daemon=True)
                    back.start()
                    _pump(near, far)
                    back.join()
            finally:
                near.close()
                time.sleep(self._counts_for_s)
                self._slots.release()

    def close(self) -> None:
        self._listener.close()


def _address(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").rstrip("/").partition(":")
    return host, int(port)


def _pump(source: socket.socket, destination: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            destination.sendall(data)
        destination.shutdown(socket.SHUT_WR)


@contextmanager
def front_of(root: Path, limit: int, status: int | None, counts_for_s: float = 0.0) -> Iterator[Front]:
    with serving(root, writable=True) as server, closing(Front(server, limit, status, counts_for_s)) as front:
        yield front


def write_all(folder: Path) -> Path:
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    return folder


def copied(source: str, destination: str) -> PackedReport:
    options = EngineOptions(durable=False)
    listing = list_files([source], destination, options=options)
    assert len(listing.jobs) == len(FILES)
    return copy_packed(listing, PackingMode.parse("gzip:1"), options, files_at_once=6)


@pytest.mark.parametrize("status", [403, 429, 503, 509, None])
def test_a_download_steps_down_and_loses_no_file(tmp_path: Path, status: int | None) -> None:
    root = write_all(tmp_path / "root")
    with front_of(root, 2, status) as front:
        report = copied(front.url, str(tmp_path / "got"))
        assert front.refused > 0
    assert report.failures == []
    assert {name: (tmp_path / "got" / name).read_bytes() for name in FILES} == FILES
    assert report.permitted_files is not None


@pytest.mark.parametrize("counts_for_s", [0.0, 0.3])
@pytest.mark.parametrize("status", [403, 503, None])
def test_an_upload_steps_down_and_loses_no_file(tmp_path: Path, status: int | None, counts_for_s: float) -> None:
    source, root = write_all(tmp_path / "source"), tmp_path / "root"
    root.mkdir()
    with front_of(root, 2, status, counts_for_s) as front:
        report = copied(str(source), front.url + "there/")
        assert front.refused > 0
    assert report.failures == []
    found = {path.name: path.read_bytes() for path in root.rglob("*.csv")}
    assert found == FILES
