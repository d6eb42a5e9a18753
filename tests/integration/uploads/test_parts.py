"""PUT of parts, in any order, over any number of connections; HEAD tells what is there."""

import random
import threading
from pathlib import Path

import pytest

from tests.conditions import eventually
from tests.integration.serve_files.serving import Wire, ask, sha256
from tests.integration.uploads.sending import CONTENT, PARTS, files_in, send_part
from tradewind_agent.serve import Server


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


def test_head_reports_received_ranges(server: Server):
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
    eventually(lambda: server.counters.connections == 1 and server.counters.open_connections == 0)
    received = ask(server.port, "HEAD", "/in/file", Tradewind_Upload="u1").headers["tradewind-received"]
    assert received == "0-2345677"


def test_digest_of_full_file_is_checked_before_rename(server: Server, root: Path):
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
