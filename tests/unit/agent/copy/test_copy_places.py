"""Where a copy goes: a slash at the end names a folder, and no file of a copy replaces another one."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tradewind_agent.copy.listing import Listing, list_files
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import UnusableSource


class OneByte(BaseHTTPRequestHandler):
    """Every name is a file of one byte."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- named by the library
        """Nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), OneByte) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def listed(sources: list[str], destination: str) -> Listing:
    return list_files(sources, destination, options=EngineOptions())


def places(sources: list[str], destination: str) -> list[str]:
    return [str(job.destination) for job in listed(sources, destination).jobs]


@pytest.mark.parametrize("names", [["a"], ["a", "b"]])
@pytest.mark.parametrize("form", ["{}/out/", "{}/out//", "file://{}/out/"])
def test_a_slash_names_a_folder_that_need_not_exist(url: str, tmp_path: Path, names: list[str], form: str):
    found = places([f"{url}/{name}" for name in names], form.format(tmp_path))
    assert found == [f"{tmp_path}/out/{name}" for name in names]
    assert not (tmp_path / "out").exists()


def test_without_a_slash_one_file_gets_that_name(url: str, tmp_path: Path):
    assert places([f"{url}/a"], f"{tmp_path}/out") == [f"{tmp_path}/out"]


def test_an_upload_to_a_slash_keeps_the_name(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"x")
    assert places([f"{tmp_path}/a"], "http://host/in/") == ["http://host/in/a"]


def test_files_of_one_name_are_refused_both_ways(url: str, tmp_path: Path):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same").write_bytes(b"x")
    with pytest.raises(UnusableSource, match="would both become"):
        listed([f"{tmp_path}/x/same", f"{tmp_path}/y/same"], "http://host/in/")
    with pytest.raises(UnusableSource, match="would both become"):
        listed([f"{url}/x/same", f"{url}/y/same"], f"{tmp_path}/out/")
