"""PUT of whole files: stored at once or not at all."""

from pathlib import Path

import pytest

from tests.conditions import eventually
from tests.integration.serve_files.serving import Wire, ask, sha256
from tests.integration.uploads.sending import CONTENT, files_in
from tradewind_agent.serve import Server


@pytest.mark.parametrize("size", [0, 1, 100_000, 5_300_000])
def test_full_file_is_stored_and_returned(server: Server, root: Path, size: int):
    with Wire(server.port) as wire:
        answer = wire.ask("PUT", "/a/b/c.bin", CONTENT[:size])
        assert (answer.status, answer.json["complete"]) == (201, True)
        got = wire.ask("GET", answer.headers["location"])
    assert sha256(got.body) == sha256(CONTENT[:size])
    assert got.headers["etag"] == answer.headers["etag"]
    assert files_in(root) == {"a/b/c.bin"}


def test_a_chunked_body_is_stored(server: Server, root: Path):
    with Wire(server.port) as wire:
        wire.socket.sendall(b"PUT /c HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n")
        for first in range(0, len(CONTENT), 900_001):
            block = CONTENT[first : first + 900_001]
            wire.socket.sendall(b"%x\r\n%s\r\n" % (len(block), block))
        wire.socket.sendall(b"0\r\n\r\n")
        assert wire.receive().status == 201
    assert sha256((root / "c").read_bytes()) == sha256(CONTENT)


def test_100_continue_is_sent_only_when_body_is_needed(server: Server, root: Path):
    head = "PUT {} HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
    with Wire(server.port) as wire:
        wire.socket.sendall(head.format("/e").encode())
        assert wire.receive().status == 100
        wire.socket.sendall(b"hello")
        assert wire.receive().status == 201
        wire.socket.sendall(head.format("/../e").encode())
        assert wire.receive().status == 403
        assert wire.is_closed()
    assert (root / "e").read_bytes() == b"hello"


def test_pipelined_puts_and_gets_are_answered_in_order(server: Server):
    with Wire(server.port) as wire:
        for number in range(30):
            wire.send("PUT", f"/n{number}", b"%d" % number)
            wire.send("GET", f"/n{number}")
        for number in range(30):
            assert wire.receive().status == 201
            assert wire.receive().body == b"%d" % number


def test_a_file_is_replaced_at_once_or_not_at_all(server: Server, root: Path):
    (root / "f").write_bytes(b"old")
    with Wire(server.port) as wire:
        wire.socket.sendall(b"PUT /f HTTP/1.1\r\nHost: t\r\nContent-Length: 2000000\r\n\r\n" + CONTENT[:1_500_000])
        eventually(lambda: len(files_in(root)) == 2)
        assert ask(server.port, "GET", "/f").body == b"old"
    eventually(lambda: files_in(root) == {"f"})
    assert ask(server.port, "GET", "/f").body == b"old"
    assert ask(server.port, "PUT", "/f", b"new").status == 201
    assert ask(server.port, "GET", "/f").body == b"new"


def test_wrong_digest_of_full_file_stores_nothing(server: Server, root: Path):
    assert ask(server.port, "PUT", "/f", b"data", Tradewind_Sha256=sha256(b"else")).status == 422
    assert files_in(root) == set()
    assert ask(server.port, "PUT", "/f", b"data", Tradewind_Sha256=sha256(b"data").upper()).status == 201


def test_conditions_protect_what_is_there(server: Server, root: Path):
    assert ask(server.port, "PUT", "/f", b"1", If_Match='"x"').status == 412
    created = ask(server.port, "PUT", "/f", b"1", If_None_Match="*")
    assert created.status == 201
    assert ask(server.port, "PUT", "/f", b"2", If_None_Match="*").status == 412
    assert ask(server.port, "PUT", "/f", b"2", If_Match=created.headers["etag"]).status == 201
    assert (root / "f").read_bytes() == b"2"


def test_a_coded_body_is_refused(server: Server, root: Path):
    assert ask(server.port, "PUT", "/f", b"data", Content_Encoding="gzip").status == 415
    assert files_in(root) == set()
