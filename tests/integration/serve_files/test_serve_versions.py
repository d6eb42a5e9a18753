"""One version of a file goes out under one tag, and one name goes to one of several uploads."""

import os
import time
from pathlib import Path

import pytest

from tests.conditions import eventually
from tests.integration.serve_files.serving import Wire, ask, serving
from tests.integration.uploads.sending import files_in

LARGE = os.urandom(32 << 20)


def rewrite(path: Path, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(len(LARGE) - 100_000)
        file.write(data)


@pytest.mark.parametrize("sendfile", [True, False])
@pytest.mark.parametrize("is_overwritten", [True, False])
def test_body_of_a_file_that_is_overwritten_meanwhile_is_cut(tmp_path: Path, *, sendfile: bool, is_overwritten: bool):
    (tmp_path / "f").write_bytes(LARGE)
    with serving(tmp_path, sendfile=sendfile) as server, Wire(server.port) as wire:
        wire.send("GET", "/f")
        start = wire.read(1000)
        assert start.startswith(b"HTTP/1.1 200")
        if is_overwritten:
            rewrite(tmp_path / "f", b"other" * 20_000)
            with pytest.raises((ConnectionError, OSError)):
                wire.read(len(LARGE))
        else:  # a log grows, and what was there stays
            with (tmp_path / "f").open("ab") as file:
                file.write(b"more")
            head_bytes = start.index(b"\r\n\r\n") + 4
            assert start[head_bytes:] + wire.read(len(LARGE) - 1000 + head_bytes) == LARGE


def test_time_that_another_version_may_have_too_continues_no_range(tmp_path: Path):
    path = tmp_path / "f"

    def ask_within_the_second_of_a_change() -> int | None:
        path.write_bytes(b"version one")
        date = ask(server.port, "HEAD", "/f").headers["last-modified"]
        status = ask(server.port, "GET", "/f", Range="bytes=0-1", If_Range=date).status
        return status if time.time() < int(path.stat().st_mtime) + 1 else None

    with serving(tmp_path) as server:
        assert eventually(ask_within_the_second_of_a_change) == 200
        os.utime(path, (1e9, 1e9))
        date = ask(server.port, "HEAD", "/f").headers["last-modified"]
        assert ask(server.port, "GET", "/f", Range="bytes=0-1", If_Range=date).status == 200  # that was set
        path.write_bytes(b"version two")
        date = ask(server.port, "HEAD", "/f").headers["last-modified"]
        continued = eventually(lambda: ask(server.port, "GET", "/f", Range="bytes=0-1", If_Range=date).status == 206)
        assert continued


def test_upload_that_may_only_create_does_not_replace_a_faster_one(tmp_path: Path):
    with serving(tmp_path, writable=True) as server, Wire(server.port) as slow:
        slow.socket.sendall(b"PUT /f HTTP/1.1\r\nHost: t\r\nIf-None-Match: *\r\nContent-Length: 4\r\n\r\nsl")
        eventually(lambda: list(tmp_path.glob(".tradewind*")))
        assert ask(server.port, "PUT", "/f", b"fast", If_None_Match="*").status == 201
        slow.socket.sendall(b"ow")
        assert slow.receive().status == 412
    assert (tmp_path / "f").read_bytes() == b"fast"
    assert files_in(tmp_path) == {"f"}


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"PUT /f HTTP/1.1\r\nHost: t\r\n\r\n", 411),
        (b"PUT /f HTTP/1.0\r\n\r\n", 411),
        (b"PUT /new/ HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n\r\n", 409),
        (b"PUT /f HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n\r\n", 201),
    ],
    ids=["no length", "until the end of the connection", "a folder's name", "an empty file"],
)
def test_upload_that_may_be_none_replaces_nothing(tmp_path: Path, request_head: bytes, status: int):
    (tmp_path / "f").write_bytes(b"before")
    with serving(tmp_path, writable=True) as server, Wire(server.port) as wire:
        wire.socket.sendall(request_head)
        assert wire.receive().status == status
    assert (tmp_path / "f").read_bytes() == (b"" if status == 201 else b"before")
    assert files_in(tmp_path) == {"f"}
