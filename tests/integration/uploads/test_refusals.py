"""What a server does not take: places outside its folder, and more than there is room for."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.file_identity import identity
from tests.integration.serve_files.serving import Wire, ask, serving, sha256
from tests.integration.uploads.sending import CONTENT, PARTS, bytes_on_disk, files_in, send_part, server_process
from tradewind_agent.serve import Server, ServerLimits
from tradewind_agent.serve.folder import PART_PREFIX
from tradewind_agent.serve.uploads.uploads import MAX_IDLE


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


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("in_parts", [False, True], ids=["whole", "part"])
def test_special_files_are_never_replaced(server: Server, root: Path, linked: bool, in_parts: bool):
    os.mkfifo(root / ("there" if linked else "f"))
    if linked:
        (root / "f").symlink_to("there")
    before = identity(root / "f")
    fields = {"Content_Range": "bytes 0-3/4", "Tradewind_Upload": "u"} if in_parts else {}
    assert ask(server.port, "PUT", "/f", b"data", **fields).status == 409
    assert identity(root / "f") == before


def test_part_files_are_neither_served_nor_listed(server: Server, root: Path):
    with Wire(server.port) as wire:
        send_part(wire, PARTS[0])
        (part,) = {name for name in files_in(root) if not name.endswith(".journal")}
        assert wire.ask("GET", f"/{part}").status == 403
        assert wire.ask("GET", "/in/", Accept="application/json").json["entries"] == []


def test_sizes_beyond_the_limits_are_413(root: Path):
    with serving(root, writable=True, limits=ServerLimits(max_body_bytes=1000, max_file_bytes=5000)) as server:
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
    with serving(root, writable=True, limits=ServerLimits(quota_bytes=100_000)) as server, Wire(server.port) as wire:
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


def test_idle_parts_count_beyond_those_that_stay_open(root: Path):
    quota_bytes = 1_000_000
    with (
        serving(root, writable=True, limits=ServerLimits(quota_bytes=quota_bytes)) as server,
        Wire(server.port) as wire,
    ):
        assert send_part(wire, (0, 899_998), content=bytes(900_000)).status == 202
        for number in range(MAX_IDLE + 1):
            send_part(wire, (0, 0), target=f"/t{number}", content=b"xy", upload=f"t{number}")
        assert send_part(wire, (0, 899_998), target="/g", content=bytes(900_000), upload="g").status == 507
        with Wire(server.port) as after:
            assert send_part(after, (899_999, 899_999), content=bytes(900_000)).status == 201
    assert bytes_on_disk(root) <= quota_bytes + 64 * 1024


def test_a_part_that_only_announces_its_size_takes_room_for_all_of_it(root: Path):
    with serving(root, writable=True, limits=ServerLimits(quota_bytes=100_000)) as server, Wire(server.port) as wire:
        assert send_part(wire, (0, 0), content=bytes(90_000)).status == 202
        assert wire.ask("PUT", "/g", bytes(20_000)).status == 507


def test_a_server_that_starts_again_counts_the_parts_that_are_there_once(root: Path):
    limits = ServerLimits(quota_bytes=100_000)
    with serving(root, writable=True, limits=limits) as server, Wire(server.port) as wire:
        assert send_part(wire, (0, 9), content=bytes(60_000)).status == 202
    with serving(root, writable=True, limits=limits) as server, Wire(server.port) as wire:
        assert wire.ask("PUT", "/g", bytes(40_001)).status == 507
        assert send_part(wire, (10, 59_999), content=bytes(60_000)).status == 201
        assert wire.ask("PUT", "/g", bytes(40_000)).status == 201


def test_files_of_one_name_sent_at_once_give_back_the_replaced_one_once(root: Path):
    (root / "f").write_bytes(bytes(90_000))
    with serving(root, writable=True, limits=ServerLimits(quota_bytes=100_000)) as server, ExitStack() as closing:
        wires = [closing.enter_context(Wire(server.port)) for _ in range(8)]
        for wire in wires:
            wire.socket.sendall(b"PUT /f HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\n\r\n")
        for wire in wires:
            wire.socket.sendall(b"1")
        assert {wire.receive().status for wire in wires} == {201}
        assert wires[0].ask("PUT", "/g", bytes(99_999)).status == 201
        assert wires[0].ask("PUT", "/h", bytes(99_999)).status == 507


def test_a_refused_part_leaves_no_file(root: Path):
    with serving(root, writable=True) as server, Wire(server.port) as wire:
        for total in (2**63 - 1, 2**62):
            told = {"Content_Range": f"bytes 0-0/{total}", "Tradewind_Upload": "u"}
            assert wire.ask("PUT", "/f", b"x", **told).status == 507
    assert files_in(root) == set()


def test_tiny_files_count_as_the_blocks_that_they_take(root: Path):
    with serving(root, writable=True, limits=ServerLimits(quota_bytes=10_000)) as server, Wire(server.port) as wire:
        taken = [wire.ask("PUT", f"/t{number}", b"x").status for number in range(40)]
    assert (taken[0], taken[-1]) == (201, 507)
    assert bytes_on_disk(root) <= 10_000 + 64 * 1024


def test_parts_that_expired_make_room_while_the_server_runs(root: Path):
    limits = ServerLimits(quota_bytes=100_000, part_expiry_s=3600.0)
    with serving(root, writable=True, limits=limits) as server, Wire(server.port) as wire:
        assert send_part(wire, (0, 0), target="/left", content=bytes(90_000)).status == 202
    with serving(root, writable=True, limits=limits) as server, Wire(server.port) as wire:
        assert send_part(wire, (0, 0), target="/g", content=bytes(90_000)).status == 507
        for part in root.glob(f"{PART_PREFIX}*"):
            os.utime(part, (0, 0))
        assert send_part(wire, (0, 0), target="/g", content=bytes(90_000)).status == 202


def test_folders_that_uploads_make_count_until_they_are_removed(root: Path):
    """Files in them may be deleted again: what stays takes a block each."""
    limits = ServerLimits(quota_bytes=100_000)
    with serving(root, writable=True, limits=limits) as server, Wire(server.port) as wire:
        made = [wire.ask("PUT", f"/{number}/a/b/c/d/f", b"").status for number in range(12)]
        assert [wire.ask("DELETE", f"/{number}/a/b/c/d/f").status for number in range(4)] == [204] * 4
    assert (made[0], made[-1]) == (201, 507)
    folders = sum(path.is_dir() for path in root.rglob("*"))
    assert 4096 * folders <= 100_000 + 64 * 1024
    with serving(root, writable=True, limits=limits) as server, Wire(server.port) as wire:
        assert wire.ask("PUT", "/more/a/b/c/d/e/g", b"").status == 507, "after a restart, too"


def test_an_upload_makes_no_endless_path_of_folders(server: Server, root: Path):
    with Wire(server.port) as wire:
        assert wire.ask("PUT", f"/{'a/' * 1000}f", b"x").status == 414
        assert wire.ask("PUT", f"/{'a/' * 50}f", b"x").status == 201
    assert sum(path.is_dir() for path in root.rglob("*")) <= 60


def test_more_than_the_file_system_holds_is_507_before_a_byte_is_sent(server: Server, root: Path):
    status = os.statvfs(root)
    too_much = status.f_blocks * status.f_frsize + 1
    with Wire(server.port) as wire:
        head = f"PUT /f HTTP/1.1\r\nHost: t\r\nContent-Length: {too_much}\r\nExpect: 100-continue\r\n\r\n"
        wire.socket.sendall(head.encode())
        assert wire.receive().status == 507


def test_refused_write_is_reported_and_nothing_remains(root: Path):
    with server_process(root, "resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))") as (port, _):
        assert ask(port, "PUT", "/f", CONTENT[:3_000_000]).status == 413
        assert ask(port, "PUT", "/g", CONTENT[:1_000_000]).status == 201
    assert files_in(root) == {"g"}
