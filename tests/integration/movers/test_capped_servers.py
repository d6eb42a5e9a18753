"""A tool that moves all files by itself moves them when it is wrapped, though the server permits few at once."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.integration.movers.driving import Driver, recommending
from tradewind.transfer import Status

COUNT = 12
MISSING = "missing"


class CappedServer(ThreadingHTTPServer):
    """Serves a folder, ``limit`` files at a time; refuses others."""

    daemon_threads = True

    def __init__(self, folder: Path, limit: int, status: int) -> None:
        super().__init__(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.limit, self.status = limit, status
        self.slots = threading.BoundedSemaphore(limit)
        self.refused = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: CappedServer

    def do_GET(self) -> None:
        if self.path.endswith("/"):
            super().do_GET()
            return
        if not self.server.slots.acquire(blocking=False):
            self.server.refused += 1
            self.send_response(self.server.status)
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"busy")
            return
        try:
            time.sleep(0.15)  # the time that the server takes for a file
            super().do_GET()
        finally:
            self.server.slots.release()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def capped(folder: Path, limit: int, status: int = 503) -> Iterator[CappedServer]:
    server = CappedServer(folder, limit, status)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def content(tmp_path: Path) -> Path:
    folder = tmp_path / "content"
    folder.mkdir()
    for number in range(COUNT):
        (folder / f"f{number:02}").write_bytes(os.urandom(20_000 + number))
    return folder


def read(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("status", [403, 429, 503])
@pytest.mark.parametrize("fail", [("--fail",), ()], ids=["fail", "no-fail"])
def test_curl_gets_all_files(drive: Driver, content: Path, tmp_path: Path, status: int, fail: tuple[str, ...]):
    with capped(content, 1, status) as server:
        words = ["--silent", *fail, "--remote-name-all", "--output-dir", tmp_path / "got", "--create-dirs"]
        urls = [f"{server.url}/f{number:02}" for number in range(COUNT)]
        report = drive.run(drive.prepare("curl", *words, *urls, service=recommending(8)))
        assert server.refused > 0
    assert report.exit_code == 0
    assert read(tmp_path / "got") == read(content)
    assert report.result is not None
    assert (report.result.files_done, report.result.files_failed) == (COUNT, 0)
    assert any("failed with 8 files at once" in note for note in report.notes)


def test_curl_still_fails_for_a_file_that_is_not_there(drive: Driver, content: Path, tmp_path: Path):
    with capped(content, 2) as server:
        words = ["--silent", "--fail", "--remote-name-all", "--output-dir", tmp_path / "got", "--create-dirs"]
        urls = [f"{server.url}/{name}" for name in (MISSING, *sorted(read(content)))]
        report = drive.run(drive.prepare("curl", *words, *urls, service=recommending(8)))
    assert report.exit_code == 22
    assert read(tmp_path / "got") == read(content)


@pytest.mark.parametrize("names", [(MISSING,), (MISSING, "f01", "f02")], ids=["one", "one-of-three"])
def test_error_page_that_curl_stores_is_logged_as_failed(
    drive: Driver, content: Path, tmp_path: Path, names: tuple[str, ...]
):
    with capped(content, 20) as server:
        words = ["--silent", "--parallel", "--remote-name-all", "--output-dir", tmp_path / "got", "--create-dirs"]
        report = drive.run(drive.prepare("curl", *words, *(f"{server.url}/{name}" for name in names)))
    assert report.exit_code == 0
    assert report.status is Status.FAILED
    assert any(f"answered 404 to {server.url}/{MISSING}" in note for note in report.notes)
    (record,) = drive.spooled()
    assert (record.outcome.status, record.outcome.files_failed) == (Status.FAILED, 1)
    assert record.outcome.bytes_moved == sum((content / name).stat().st_size for name in names if name != MISSING)


def test_upload_that_the_server_refuses_is_logged_as_failed(drive: Driver, content: Path):
    with capped(content, 20) as server:
        report = drive.run(drive.prepare("curl", "--silent", "--upload-file", content / "f00", f"{server.url}/new"))
    assert report.exit_code == 0
    assert report.status is Status.FAILED
    assert any("has not taken the file" in note for note in report.notes)


def test_curl_gets_all_files_of_a_configuration(drive: Driver, content: Path, tmp_path: Path):
    with capped(content, 1) as server:
        listed = tmp_path / "listed"
        rows = (f'url = "{server.url}/{name}"\noutput = "{tmp_path}/got/{name}"\n' for name in sorted(read(content)))
        listed.write_text("".join(rows))
        words = ["--silent", "--fail", "--create-dirs", "--config", listed]
        report = drive.run(drive.prepare("curl", *words, service=recommending(8)))
    assert report.exit_code == 0
    assert read(tmp_path / "got") == read(content)


def test_curl_with_files_at_once_of_the_users_own_runs_once(drive: Driver, content: Path, tmp_path: Path):
    with capped(content, 1) as server:
        words = ["--silent", "--fail", "--parallel", "--parallel-max", "8", "--remote-name-all", "--create-dirs"]
        urls = [f"{server.url}/{name}" for name in sorted(read(content))]
        line = ["curl", *words, "--output-dir", tmp_path / "got", *urls]
        report = drive.run(drive.prepare(*line, service=recommending(8)))
    assert report.exit_code == 22
    assert len(report.commands) == 1


def test_data_is_not_sent_twice(drive: Driver, content: Path, tmp_path: Path):
    with capped(content, 1) as server:
        words = ["--silent", "--fail", "--data", "x=1", "--remote-name-all", "--output-dir", tmp_path / "got"]
        urls = [f"{server.url}/{name}" for name in sorted(read(content))]
        report = drive.run(drive.prepare("curl", *words, "--create-dirs", *urls, service=recommending(8)))
    assert report.exit_code != 0
    assert len(report.commands) == 1


def test_rclone_gets_all_files(drive: Driver, content: Path, tmp_path: Path):
    with capped(content, 4) as server:
        words = ["copy", "--retries", "1", "--low-level-retries", "1", "--http-url", server.url, ":http:"]
        report = drive.run(drive.prepare("rclone", *words, tmp_path / "got", service=recommending(12)))
    assert report.exit_code == 0
    assert len(report.commands) > 1
    assert read(tmp_path / "got") == read(content)


def test_aria2_gets_all_files(drive: Driver, content: Path, tmp_path: Path):
    with capped(content, 5) as server:
        urls = [f"{server.url}/{name}" for name in sorted(read(content))]
        words = ["--max-tries=1", "--force-sequential=true", f"--dir={tmp_path / 'got'}", "--quiet"]
        report = drive.run(drive.prepare("aria2c", *words, *urls, service=recommending(12)))
    assert report.exit_code == 0
    assert len(report.commands) > 1
    assert read(tmp_path / "got") == read(content)


def test_aria2_still_fails_for_a_file_that_is_not_there(drive: Driver, content: Path, tmp_path: Path):
    with capped(content, 20) as server:
        words = ["--max-tries=1", f"--dir={tmp_path / 'got'}", "--force-sequential=true", "--quiet"]
        urls = [f"{server.url}/{name}" for name in (MISSING, *sorted(read(content)))]
        report = drive.run(drive.prepare("aria2c", *words, *urls, service=recommending(12)))
    assert report.exit_code != 0
    assert read(tmp_path / "got") == read(content)


def test_rclone_with_a_remote_that_is_not_configured_runs_once(drive: Driver, tmp_path: Path):
    report = drive.run(drive.prepare("rclone", "copy", "nowhere:set", tmp_path / "got", service=recommending(8)))
    assert report.exit_code == 1
    assert len(report.commands) == 1
    assert not any("at once" in note for note in report.notes)


def test_curl_with_an_option_that_it_does_not_know_runs_once(drive: Driver, tmp_path: Path):
    urls = [f"http://127.0.0.1:9/f{number}" for number in range(COUNT)]
    line = ["curl", "--silent", "--no-such-option", "--remote-name-all", "--output-dir", tmp_path, *urls]
    report = drive.run(drive.prepare(*line, service=recommending(8)))
    assert report.exit_code == 2
    assert len(report.commands) == 1


def test_curl_with_a_folder_that_is_not_there_runs_once(drive: Driver, content: Path, tmp_path: Path):
    with capped(content, 20) as server:
        urls = [f"{server.url}/{name}" for name in sorted(read(content))]
        words = ["--silent", "--remote-name-all", "--output-dir", tmp_path / "not" / "there"]
        report = drive.run(drive.prepare("curl", *words, *urls, service=recommending(8)))
    assert report.exit_code == 23
    assert len(report.commands) == 1
