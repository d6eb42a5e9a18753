"""Files of web servers that pack: what they pack on the way is undone, what is stored packed stays as it is."""

import gzip
import random
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import zstandard

from benchmarks.compression.unlogged_copy import PackedReport, copy_packed
from tests.integration.compression.test_packed_copies import leftovers
from tradewind.units import MIB
from tradewind_agent.compression.codecs import UnpackFailed
from tradewind_agent.compression.file_classes import classify_files, probe_classes
from tradewind_agent.compression.planning import PackingMode
from tradewind_agent.compression.web_codings import STEP_BYTES, format_web_codings, unpack_web_coding
from tradewind_agent.copy.listing import Listing, list_files
from tradewind_agent.engine.options import EngineOptions

PLAIN = b"".join(b"%d,%d\n" % (row, row * row % 977) for row in range(60_000))
OPTIONS = EngineOptions(durable=False)


class Web:
    """A server of one file, asked for by any name.

    Parameters
    ----------
    plain : what it sends where no coding is asked for.
    codings : what it sends where one of them is.
    stored_as : the coding that it tells of ``plain``, too.
    told : whether it tells the length of what it sends.
    """

    def __init__(self, plain: bytes, codings: dict[str, bytes], *, stored_as: str = "", told: bool = True) -> None:
        self.asked: list[str] = []
        web = self

        class Answers(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            @cached_property
            def coding(self) -> str:
                asked = self.headers.get("Accept-Encoding", "")
                return next((each for each in codings if each in asked), "")

            def do_HEAD(self) -> None:
                body = codings.get(self.coding, plain)
                web.asked.append(f"{self.command} {self.coding}".strip())
                self.send_response(200)
                if self.coding or stored_as:
                    self.send_header("Content-Encoding", self.coding or stored_as)
                if told:
                    self.send_header("Content-Length", str(len(body)))
                self.send_header("Connection", "close")
                self.end_headers()

            def do_GET(self) -> None:
                self.do_HEAD()
                self.wfile.write(codings.get(self.coding, plain))

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"

    @contextmanager
    def running(self) -> Iterator["Web"]:
        thread = threading.Thread(target=self._server.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()


def listed(web: Web, target: Path) -> Listing:
    return list_files([f"{web.url}{target.name}"], str(target), options=OPTIONS)


def fetched(web: Web, target: Path) -> PackedReport:
    return copy_packed(listed(web, target), PackingMode.parse("auto"), OPTIONS)


PACKED = gzip.compress(PLAIN)
OF_TWO_MEMBERS = gzip.compress(PLAIN[:90_000]) + gzip.compress(PLAIN[90_000:])


@pytest.mark.parametrize("told", [True, False], ids=["size known", "size unknown"])
@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_web_coding_is_decoded(tmp_path: Path, coding: str, told: bool) -> None:
    packed = PACKED if coding == "gzip" else zstandard.compress(PLAIN)
    with Web(PLAIN, {coding: packed}, told=told).running() as web:
        report = fetched(web, tmp_path / "data.csv")
    assert report.succeeded, report.failures
    assert (tmp_path / "data.csv").read_bytes() == PLAIN
    assert report.packed_bytes == len(packed)


@pytest.mark.parametrize("told", [True, False], ids=["size known", "size unknown"])
@pytest.mark.parametrize("stored", [PACKED, OF_TWO_MEMBERS], ids=["one member", "two members"])
def test_stored_compressed_file_stays_compressed(tmp_path: Path, stored: bytes, told: bool) -> None:
    with Web(stored, {}, stored_as="gzip", told=told).running() as web:
        report = fetched(web, tmp_path / "data.csv.gz")
        assert web.asked.count("GET") <= 2
    assert report.succeeded, report.failures
    assert (tmp_path / "data.csv.gz").read_bytes() == stored
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(
    "packed", [PACKED[:-20], OF_TWO_MEMBERS, gzip.compress(PLAIN[1:])], ids=["cut", "two", "other"]
)
def test_coding_that_does_not_yield_file_is_requested_once(tmp_path: Path, packed: bytes) -> None:
    with Web(PLAIN, {"gzip": packed}).running() as web:
        report = fetched(web, tmp_path / "data.csv")
        assert [each for each in web.asked if each.startswith("GET")] == ["GET gzip", "GET"]
    assert report.succeeded, report.failures
    assert report.plain_bytes == len(PLAIN)
    assert (tmp_path / "data.csv").read_bytes() == PLAIN


@pytest.mark.parametrize(("stored_as", "packs"), [("", True), ("gzip", False)])
def test_files_that_are_stored_packed_are_left_to_the_engine(tmp_path: Path, stored_as: str, packs: bool) -> None:
    web = Web(PACKED, {"gzip": PACKED}, stored_as=stored_as)
    with web.running():
        listing = listed(web, tmp_path / "data.csv")
        looked = probe_classes(classify_files(listing), listing, OPTIONS)
    assert any(each is not None for each in looked) is packs


def packed_as(coding: str, plain: bytes) -> bytes:
    if coding == "br":
        return bytes(pytest.importorskip("brotli").compress(plain, quality=5))
    return gzip.compress(plain) if coding == "gzip" else zstandard.compress(plain)


CODINGS = ["br", "gzip", "zstd"]
NOISE = random.Random(1).randbytes(700_000)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("plain", [b"", b"a", PLAIN, NOISE, NOISE[:STEP_BYTES] + bytes(STEP_BYTES)])
@pytest.mark.parametrize("piece_bytes", [1, 1000, 262_144])
def test_stream_is_decoded_for_any_piece_sizes(coding: str, plain: bytes, piece_bytes: int) -> None:
    packed = packed_as(coding, plain[: 2000 if piece_bytes == 1 else None])

    def pieces(until: int) -> Iterator[bytes]:
        return (packed[:until][at : at + piece_bytes] for at in range(0, until, piece_bytes))

    assert b"".join(unpack_web_coding(pieces(len(packed)), coding)) == plain[: 2000 if piece_bytes == 1 else None]
    with pytest.raises(UnpackFailed, match="was cut"):
        list(unpack_web_coding(pieces(len(packed) - 1), coding))
    with pytest.raises(UnpackFailed):
        list(unpack_web_coding(iter([packed, packed]), coding))
    with pytest.raises(UnpackFailed):
        list(unpack_web_coding(iter([packed + packed]), coding))


@pytest.mark.parametrize("coding", CODINGS)
def test_little_that_holds_much_is_undone_a_little_at_a_time(coding: str) -> None:
    bomb = packed_as(coding, bytes(64 * MIB))
    tracemalloc.start()
    try:
        assert sum(map(len, unpack_web_coding(iter([bomb]), coding))) == 64 * MIB
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < 4 * MIB


@pytest.mark.parametrize("coding", format_web_codings().split(", "))
def test_no_more_is_taken_than_the_file_has(tmp_path: Path, coding: str) -> None:
    with Web(PLAIN, {coding: packed_as(coding, bytes(64 * MIB))}).running() as web:
        report = fetched(web, tmp_path / "data.csv")
    assert report.succeeded, report.failures
    assert report.moved_bytes < 3 * len(PLAIN)
    assert (tmp_path / "data.csv").read_bytes() == PLAIN
