"""What a server does not take: places outside its folder, and more than there is room for."""

import os
from pathlib import Path

import pytest

from tests.integration.serving import Wire, ask, serving, sha256
from tests.integration.uploads.sending import CONTENT, PARTS, files_in, send_part, server_process
from tradewind_agent.serve import Limits, Server
from tradewind_agent.serve.folder import PART_PREFIX


@pytest.mark.parametrize(
    ("target", "status"),
    [("/../out", 403), ("/sub/../../out", 403), ("/%2e%2e/out", 403), ("/link/out", 403), (f"/{PART_PREFIX}x", 403),
     ("/sub", 409), ("/sub/", 409), ("/", 409), ("/plain/below", 409), ("/" + "n" * 300, 414)],
)  # fmt: skip
@pytest.mark.parametrize("in_parts", [False, True], ids=["whole", "part"])
def test_nothing_is_written_where_it_must_not_be(server: Server, root: Path, target: str, status: int, in_parts: bool):
    (root / "sub").mkdir()
    (root / "plain").write_bytes(b"p")
    (root / "link").symlink_to("..")
    fields = {"Content_Range": "bytes 0-3/4", "Tradewind_Upload": "u"} if in_parts else {}
    assert ask(server.port, "PUT", target, b"data", **fields).status == status
    assert files_in(root.parent) == {"served/plain"}


def test_a_link_in_place_of_the_file_is_replaced_not_followed(server: Server, root: Path):
    (root.parent / "outside").write_bytes(b"outside")
    (root / "f").symlink_to("../outside")
    assert ask(server.port, "PUT", "/f", b"data").status == 201
    assert (root.parent / "outside").read_bytes() == b"outside"
    assert not (root / "f").is_symlink()


def test_part_files_are_neither_served_nor_listed(server: Server, root: Path):
    with Wire(server.port) as wire:
        send_part(wire, PARTS[0])
        (part,) = {name for name in files_in(root) if not name.endswith(".journal")}
        assert wire.ask("GET", f"/{part}").status == 403
        assert wire.ask("GET", "/in/", Accept="application/json").json["entries"] == []


def test_sizes_beyond_the_limits_are_413(root: Path):
    with serving(root, writable=True, limits=Limits(max_body_bytes=1000, max_file_bytes=5000)) as server:
        assert ask(server.port, "PUT", "/f", bytes(1001)).status == 413
        chunked = b"PUT /f HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
        with Wire(server.port) as wire:
            wire.socket.sendall(chunked + b"500\r\n" + bytes(0x500) + b"\r\n0\r\n\r\n")
            assert wire.receive().status == 413
        with Wire(server.port) as wire:
            assert send_part(wire, (0, 999), content=bytes(5000)).status == 202
            assert send_part(wire, (0, 999), content=bytes(5001), upload="u2").status == 413
    assert "f" not in files_in(root)


def test_a_full_quota_is_507_and_room_that_is_given_back_can_be_used(root: Path):
    (root / "old").write_bytes(bytes(40_000))
    with serving(root, writable=True, limits=Limits(quota_bytes=100_000)) as server, Wire(server.port) as wire:
        assert wire.ask("PUT", "/a", bytes(60_001)).status == 507
        assert send_part(wire, (0, 9), content=bytes(60_001)).status == 507
        assert files_in(root) == {"old"}
        assert send_part(wire, (0, 9), content=bytes(50_000)).status == 202
        assert wire.ask("PUT", "/a", bytes(10_001)).status == 507
        assert wire.ask("PUT", "/a", bytes(10_000)).status == 201
        wrong = sha256(b"else")
        assert send_part(wire, (10, 49_999), content=bytes(50_000), Tradewind_Sha256=wrong).status == 422
        assert wire.ask("PUT", "/old", bytes(40_000)).status == 201
        assert wire.ask("PUT", "/b", bytes(50_000)).status == 201
        assert wire.ask("PUT", "/c", b"x").status == 507
        with Wire(server.port) as chunking:
            chunking.socket.sendall(
                b"PUT /c HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"
            )
            assert chunking.receive().status == 507
    assert files_in(root) == {"old", "a", "b"}


def test_more_than_the_file_system_holds_is_507_before_a_byte_is_sent(server: Server, root: Path):
    status = os.statvfs(root)
    too_much = status.f_blocks * status.f_frsize + 1
    with Wire(server.port) as wire:
        head = f"PUT /f HTTP/1.1\r\nHost: t\r\nContent-Length: {too_much}\r\nExpect: 100-continue\r\n\r\n"
        wire.socket.sendall(head.encode())
        assert wire.receive().status == 507


def test_a_file_system_that_refuses_a_write_is_told_and_nothing_stays(root: Path):
    with server_process(root, "resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))") as (port, _):
        assert ask(port, "PUT", "/f", CONTENT[:3_000_000]).status == 413
        assert ask(port, "PUT", "/g", CONTENT[:1_000_000]).status == 201
    assert files_in(root) == {"g"}
