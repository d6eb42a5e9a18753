"""PUT against a real server: whole files, parts in any order, resumption after a kill, refusals that leave nothing."""

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.serving import Answer, Wire, ask, serving, sha256
from tradewind_agent.serve import Limits, Server
from tradewind_agent.serve.folder import PART_PREFIX

CONTENT = random.Random(3).randbytes(5_300_000)
PART = 700_000
PARTS = [(first, min(first + PART, len(CONTENT)) - 1) for first in range(0, len(CONTENT), PART)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    folder.mkdir()
    return folder


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    with serving(root, writable=True) as server:
        yield server


def send_part(
    wire: Wire,
    part: tuple[int, int],
    target: str = "/in/file",
    content: bytes = CONTENT,
    upload: str = "u1",
    **more: str,
) -> Answer:
    first, last = part
    fields = {"Content_Range": f"bytes {first}-{last}/{len(content)}", "Tradewind_Upload": upload} | more
    return wire.ask("PUT", target, content[first : last + 1], **fields)


def files_in(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


# Whole files


@pytest.mark.parametrize("size", [0, 1, 100_000, 5_300_000])
def test_a_whole_file_is_stored_and_comes_back(server: Server, root: Path, size: int):
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


def test_a_client_that_asks_to_continue_is_told_so_only_when_the_body_is_wanted(server: Server, root: Path):
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
        _until(lambda: len(files_in(root)) == 2)
        assert ask(server.port, "GET", "/f").body == b"old"
    _until(lambda: files_in(root) == {"f"})
    assert ask(server.port, "GET", "/f").body == b"old"
    assert ask(server.port, "PUT", "/f", b"new").status == 201
    assert ask(server.port, "GET", "/f").body == b"new"


def test_a_wrong_digest_of_a_whole_file_stores_nothing(server: Server, root: Path):
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


# Parts


@pytest.mark.parametrize("order", ["forward", "backward", "shuffled"])
def test_parts_in_any_order_make_the_file(server: Server, root: Path, order: str):
    parts = list(PARTS)
    if order == "backward":
        parts.reverse()
    elif order == "shuffled":
        random.Random(5).shuffle(parts)
    with Wire(server.port) as wire:
        for count, part in enumerate(parts, 1):
            answer = send_part(wire, part)
            assert answer.status == (201 if count == len(parts) else 202)
            assert answer.json["complete"] is (count == len(parts))
            assert sum(last - first + 1 for first, last in answer.json["received"]) == sum(
                last - first + 1 for first, last in parts[:count]
            )
            assert (root / "in" / "file").exists() is (count == len(parts))
    assert sha256((root / "in" / "file").read_bytes()) == sha256(CONTENT)
    assert files_in(root) == {"in/file"}


def test_parts_over_many_connections_at_once_with_duplicates_and_overlaps(server: Server, root: Path):
    work = PARTS + PARTS[::2] + [(first, last) for first, last in [(100, 900_000), (3_000_000, 5_000_000)]]
    random.Random(6).shuffle(work)
    statuses: list[int] = []

    def send(mine: list[tuple[int, int]]) -> None:
        with Wire(server.port) as wire:
            statuses.extend(send_part(wire, part).status for part in mine)

    threads = [threading.Thread(target=send, args=(work[number::6],)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) == {201, 202}
    assert sha256((root / "in" / "file").read_bytes()) == sha256(CONTENT)
    assert files_in(root) == {"in/file"}


def test_a_duplicate_after_the_end_is_acknowledged_and_changes_nothing(server: Server, root: Path):
    with Wire(server.port) as wire:
        for part in PARTS:
            last = send_part(wire, part)
        again = send_part(wire, PARTS[3])
        assert (again.status, again.json) == (201, last.json)
        status = wire.ask("HEAD", "/in/file", Tradewind_Upload="u1")
        assert status.headers["tradewind-complete"] == "true"
    (root / "in" / "file").write_bytes(b"changed since")
    assert ask(server.port, "HEAD", "/in/file", Tradewind_Upload="u1").status == 404


def test_two_uploads_of_one_name_do_not_mix(server: Server, root: Path):
    other = bytes(len(CONTENT))
    with Wire(server.port) as wire:
        for part in PARTS[:-1]:
            assert send_part(wire, part, upload="a").status == 202
            assert send_part(wire, part, content=other, upload="b").status == 202
        assert send_part(wire, PARTS[-1], upload="a").status == 201
        assert sha256((root / "in" / "file").read_bytes()) == sha256(CONTENT)
        assert send_part(wire, PARTS[-1], content=other, upload="b").status == 201
    assert (root / "in" / "file").read_bytes() == other


def test_head_tells_what_is_there(server: Server):
    with Wire(server.port) as wire:
        assert wire.ask("HEAD", "/in/file", Tradewind_Upload="u1").status == 404
        send_part(wire, PARTS[0])
        assert wire.ask("HEAD", "/in/file", Tradewind_Upload="u2").status == 404
        send_part(wire, PARTS[2])
        send_part(wire, PARTS[3])
        status = wire.ask("HEAD", "/in/file", Tradewind_Upload="u1")
        assert (status.status, status.headers["tradewind-received"]) == (204, "0-699999,1400000-2799999")
        assert wire.ask("GET", "/in/file").status == 404


def test_a_part_that_breaks_off_keeps_what_arrived(server: Server):
    first, last = 0, 4_999_999
    with Wire(server.port) as wire:
        head = "PUT /in/file HTTP/1.1\r\nHost: t\r\nContent-Length: 5000000\r\nTradewind-Upload: u1\r\n"
        wire.socket.sendall(f"{head}Content-Range: bytes {first}-{last}/{len(CONTENT)}\r\n\r\n".encode())
        wire.socket.sendall(CONTENT[:2_345_678])
    _until(lambda: server.counters.connections == 1 and server.counters.open_connections == 0)
    received = ask(server.port, "HEAD", "/in/file", Tradewind_Upload="u1").headers["tradewind-received"]
    assert received == "0-2345677"


def test_the_digest_of_the_whole_is_checked_before_the_rename(server: Server, root: Path):
    wrong, right = sha256(b"else"), sha256(CONTENT)
    with Wire(server.port) as wire:
        assert send_part(wire, PARTS[0], Tradewind_Sha256=wrong).status == 202
        assert send_part(wire, PARTS[1], Tradewind_Sha256=right).status == 409
    with Wire(server.port) as wire:
        answers = [send_part(wire, part) for part in PARTS[1:]]
        assert answers[-1].status == 422
        assert files_in(root) == set()
        assert wire.ask("HEAD", "/in/file", Tradewind_Upload="u1").status == 404
        answers = [send_part(wire, part, Tradewind_Sha256=right) for part in PARTS]
        assert answers[-1].status == 201
    assert sha256((root / "in" / "file").read_bytes()) == right


@pytest.mark.parametrize(
    ("content_range", "upload", "status"),
    [
        ("bytes 0-9/5", "u", 400),
        ("bytes 9-0/100", "u", 400),
        ("bytes 0-8/100", "u", 400),
        ("bytes 0-10/100", "u", 400),
        ("bytes 0-9/*", "u", 400),
        ("bytes */100", "u", 400),
        ("0-9/100", "u", 400),
        ("items 0-9/100", "u", 400),
        ("bytes 0-9/100", "", 400),
        ("bytes 0-9/100", "x" * 300, 400),
    ],
)
def test_a_wrong_part_header_stores_nothing(server: Server, root: Path, content_range: str, upload: str, status: int):
    answer = ask(server.port, "PUT", "/f", bytes(10), Content_Range=content_range, Tradewind_Upload=upload)
    assert answer.status == status
    assert files_in(root) == set()


def test_parts_that_disagree_on_the_size_are_refused(server: Server):
    with Wire(server.port) as wire:
        assert send_part(wire, (0, 9)).status == 202
        assert send_part(wire, (0, 9), content=CONTENT[:1000]).status == 409


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


def test_a_coded_body_is_refused(server: Server, root: Path):
    assert ask(server.port, "PUT", "/f", b"data", Content_Encoding="gzip").status == 415
    assert files_in(root) == set()


# Limits


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
    with _server_process(root, "resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))") as (port, _):
        assert ask(port, "PUT", "/f", CONTENT[:3_000_000]).status == 413
        assert ask(port, "PUT", "/g", CONTENT[:1_000_000]).status == 201
    assert files_in(root) == {"g"}


# Resumption


@contextmanager
def _server_process(root: Path, prelude: str = "") -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
    program = (
        "import resource, sys; from pathlib import Path\n"
        "from tradewind_agent.serve import ServeOptions, serve_forever\n"
        f"{prelude}\n"
        "options = ServeOptions(root=Path(sys.argv[1]), writable=True)\n"
        "serve_forever(options, on_ready=lambda server: print(server.port, flush=True))"
    )
    command = [sys.executable, "-c", program, str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), process
        finally:
            process.terminate()


def _received(answer: Answer) -> list[tuple[int, int]]:
    pairs = (text.split("-") for text in answer.headers["tradewind-received"].split(","))
    return [(int(first), int(last)) for first, last in pairs]


def test_an_upload_survives_killing_the_server_half_way(root: Path):
    with _server_process(root) as (port, process), Wire(port) as wire:
        assert send_part(wire, (0, 999_999)).status == 202
        assert send_part(wire, (2_000_000, 2_499_999)).status == 202
        head = "PUT /in/file HTTP/1.1\r\nHost: t\r\nContent-Length: 2300000\r\nTradewind-Upload: u1\r\n"
        wire.socket.sendall(f"{head}Content-Range: bytes 3000000-5299999/{len(CONTENT)}\r\n\r\n".encode())
        wire.socket.sendall(CONTENT[3_000_000:4_500_000])
        _until(lambda: len(_received(ask(port, "HEAD", "/in/file", Tradewind_Upload="u1"))) == 3)
        process.kill()
        process.wait()
    assert not (root / "in" / "file").exists()

    with _server_process(root) as (port, _), Wire(port) as wire:
        there = _received(wire.ask("HEAD", "/in/file", Tradewind_Upload="u1"))
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
    limits = Limits(sync_every_bytes=1_300_000)
    with serving(root, writable=True, limits=limits) as server, Wire(server.port) as wire:
        for part in PARTS[:5]:
            assert send_part(wire, part).status == 202
    (journal,) = (root / "in").glob("*.journal")
    lines = journal.read_text().splitlines(keepends=True)
    name, version, total, _, inode = lines[0].split()
    journal.write_text(f"{name} {version} {total} an-earlier-boot {inode}\n" + "".join(lines[1:]))

    with serving(root, writable=True, limits=limits) as server, Wire(server.port) as wire:
        assert _received(wire.ask("HEAD", "/in/file", Tradewind_Upload="u1")) == [(0, PARTS[3][1])]
        for part in PARTS[4:]:
            answer = send_part(wire, part)
        assert answer.status == 201
    assert sha256((root / "in" / "file").read_bytes()) == sha256(CONTENT)


def test_a_killed_server_leaves_no_file_under_its_final_name(root: Path):
    with _server_process(root) as (port, process), Wire(port) as wire:
        wire.socket.sendall(b"PUT /f HTTP/1.1\r\nHost: t\r\nContent-Length: 5300000\r\n\r\n" + CONTENT[:4_000_000])
        _until(lambda: any(path.stat().st_size > 1_000_000 for path in root.iterdir()))
        process.kill()
        process.wait()
    assert not (root / "f").exists()


def test_what_abandoned_uploads_left_is_swept_when_old(root: Path):
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


def _until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)
