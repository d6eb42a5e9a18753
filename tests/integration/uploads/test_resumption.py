"""Uploads that go on after a killed server, a crash, another server; and what is swept away."""

import os
from pathlib import Path

from tests.conditions import eventually
from tests.integration.serve_files.serving import Wire, ask, serving, sha256
from tests.integration.uploads.sending import CONTENT, PARTS, files_in, received, send_part, server_process
from tradewind_agent.serve import Server, ServerLimits


def test_an_upload_survives_killing_the_server_half_way(root: Path):
    with server_process(root) as (port, process), Wire(port) as wire:
        assert send_part(wire, (0, 999_999)).status == 202
        assert send_part(wire, (2_000_000, 2_499_999)).status == 202
        head = "PUT /in/file HTTP/1.1\r\nHost: t\r\nContent-Length: 2300000\r\nTradewind-Upload: u1\r\n"
        wire.socket.sendall(f"{head}Content-Range: bytes 3000000-5299999/{len(CONTENT)}\r\n\r\n".encode())
        wire.socket.sendall(CONTENT[3_000_000:4_500_000])
        eventually(lambda: len(received(ask(port, "HEAD", "/in/file", Tradewind_Upload="u1"))) == 3)
        process.kill()
        process.wait()
    assert not (root / "in" / "file").exists()

    with server_process(root) as (port, _), Wire(port) as wire:
        there = received(wire.ask("HEAD", "/in/file", Tradewind_Upload="u1"))
        assert there[:2] == [(0, 999_999), (2_000_000, 2_499_999)]
        assert there[2][0] == 3_000_000
        assert 3_000_000 < there[2][1] <= 4_499_999
        for (_, last), (following, _) in zip(there, [*there[1:], (len(CONTENT), 0)], strict=True):
            answer = send_part(wire, (last + 1, following - 1))
        assert answer.status == 201
    assert sha256((root / "in" / "file").read_bytes()) == sha256(CONTENT)
    assert files_in(root) == {"in/file"}


def test_after_a_crash_of_the_machine_only_what_was_synced_counts(root: Path):
    """Another boot id in the journal stands for the crash; the last part was written but not yet synced."""
    limits = ServerLimits(sync_every_bytes=1_300_000)
    with serving(root, writable=True, limits=limits) as server, Wire(server.port) as wire:
        for part in PARTS[:5]:
            assert send_part(wire, part).status == 202
    (journal,) = (root / "in").glob("*.journal")
    lines = journal.read_text().splitlines(keepends=True)
    name, version, total, _, inode = lines[0].split()
    journal.write_text(f"{name} {version} {total} an-earlier-boot {inode}\n" + "".join(lines[1:]))

    with serving(root, writable=True, limits=limits) as server, Wire(server.port) as wire:
        assert received(wire.ask("HEAD", "/in/file", Tradewind_Upload="u1")) == [(0, PARTS[3][1])]
        for part in PARTS[4:]:
            answer = send_part(wire, part)
        assert answer.status == 201
    assert sha256((root / "in" / "file").read_bytes()) == sha256(CONTENT)


def test_a_killed_server_leaves_no_file_under_its_final_name(root: Path):
    with server_process(root) as (port, process), Wire(port) as wire:
        wire.socket.sendall(b"PUT /f HTTP/1.1\r\nHost: t\r\nContent-Length: 5300000\r\n\r\n" + CONTENT[:4_000_000])
        eventually(lambda: any(path.stat().st_size > 1_000_000 for path in root.iterdir()))
        process.kill()
        process.wait()
    assert not (root / "f").exists()


def test_old_parts_of_abandoned_uploads_are_removed(root: Path):
    with serving(root, writable=True) as server, Wire(server.port) as wire:
        send_part(wire, PARTS[0], upload="old")
    for path in (root / "in").iterdir():
        os.utime(path, (1_000_000, 1_000_000))
    with serving(root, writable=True) as server, Wire(server.port) as wire:
        send_part(wire, PARTS[0], upload="new")
        assert wire.ask("HEAD", "/in/file", Tradewind_Upload="old").status == 404
        assert wire.ask("HEAD", "/in/file", Tradewind_Upload="new").status == 204
    assert len(files_in(root)) == 2


def test_two_servers_of_one_folder_do_not_take_the_same_upload(root: Path):
    with serving(root, writable=True) as one, serving(root, writable=True) as two:
        with Wire(one.port) as wire:
            assert send_part(wire, PARTS[0]).status == 202
        with Wire(two.port) as wire:
            assert send_part(wire, PARTS[1]).status == 409


def test_many_idle_uploads_do_not_hold_descriptors_for_ever(server: Server, root: Path):
    with Wire(server.port) as wire:
        before = _open_descriptors()
        for number in range(200):
            assert send_part(wire, (0, 9), content=bytes(20), target=f"/n{number}").status == 202
        assert _open_descriptors() - before <= 3 * 130
        for number in range(200):
            assert send_part(wire, (10, 19), content=bytes(20), target=f"/n{number}").status == 201
    assert len(files_in(root)) == 200


def _open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
