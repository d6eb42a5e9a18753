"""Files packed on their way to and from a real server: whole, cut, damaged, changed, and with codecs missing."""

import hashlib
import os
import random
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from uuid import uuid4
from zlib import crc32

import pytest

from benchmarks.compression.unlogged_copy import PackedReport, copy_packed
from tests.integration.agent.support.command import environment
from tests.integration.agent.support.command import run as run_command
from tests.integration.serve_files.serving import Answer, ask, serving
from tradewind.compression.codecs import Codec, CodecSetting
from tradewind.compression.steering import Steering
from tradewind_agent.compression import codecs, observations
from tradewind_agent.compression.frames import Block, encode_block, encode_end, encode_failure
from tradewind_agent.compression.options import PackedOutcome
from tradewind_agent.compression.packing import PackedFile
from tradewind_agent.compression.planning import PackingMode
from tradewind_agent.copy.listing import list_files
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.source import list_uploads
from tradewind_agent.engine.upload_exchange import make_upload_id
from tradewind_agent.serve import Server
from tradewind_agent.serve.options import ServerLimits

PLAIN = b"".join(b"%d,%d,%.3f\n" % (row, row * row % 977, (row % 50) / 7) for row in range(60_000))
PATH_OF_FILE = "/a.csv"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("served")
    (folder / "a.csv").write_bytes(PLAIN)
    (folder / "random").write_bytes(random.Random(1).randbytes(600_000))
    return folder


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Server]:
    with serving(root, writable=True) as running:
        yield running


def copied(source: str, destination: str, wish: str, **options: Any) -> PackedReport:
    engine = EngineOptions(durable=False)
    return copy_packed(list_files([source], destination, options=engine), PackingMode.parse(wish), engine, **options)


def leftovers(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.name.startswith("."))


@pytest.mark.parametrize("wish", ["auto", *sorted(f"{codec}:1" for codec in codecs.list_available_codecs())])
def test_packed_upload_and_download_preserve_file(server: Server, root: Path, tmp_path: Path, wish: str) -> None:
    down = copied(f"{server.url}a.csv", str(tmp_path / "b.csv"), wish)
    assert down.succeeded, down.failures
    assert (tmp_path / "b.csv").read_bytes() == PLAIN
    assert down.ratio > 1.5
    name = wish.replace(":", "-")
    up = copied(str(tmp_path / "b.csv"), f"{server.url}{name}", wish)
    assert up.succeeded, up.failures
    assert (root / name).read_bytes() == PLAIN
    assert up.packed_bytes < up.plain_bytes / 1.5
    assert leftovers(tmp_path) == []


def test_incompressible_file_is_sent_raw(server: Server, tmp_path: Path) -> None:
    report = copied(f"{server.url}random", str(tmp_path / "random"), "auto", line_bps=4e6)
    assert report.succeeded
    assert set(report.used) == {None}
    assert report.packed_bytes < 1.01 * report.plain_bytes


def test_codec_missing_on_this_host_is_reported_before_the_first_byte(
    server: Server, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c.csv").write_bytes(PLAIN)
    monkeypatch.setattr(codecs.shutil, "which", lambda _: None)
    with pytest.raises(codecs.CodecMissing, match="no lzop; install the program lzop"):
        copied(str(tmp_path / "c.csv"), f"{server.url}c.csv", "lzop")
    assert not (root / "c.csv").exists()


def packed_stream(folder: Path, *, cut: int = 0, damaged: bool = False) -> bytes:
    source = folder / "source"
    source.write_bytes(PLAIN)
    steering = Steering(expected={}, line_bps=None, setting=CodecSetting(Codec.GZIP, 1))
    with source.open("rb") as opened:
        stream = bytearray(b"".join(PackedFile(opened.fileno(), source.stat(), steering).encode_pieces()))
    if damaged:
        stream[len(stream) // 2] ^= 0x40
    return bytes(stream[: len(stream) - cut])


@pytest.mark.parametrize(
    ("stream", "said"),
    [({"cut": 10}, "cut before its end"), ({"cut": 30_000}, "cut before its end"), ({"damaged": True}, "damaged")],
)
def test_an_upload_that_is_cut_or_damaged_is_refused_and_leaves_no_file(
    server: Server, root: Path, tmp_path: Path, stream: dict[str, Any], said: str
) -> None:
    answer = ask(server.port, "PUT", "/d.csv", packed_stream(tmp_path, **stream), Content_Encoding="tradewind-blocks")
    assert answer.status == 422
    assert said in answer.json["detail"]
    assert not (root / "d.csv").exists()


def test_a_stream_that_claims_absurd_sizes_is_refused(server: Server, root: Path) -> None:
    head = struct.pack(">BBIIII", 1, 6, 2**31, 2**31, 0, 0)
    answer = ask(server.port, "PUT", "/e.csv", head + bytes(100), Content_Encoding="tradewind-blocks")
    assert answer.status == 422
    assert not (root / "e.csv").exists()


def test_next_upload_uses_no_bytes_of_damaged_one(server: Server, root: Path, tmp_path: Path) -> None:
    source = tmp_path / "big.csv"
    source.write_bytes(PLAIN * 8)
    steering = Steering(expected={}, line_bps=None, setting=CodecSetting(Codec.GZIP, 1))
    with source.open("rb") as opened:
        pieces = list(PackedFile(opened.fileno(), source.stat(), steering).encode_pieces())
    (job,) = list_uploads([source], Url.parse(f"{server.url}f.csv")).jobs
    answer = ask(
        server.port,
        "PUT",
        "/f.csv",
        b"".join([*pieces[:1], *pieces[2:]]),  # one block is lost, and those behind it are whole
        Content_Encoding="tradewind-blocks",
        Content_Range=f"bytes 0-{job.size_bytes - 1}/{job.size_bytes}",
        Tradewind_Upload=make_upload_id(job, source.stat(), "packed"),
    )
    assert answer.status == 422
    assert copied(str(source), f"{server.url}f.csv", "gzip:1").files_done == 1
    assert (root / "f.csv").read_bytes() == source.read_bytes()
    assert copied(str(source), f"{server.url}f.csv", "gzip:1").files_skipped == 1


def packed_upload(plain: bytes, end: bytes | None) -> dict[str, Any]:
    """A request for ``PUT`` of the whole of ``plain`` as one raw block, with the end that is due or another."""
    body = encode_block(Block(None, len(plain), crc32(plain), plain))
    return {
        "body": body + (encode_end(hashlib.sha256(plain).digest()) if end is None else end),
        "Content_Encoding": "tradewind-blocks",
        "Content_Range": f"bytes 0-{len(plain) - 1}/{len(plain)}",
        "Tradewind_Upload": "the-same",
        "Tradewind_Sha256": hashlib.sha256(plain).hexdigest(),
    }


@pytest.mark.parametrize("end", [b"", encode_failure("it changed while it was packed")], ids=["cut", "given up"])
def test_refused_upload_stores_and_counts_nothing(tmp_path: Path, end: bytes) -> None:
    refused, sound = packed_upload(b"A" * 100_000, end), packed_upload(b"B" * 100_000, None)
    with serving(tmp_path, writable=True, limits=ServerLimits(quota_bytes=150_000)) as server:

        def put(upload: dict[str, Any], **changed: str) -> Answer:
            fields = upload | changed
            return ask(server.port, "PUT", "/ab", fields.pop("body"), **fields)

        assert put(refused).status == 422
        assert put(refused, Tradewind_Upload="another").status == 422
        assert list(tmp_path.iterdir()) == []
        assert put(sound, Content_Range="bytes 0-99998/99999").status == 413
        assert put(sound, Content_Range="bytes 0-100000/100001").status == 400
        assert put(sound, Content_Range="bytes 0-99999/200000").status == 400
        assert put(sound).status == 201
        assert put(refused).status == 201, "it comes late, and is known"
    assert [each.name for each in tmp_path.iterdir()] == ["ab"]
    assert (tmp_path / "ab").read_bytes() == b"B" * 100_000


def test_files_of_no_bytes_go_both_ways(server: Server, root: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    up = copied(str(tmp_path / "empty"), f"{server.url}nothing", "gzip:1")
    assert (up.failures, (root / "nothing").read_bytes()) == ([], b"")
    down = copied(f"{server.url}nothing", str(tmp_path / "back"), "gzip:1")
    assert (down.failures, (tmp_path / "back").read_bytes()) == ([], b"")


def test_file_changed_while_packed_is_reported_and_not_published(
    server: Server, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "growing.csv"
    source.write_bytes(PLAIN)
    sent = PackedFile._send_block

    def grown(self: PackedFile, made: Any) -> Iterator[bytes]:
        with source.open("ab") as opened:
            opened.write(b"more\n")
        return sent(self, made)

    monkeypatch.setattr(PackedFile, "_send_block", grown)
    report = copied(str(source), f"{server.url}growing.csv", "gzip:1")
    assert "changed while it was packed" in report.failures[0][1]
    assert not (root / "growing.csv").exists()


@pytest.mark.parametrize("changes", [1, 1000])
def test_file_changed_during_packed_download_is_complete_or_absent(
    server: Server, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: int
) -> None:
    source, sent, left = root / f"changing-{changes}.csv", PackedFile._send_block, [changes]
    source.write_bytes(PLAIN)

    def changed(self: PackedFile, made: Any) -> Iterator[bytes]:
        if left[0]:
            left[0] -= 1
            with source.open("r+b") as opened:
                opened.write(b"%08d" % left[0])
        return sent(self, made)

    monkeypatch.setattr(PackedFile, "_send_block", changed)
    target = tmp_path / "came.csv"
    report = copied(f"{server.url}{source.name}", str(target), "gzip:1")
    assert leftovers(tmp_path) == []
    if changes == 1:
        assert report.succeeded, report.failures
        assert report.moved_bytes == len(PLAIN), "what was given up is not counted"
        assert len(report.restarted_files) == 1
        assert target.read_bytes() == source.read_bytes()
    else:
        ((_, reason),) = report.failures
        assert "the sender gave up: it changed while it was packed" in reason
        assert not target.exists()


@pytest.mark.parametrize("more", [b"", b"more rows\n"], ids=["rewritten", "longer"])
def test_a_file_that_changes_before_its_first_block_does_not_come_as_the_version_before(
    server: Server, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: bytes
) -> None:
    source, pieces, left = (
        root / f"before-{len(more)}.csv",
        PackedFile.encode_pieces,
        [PLAIN.upper().replace(b",", b";")],
    )
    source.write_bytes(PLAIN)
    os.utime(source, (1e9, 1e9))

    def changed(self: PackedFile) -> Iterator[bytes]:
        if left:
            source.write_bytes(left.pop() + more)
        return pieces(self)

    monkeypatch.setattr(PackedFile, "encode_pieces", changed)
    target = tmp_path / "came.csv"
    report = copied(f"{server.url}{source.name}", str(target), "gzip:1")
    assert report.succeeded, report.failures
    assert target.read_bytes() == source.read_bytes()
    assert int(target.stat().st_mtime) == int(source.stat().st_mtime)


class Cutting:
    """A server that closes each connection after some bytes of its answer, the first times."""

    def __init__(self, behind: Server, times: int, after_bytes: int) -> None:
        self._behind, self._times, self._after = behind, times, after_bytes
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            with client, socket.create_connection(("127.0.0.1", self._behind.port)) as upstream:
                request = client.recv(65536)
                upstream.sendall(request)
                left = None
                if b"GET " in request[:4] and self._times:
                    left, self._times = self._after, self._times - 1
                while left is None or left > 0:
                    data = upstream.recv(4096 if left is None else min(left, 4096))
                    if not data:
                        break
                    client.sendall(data)
                    left = None if left is None else left - len(data)
                    if left is None and data.endswith(b"0\r\n\r\n"):
                        break

    def close(self) -> None:
        self._listening.close()


def test_interrupted_download_resumes_and_completes(server: Server, root: Path, tmp_path: Path) -> None:
    cutting = Cutting(server, times=1, after_bytes=150_000)
    try:
        engine = EngineOptions(durable=False)
        listing = list_files([f"{server.url}a.csv"], str(tmp_path / "g.csv"), options=engine)
        job = replace(listing.jobs[0], source=Url.parse(f"{cutting.url}a.csv"))
        report = copy_packed(replace(listing, jobs=(job,)), PackingMode.parse("gzip:1"), engine)
    finally:
        cutting.close()
    assert report.succeeded, report.failures
    assert report.moved_bytes == len(PLAIN), "blocks that have come are not fetched again"
    assert (tmp_path / "g.csv").read_bytes() == PLAIN


def test_the_command_copies_packed_and_advises(server: Server, tmp_path: Path) -> None:
    env = environment(tmp_path / "home")
    done = run_command("copy", "--compress", "zstd:3", "--json", f"{server.url}a.csv", str(tmp_path / "h.csv"), env=env)
    assert done.code == 0, done.err
    assert done.document["used"] == {"zstd:3": len(PLAIN)}
    assert (tmp_path / "h.csv").read_bytes() == PLAIN
    told = run_command("compress-advise", str(tmp_path / "h.csv"), "--bandwidth", "0.5MB/s", "--json", env=env)
    assert told.code == 0, told.err
    assert told.document["best"]["mode"] == "piped"
    wrong = run_command("copy", "--compress", "zip", f"{server.url}a.csv", str(tmp_path), env=env)
    assert wrong.code == 2
    assert "'zip' is unknown" in wrong.err


def test_an_upload_makes_the_folder_that_is_not_there_yet(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(PLAIN)
    report = copied(str(tmp_path / "file"), f"{server.url}not/yet/there", "zstd:1")
    assert (report.files_done, report.failures, report.codec) == (1, [], "zstd:1")


def test_failure_to_report_codec_observations_does_not_fail_the_copy(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observations, "observe_codecs", Mock(side_effect=OSError(28, "No space left on device")))
    (tmp_path / "file").write_bytes(PLAIN)
    outcomes: list[PackedOutcome] = []
    report = copied(str(tmp_path / "file"), f"{server.url}told", "gzip:1", on_outcome=outcomes.append)
    assert report.files_done == 1
    (job,) = list_uploads([tmp_path / "file"], Url.parse(f"{server.url}told")).jobs
    assert outcomes[0].has_observations
    assert observations.collect_observations([(job, outcomes[0])], uuid4()) == []


def test_an_upload_by_a_codec_to_a_server_that_takes_none_says_so(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(PLAIN)
    with serving(root) as reading:
        report = copied(str(tmp_path / "file"), f"{reading.url}file", "zstd:1")
    assert [reason for _, reason in report.failures] == ["the server takes no uploads; start it with --writable"]
