"""Sums that requests state: compared before a file appears, and nothing is left of one with another sum."""

import hashlib
import subprocess
import zlib
from base64 import b64encode
from pathlib import Path

import pytest

from tests.integration.serve_files.serving import Wire, ask
from tests.integration.uploads.sending import CONTENT, PARTS, files_in, send_part
from tradewind_agent.serve import Server

BODY = CONTENT[:100_000]


def encode(digest: bytes) -> str:
    return b64encode(digest).decode()


def structured(name: str, data: bytes) -> str:
    return f"{name}=:{encode(hashlib.new(name.replace('-', ''), data).digest())}:"


def state_sums(data: bytes) -> dict[str, tuple[str, str]]:
    """Name and value of a header for each way to state a sum of ``data``."""
    md5, sha1 = hashlib.md5(data, usedforsecurity=False), hashlib.sha1(data, usedforsecurity=False)
    return {
        "Repr-Digest SHA-256": ("Repr-Digest", structured("sha-256", data)),
        "Repr-Digest SHA-512 behind an unknown one": ("Repr-Digest", f"foo=:AAAA:, {structured('sha-512', data)};q=1"),
        "Content-Digest": ("Content-Digest", structured("sha-256", data)),
        "Digest in base64": ("Digest", f"SHA-256={encode(hashlib.sha256(data).digest())}"),
        "Digest in hex": ("Digest", f"adler32={zlib.adler32(data):08x}"),
        "Content-MD5": ("Content-MD5", encode(md5.digest())),
        "OC-Checksum SHA1 as of rclone": ("OC-Checksum", f"SHA1:{sha1.hexdigest()}"),
        "OC-Checksum with several": ("OC-Checksum", f"SHA3-256:00 MD5:{md5.hexdigest()}"),
        "Tradewind-Sha256": ("Tradewind-Sha256", hashlib.sha256(data).hexdigest()),
    }


@pytest.mark.parametrize("way", state_sums(b""))
@pytest.mark.parametrize("is_chunked", [False, True])
def test_file_appears_only_with_the_stated_sum(server: Server, root: Path, way: str, *, is_chunked: bool):
    (root / "f").write_bytes(b"before")
    for stated, expected in ((BODY[:-1], {400, 422}), (BODY, {201})):
        field, value = state_sums(stated)[way]
        with Wire(server.port) as wire:
            if is_chunked:
                head = f"PUT /f HTTP/1.1\r\nHost: t\r\n{field}: {value}\r\nTransfer-Encoding: chunked\r\n\r\n"
                wire.socket.sendall(head.encode() + b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY))
                answer = wire.receive()
            else:
                answer = wire.ask("PUT", "/f", BODY, **{field: value})
        assert answer.status in expected
        assert files_in(root) == {"f"}
        assert (root / "f").read_bytes() == (BODY if answer.status == 201 else b"before")


def test_refusal_names_field_and_both_sums(server: Server, root: Path):
    answer = ask(server.port, "PUT", "/f", b"hello", Repr_Digest=structured("sha-256", b"hullo"))
    assert answer.status == 400
    for known in ("Repr-Digest", hashlib.sha256(b"hello").hexdigest(), hashlib.sha256(b"hullo").hexdigest()):
        assert known in answer.json["detail"]
    assert files_in(root) == set()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("Repr-Digest", "sha-256=:not base64:"),
        ("Content-MD5", "AAAA"),
        ("OC-Checksum", "SHA1:xyz"),
        ("Digest", "sha-256="),
    ],
)
def test_sum_that_cannot_be_read_is_refused_before_the_body_comes(server: Server, root: Path, field: str, value: str):
    head = f"PUT /f HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 5\r\n{field}: {value}\r\n\r\n"
    with Wire(server.port) as wire:
        wire.socket.sendall(head.encode())
        assert wire.receive().status == 400
    assert files_in(root) == set()


@pytest.mark.parametrize("value", ["sha3-512=:AAAA:", "unixsum=1", "", "sha-256"])
def test_algorithms_that_are_unknown_are_left_aside(server: Server, root: Path, value: str):
    answer = ask(server.port, "PUT", "/f", b"hello", Repr_Digest=value)
    assert answer.status == (201 if value != "sha-256" else 400)


@pytest.mark.parametrize("is_right", [True, False])
def test_announced_trailer_is_compared(server: Server, root: Path, *, is_right: bool):
    trailer = structured("sha-256", b"hello" if is_right else b"hullo")
    with Wire(server.port) as wire:
        head = b"PUT /f HTTP/1.1\r\nHost: t\r\nTrailer: Repr-Digest\r\nTransfer-Encoding: chunked\r\n\r\n"
        wire.socket.sendall(head + b"5\r\nhello\r\n0\r\nRepr-Digest: " + trailer.encode() + b"\r\n\r\n")
        assert wire.receive().status == (201 if is_right else 400)
    assert files_in(root) == ({"f"} if is_right else set())


def test_trailer_without_end_is_refused(server: Server, root: Path):
    with Wire(server.port) as wire:
        wire.socket.sendall(b"PUT /f HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-A: ")
        for _ in range(40):
            wire.socket.sendall(b"a" * 1000)
        assert wire.receive().status == 431
    assert files_in(root) == set()


def test_part_with_another_sum_leaves_nothing_of_the_upload(server: Server, root: Path):
    with Wire(server.port) as wire:
        assert send_part(wire, PARTS[0]).status == 202
        first, last = PARTS[1]
        wrong = structured("sha-256", b"other")
        assert send_part(wire, PARTS[1], Content_Digest=wrong).status == 400
    with Wire(server.port) as wire:
        right = structured("sha-256", CONTENT[first : last + 1])
        assert send_part(wire, PARTS[1], Content_Digest=right).status == 202
        assert wire.ask("HEAD", "/in/file", Tradewind_Upload="u1").headers["tradewind-received"] == f"{first}-{last}"


@pytest.mark.parametrize("is_right", [True, False])
def test_parts_become_the_file_that_a_sum_of_another_algorithm_names(server: Server, root: Path, *, is_right: bool):
    data = CONTENT if is_right else CONTENT[1:]
    stated = f"SHA1:{hashlib.sha1(data, usedforsecurity=False).hexdigest()}"
    with Wire(server.port) as wire:
        answers = [send_part(wire, part, OC_Checksum=stated) for part in PARTS]
    assert answers[-1].status == (201 if is_right else 400)
    assert files_in(root) == ({"in/file"} if is_right else set())


def test_curl_uploads_with_sums_that_are_compared(server: Server, root: Path, tmp_path: Path):
    source = tmp_path / "source.bin"
    source.write_bytes(BODY)
    sha1 = hashlib.sha1(BODY, usedforsecurity=False).hexdigest()
    for stated, status in ((sha1, "201"), (sha1[::-1], "400")):
        command = ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-H", f"OC-Checksum: SHA1:{stated}"]
        done = subprocess.run(
            [*command, "-T", str(source), f"http://127.0.0.1:{server.port}/{status}"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == status
    assert files_in(root) == {"201"}
