"""What packed streams may cost the end that serves or receives them."""

import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from tests.conditions import eventually
from tests.integration.serve_files.serving import Answer, Wire, serving
from tradewind.compression.codecs import Codec, CodecSetting
from tradewind.compression.steering import Steering
from tradewind.units import MIB
from tradewind_agent.compression import codecs
from tradewind_agent.compression.packing import PackedFile
from tradewind_agent.compression.planning import parse_speeds
from tradewind_agent.serve import Server
from tradewind_agent.serve.options import ServerLimits

PACKED = {"Accept_Encoding": "tradewind-blocks", "Tradewind_Codecs": "gzip", "Tradewind_Pack": "gzip:9"}


@cache
def make_table() -> bytes:
    """Return 11 MB that compress well."""
    return b"".join(b"%d,%d\n" % (row, row * row % 977) for row in range(1_000_000))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("served")
    (folder / "a.csv").write_bytes(make_table())
    with serving(folder, limits=ServerLimits(max_packed_downloads=1)) as running:
        yield running


@pytest.fixture
def idle(tmp_path: Path) -> Iterator[Server]:
    """A server that packs for nobody else."""
    (tmp_path / "a.csv").write_bytes(make_table())
    with serving(tmp_path) as running:
        yield running


def begins_packed(wire: Wire) -> bool:
    wire.send("GET", "/a.csv", **PACKED)
    answer = wire.receive(bodiless=True)
    assert answer.status == 200
    return answer.headers.get("content-encoding") == "tradewind-blocks"


def test_a_server_packs_so_many_downloads_at_once_and_sends_others_as_they_are(server: Server) -> None:
    with Wire(server.port) as first, Wire(server.port) as second:
        assert begins_packed(first)
        assert not begins_packed(second)

    def once_more() -> bool:
        with Wire(server.port) as third:
            return begins_packed(third)

    eventually(once_more)  # who has left gives its turn back


LOOK = {"Accept_Encoding": "tradewind-blocks", "Tradewind_Codecs": "gzip,xz,zstd"}


def looked_at(server: Server, **fields: str) -> Answer:
    with Wire(server.port) as wire:
        wire.send("HEAD", "/a.csv", **fields)
        return wire.receive(bodiless=True)


def test_client_with_codecs_and_path_gets_trials_of_best_settings(idle: Server) -> None:
    answer = looked_at(idle, **LOOK, Tradewind_Line="1000000")
    tried = parse_speeds(answer.headers["tradewind-tried"])
    assert {setting.codec for setting in tried} <= {Codec.GZIP, Codec.XZ, Codec.ZSTD}
    assert any(its.ratio > 2 for its in tried.values())
    assert "tradewind-sample" in answer.headers
    others = looked_at(idle, Accept_Encoding="tradewind-blocks")
    assert "tradewind-sample" in others.headers
    assert "tradewind-tried" not in others.headers


def test_on_a_path_that_takes_no_longer_than_trials_none_is_made(idle: Server) -> None:
    assert "tradewind-tried" not in looked_at(idle, **LOOK, Tradewind_Line="1e12").headers


@pytest.mark.parametrize("line", ["fast", "0", "-1", "nan", "1e300", "1e-300"])
def test_a_path_of_no_possible_rate_is_refused(idle: Server, line: str) -> None:
    assert looked_at(idle, **LOOK, Tradewind_Line=line).status == 400


def test_closing_packed_stream_does_not_wait_for_blocks(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_bytes(make_table())
    steering = Steering(expected={}, line_bps=None, setting=CodecSetting(Codec.GZIP, 1))
    with ThreadPoolExecutor(1) as pool, source.open("rb") as opened:
        pieces = PackedFile(opened.fileno(), source.stat(), steering, pool=pool).encode_pieces()
        next(pieces)
        pieces.close()
        assert pool.submit(lambda: "goes on").result() == "goes on"


@pytest.mark.parametrize("codec", [Codec.BROTLI, Codec.LZOP, Codec.XZ, Codec.ZSTD])
def test_a_block_that_claims_less_than_it_holds_is_not_unpacked_to_its_end(codec: Codec) -> None:
    if codec not in codecs.list_available_codecs():
        pytest.skip(f"this host has no {codec}")
    bomb = codecs.pack(bytes(48 * MIB), CodecSetting(codec, 1))
    tracemalloc.start()
    try:
        with pytest.raises(codecs.UnpackFailed):
            codecs.unpack(bomb, codec, 100_000)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < 4 * MIB
