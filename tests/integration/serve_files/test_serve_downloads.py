"""GET and HEAD against a real server: files, ranges, conditions, indexes, confinement, order."""

import asyncio
import hashlib
import os
import random
import re
from base64 import b64encode
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.conditions import eventually
from tests.integration.engine.transfers import options, plan, transfer
from tests.integration.serve_files.serving import Answer, Wire, ask, serving, sha256
from tradewind_agent.engine import TransferResult, Url, list_downloads
from tradewind_agent.serve import Server

SIZES = {"empty": 0, "small.bin": 5_000, "large.bin": 3_000_000}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    source = random.Random(7)
    folder = tmp_path / "served"
    (folder / "sub" / "deep").mkdir(parents=True)
    for name, size in SIZES.items():
        (folder / name).write_bytes(source.randbytes(size))
    (folder / "sub" / "b c&<é>.txt").write_bytes(b"odd name")
    (folder / "sub" / "a:b.txt").write_bytes(b"colon")
    (tmp_path / "secret").write_bytes(b"not served")
    return folder


@pytest.fixture(params=[True, False], ids=["sendfile", "copy"])
def server(root: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    with serving(root, sendfile=request.param) as server:
        yield server


@pytest.mark.parametrize("name", SIZES)
def test_file_arrives_completely(server: Server, root: Path, name: str):
    answer = ask(server.port, "GET", f"/{name}")
    assert answer.status == 200
    assert sha256(answer.body) == sha256((root / name).read_bytes())


def test_head_has_fields_of_get_without_body(server: Server):
    with Wire(server.port) as wire:
        head = wire.ask("HEAD", "/large.bin")
        got = wire.ask("GET", "/large.bin")
    assert head.headers["content-length"] == "3000000"
    differing = {key for key in head.headers if head.headers[key] != got.headers[key]} - {"date"}
    assert not differing


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ("0-0", 0, 0),
        ("10-19", 10, 19),
        ("2999990-", 2999990, 2999999),
        ("-5", 2999995, 2999999),
        ("5-9999999", 5, 2999999),
        ("-9999999", 0, 2999999),
    ],
)
def test_a_range_gives_exactly_its_bytes(server: Server, root: Path, asked: str, first: int, last: int):
    answer = ask(server.port, "GET", "/large.bin", Range=f"bytes={asked}")
    assert answer.status == 206
    assert answer.headers["content-range"] == f"bytes {first}-{last}/3000000"
    assert answer.body == (root / "large.bin").read_bytes()[first : last + 1]


def test_ranges_of_a_file_put_together_are_the_file(server: Server, root: Path):
    with Wire(server.port) as wire:
        for first in range(0, 3_000_000, 700_000):
            wire.send("GET", "/large.bin", Range=f"bytes={first}-{first + 699_999}")
        parts = [wire.receive() for _ in range(0, 3_000_000, 700_000)]
    assert sha256(b"".join(part.body for part in parts)) == sha256((root / "large.bin").read_bytes())


@pytest.mark.parametrize("asked", ["bytes=3000000-", "bytes=9000000-9000001", "bytes=-0"])
def test_a_range_beyond_the_file_is_416_with_its_size(server: Server, asked: str):
    answer = ask(server.port, "GET", "/large.bin", Range=asked)
    assert answer.status == 416
    assert answer.headers["content-range"] == "bytes */3000000"


@pytest.mark.parametrize("asked", ["bytes=0-1,5-6", "bytes=9-2", "lines=1-2", "bytes=-", "bytes=a-b", "0-5"])
def test_several_ranges_or_no_byte_range_give_full_file(server: Server, asked: str):
    answer = ask(server.port, "GET", "/small.bin", Range=asked)
    assert (answer.status, len(answer.body)) == (200, 5000)


def test_if_range_resumes_only_the_same_file(server: Server, root: Path):
    first = ask(server.port, "GET", "/small.bin", Range="bytes=0-99")
    etag, modified = first.headers["etag"], first.headers["last-modified"]
    for condition in (etag, modified):
        asked = partial(ask, server.port, "GET", "/small.bin", Range="bytes=100-", If_Range=condition)
        assert eventually(lambda asked=asked: asked().status == 206)  # a time of the present second is not enough
    for condition in (f"W/{etag}", '"other"', "Mon, 01 Jan 2001 00:00:00 GMT"):
        assert ask(server.port, "GET", "/small.bin", Range="bytes=100-", If_Range=condition).status == 200

    replacement = root / "new"
    replacement.write_bytes(bytes(5000))
    os.utime(replacement, ns=((root / "small.bin").stat().st_mtime_ns,) * 2)
    replacement.rename(root / "small.bin")
    again = ask(server.port, "GET", "/small.bin", Range="bytes=100-", If_Range=etag)
    assert (again.status, again.body) == (200, bytes(5000))


def test_conditions_on_the_tag_and_the_date(server: Server):
    def status(**conditions: str) -> int:
        return ask(server.port, "GET", "/small.bin", **conditions).status

    known = ask(server.port, "HEAD", "/small.bin").headers
    etag, modified = known["etag"], known["last-modified"]
    long_ago = "Mon, 01 Jan 2001 00:00:00 GMT"
    assert status(If_None_Match=etag) == 304
    assert status(If_None_Match=f'"x", W/{etag}') == 304
    assert status(If_None_Match="*") == 304
    assert status(If_None_Match='"x"', If_Modified_Since=modified) == 200
    assert status(If_Modified_Since=modified) == 304
    assert status(If_Modified_Since=long_ago) == 200
    assert status(If_Modified_Since="yesterday") == 200
    assert status(If_Match=etag) == 200
    assert status(If_Match='"x"') == 412
    assert status(If_Unmodified_Since=long_ago) == 412


def test_pipelined_requests_are_answered_in_order_however_they_are_cut(server: Server, root: Path):
    names = ["small.bin", "large.bin", "missing", "empty", "small.bin", "sub/", "large.bin"] * 3
    requests = b"".join(f"GET /{name} HTTP/1.1\r\nHost: t\r\n\r\n".encode() for name in names)
    with Wire(server.port) as wire:
        for at in range(0, len(requests), 37):
            wire.socket.sendall(requests[at : at + 37])
        answers = [wire.receive() for _ in names]
    for name, answer in zip(names, answers, strict=True):
        if name == "missing":
            assert answer.status == 404
        elif name == "sub/":
            assert b"Index of /sub/" in answer.body
        else:
            assert sha256(answer.body) == sha256((root / name).read_bytes())


def test_more_requests_than_are_queued_are_all_answered(server: Server):
    request = b"GET /small.bin HTTP/1.1\r\nHost: t\r\nRange: bytes=0-9\r\n\r\n"
    with Wire(server.port) as wire:
        wire.socket.sendall(request * 3000)
        assert [wire.receive().status for _ in range(3000)] == [206] * 3000


def test_connection_close_is_honoured_and_what_follows_it_ignored(server: Server):
    with Wire(server.port) as wire:
        wire.socket.sendall(
            b"GET /empty HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\nGET /empty HTTP/1.1\r\nHost: t\r\n\r\n"
        )
        assert wire.receive().headers["connection"] == "close"
        assert wire.is_closed()


def test_http_1_0_gets_one_answer(server: Server):
    with Wire(server.port) as wire:
        wire.socket.sendall(b"GET /small.bin HTTP/1.0\r\n\r\n")
        assert len(wire.receive().body) == 5000
        assert wire.is_closed()


def test_a_client_that_stops_sending_is_still_answered(server: Server):
    with Wire(server.port) as wire:
        wire.send("GET", "/large.bin")
        wire.socket.shutdown(1)
        assert len(wire.receive().body) == 3_000_000
        assert wire.is_closed()


def test_the_html_index_reads_like_nginx(server: Server):
    page = ask(server.port, "GET", "/sub/").body.decode()
    links = re.findall(r'<a href="([^"]+)">([^<]*)</a>\s+(\d\d-\w{3}-\d{4} \d\d:\d\d)\s+(\d+|-)', page)
    assert [(href, text, size) for href, text, _, size in links] == [
        ("deep/", "deep/", "-"),
        ("a%3Ab.txt", "a:b.txt", "5"),
        ("b%20c%26%3C%C3%A9%3E.txt", "b c&amp;&lt;é&gt;.txt", "8"),
    ]
    for href, _, _, _ in links:
        assert ask(server.port, "GET", f"/sub/{href}").status == 200


def test_json_index_has_size_time_and_etag(server: Server):
    entries = ask(server.port, "GET", "/", Accept="application/json").json["entries"]
    assert [entry["name"] for entry in entries] == ["sub", "empty", "large.bin", "small.bin"]
    assert entries[0]["type"] == "directory"
    head = ask(server.port, "HEAD", "/large.bin")
    assert entries[2]["size_bytes"] == 3_000_000
    assert entries[2]["etag"] == head.headers["etag"]
    assert entries[2]["modified_at"].endswith("Z")


def test_a_folder_without_its_slash_is_redirected(server: Server):
    answer = ask(server.port, "GET", "/sub/deep?x=1")
    assert (answer.status, answer.headers["location"]) == (301, "/sub/deep/?x=1")
    assert ask(server.port, "GET", "/small.bin/").status == 404


@pytest.mark.parametrize(
    "target",
    ["/../secret", "/sub/../../secret", "/%2e%2e/secret", "/sub/%2E%2E/%2e%2e/secret", "/..%2fsecret", "/%2fetc/passwd",
     "/sub%2f..%2f..%2fsecret", "/small.bin%00.txt", "http://t/../secret"],
)  # fmt: skip
def test_no_spelling_of_a_path_leaves_the_folder(server: Server, target: str):
    answer = ask(server.port, "GET", target)
    assert answer.status == 403
    assert b"not served" not in answer.body


def test_links_are_followed_inside_the_folder_and_refused_outside(server: Server, root: Path):
    (root / "inside").symlink_to("small.bin")
    (root / "sub" / "up").symlink_to("../large.bin")
    (root / "deeper").symlink_to("sub/deep")
    (root / "outside").symlink_to("../secret")
    (root / "away").symlink_to("/etc")
    (root / "broken").symlink_to("nowhere")
    (root / "loop").symlink_to("loop")
    assert len(ask(server.port, "GET", "/inside").body) == 5000
    assert len(ask(server.port, "GET", "/sub/up").body) == 3_000_000
    assert ask(server.port, "GET", "/deeper/").status == 200
    assert ask(server.port, "GET", "/outside").status == 403
    assert ask(server.port, "GET", "/away/passwd").status == 403
    assert ask(server.port, "GET", "/broken").status == 404
    assert ask(server.port, "GET", "/loop").status == 403
    entries = ask(server.port, "GET", "/", Accept="application/json").json["entries"]
    listed = {entry["name"]: entry["type"] for entry in entries}
    assert (listed["inside"], listed["deeper"]) == ("file", "directory")
    assert {listed[name] for name in ("outside", "away", "broken", "loop")} == {"link"}
    assert not any(name in ask(server.port, "GET", "/").body for name in (b"outside", b"away", b"broken", b"loop"))


def test_special_files_are_refused_without_hanging(server: Server, root: Path):
    os.mkfifo(root / "pipe")
    assert ask(server.port, "GET", "/pipe").status == 403


def test_a_file_that_shrinks_under_way_is_cut_short_not_padded(server: Server, root: Path):
    """The length was announced: the client must see that the body is not complete."""
    (root / "huge").write_bytes(bytes(64_000_000))
    with Wire(server.port) as wire:
        wire.send("GET", "/huge")
        wire._file.readline()
        os.truncate(root / "huge", 1_000_000)
        received = len(wire._file.read())
    assert received < 64_000_000


def test_disconnecting_client_does_not_disturb_others(server: Server, root: Path):
    (root / "huge").write_bytes(bytes(64_000_000))
    with Wire(server.port) as other:
        for _ in range(5):
            with Wire(server.port) as wire:
                wire.send("GET", "/huge")
                wire._file.readline()
        assert other.ask("GET", "/small.bin").status == 200


def _tagged(answer: Answer) -> str:
    return answer.headers["etag"]


def test_a_changed_file_has_another_tag(server: Server, root: Path):
    before = _tagged(ask(server.port, "HEAD", "/small.bin"))
    (root / "small.bin").write_bytes(bytes(5000))
    assert _tagged(ask(server.port, "HEAD", "/small.bin")) != before


WANTED = {"Want-Repr-Digest": "sha-256=10"}
OTHERS = {"Want-Repr-Digest": "sha-256=0, sha-512=1"}


def digest_of(content: bytes) -> str:
    return f"sha-256=:{b64encode(hashlib.sha256(content).digest()).decode()}:"


@pytest.mark.parametrize("fields", [{}, {"Range": "bytes=0-9"}])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_digest_is_sent_when_requested(server: Server, root: Path, method: str, fields: dict[str, str]):
    digest = digest_of((root / "large.bin").read_bytes())
    with Wire(server.port) as wire:
        assert wire.ask(method, "/large.bin", **WANTED, **fields).headers["repr-digest"] == digest
        assert "repr-digest" not in wire.ask(method, "/large.bin", **fields).headers
        assert "repr-digest" not in wire.ask(method, "/large.bin", **OTHERS).headers


def test_the_sum_follows_the_file(server: Server, root: Path):
    file = root / "small.bin"
    with Wire(server.port) as wire:
        before = wire.ask("GET", "/small.bin", **WANTED).headers["repr-digest"]
        status = file.stat()
        file.write_bytes(b"x" * status.st_size)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        after = wire.ask("GET", "/small.bin", **WANTED).headers["repr-digest"]
    assert before != after == digest_of(b"x" * status.st_size)


def test_a_copy_with_sums_fetches_only_what_differs(server: Server, root: Path, tmp_path: Path):
    def copied() -> TransferResult:
        url = Url.parse(f"http://127.0.0.1:{server.port}/")
        jobs = asyncio.run(list_downloads([url], tmp_path / "got", options())).jobs
        return transfer(jobs, plan(2), checksum=True)

    first = copied()
    changed = tmp_path / "got" / "large.bin"
    status = changed.stat()
    changed.write_bytes(b"x" * status.st_size)
    os.utime(changed, ns=(status.st_atime_ns, status.st_mtime_ns))
    again = copied()
    assert (first.files_skipped, again.files_done, again.files_skipped) == (0, 1, first.files_done - 1)
    assert changed.read_bytes() == (root / "large.bin").read_bytes()
