"""Probes of a path, each way: the line that they find, and what they leave behind."""

import asyncio
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random

import pytest

from tests.integration.agent.support.command import Outcome, environment, run
from tests.integration.engine.servers.rough_server import RoughServer, paced
from tests.integration.serve_files.serving import serving
from tradewind.units import BITS_PER_BYTE, KIB, MIB
from tradewind_agent.compression.codecs import list_available_codecs
from tradewind_agent.compression.packed.path_probe import probe_download_line, probe_upload_line
from tradewind_agent.errors import CopyFailed
from tradewind_agent.serve import Server

SLOW_BPS = 16e6


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("served")
    (folder / "large").write_bytes(Random(1).randbytes(2 * MIB))
    (folder / "small").write_bytes(Random(1).randbytes(40 * KIB))
    (folder / "tiny").write_bytes(b"too little to tell anything")
    return folder


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Server]:
    with serving(root, writable=True) as running:
        yield running


def clock(*durations_s: float) -> Iterator[float]:
    """A clock that shows these durations between every second look and the next, again and again."""
    now_s = 0.0
    for look in count():
        yield now_s
        now_s += durations_s[look // 2 % len(durations_s)] if look % 2 == 0 else 1.0


def of_sizes(line_bps: float, setup_s: float, *sizes: int) -> Iterator[float]:
    return clock(*(setup_s + 8 * size / line_bps for size in sizes))


def test_the_way_from_a_server_is_found_by_ranges_of_a_file(server: Server, root: Path) -> None:
    before = sorted(root.iterdir())
    ticks = of_sizes(16e6, 0.3, 64 * KIB, 256 * KIB, MIB)
    line = probe_download_line(f"{server.url}large", lambda: next(ticks)).line
    assert line.rate_bps == pytest.approx(16e6)
    assert line.setup_s == pytest.approx(0.3)
    assert sorted(root.iterdir()) == before


def test_transfers_that_a_busy_host_delayed_are_outweighed_by_more(server: Server) -> None:
    as_on_the_path = [0.3 + 8 * size / 16e6 for size in (64 * KIB, 256 * KIB, MIB)]
    delayed = [1.5, 0.9, 0.9]
    ticks = clock(*delayed, *delayed, *as_on_the_path * 6)
    line = probe_download_line(f"{server.url}large", lambda: next(ticks)).line
    assert line.rate_bps == pytest.approx(16e6, rel=0.5)


def test_path_on_which_size_costs_nothing_is_too_uneven(server: Server) -> None:
    ticks = clock(0.9, 0.8, 0.7)
    with pytest.raises(CopyFailed, match="too uneven"):
        probe_download_line(f"{server.url}large", lambda: next(ticks))


def test_path_is_probed_by_uploads_that_are_not_stored(server: Server, root: Path) -> None:
    before = sorted(root.iterdir())
    ticks = of_sizes(4e6, 0.1, 64 * KIB, 256 * KIB, MIB)
    probed, codecs = probe_upload_line(server.url, lambda: next(ticks))
    assert probed.line.rate_bps == pytest.approx(4e6)
    assert probed.line.setup_s == pytest.approx(0.1)
    assert codecs == list_available_codecs()
    assert sorted(root.iterdir()) == before


def test_a_small_file_is_fetched_in_three_sizes_of_which_the_largest_is_eight_times_the_smallest(
    server: Server,
) -> None:
    ticks = of_sizes(8e6, 0.2, 4 * KIB, round((4 * 40) ** 0.5 * KIB), 40 * KIB)
    assert probe_download_line(f"{server.url}small", lambda: next(ticks)).line.rate_bps == pytest.approx(8e6)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("tiny", "27 bytes, a probe needs 32768; name a larger file"), ("missing", "is not there .404.")],
)
def test_failed_probe_is_reported_with_advice(server: Server, name: str, reason: str) -> None:
    with pytest.raises(CopyFailed, match=f"{reason}.*--bandwidth"):
        probe_download_line(f"{server.url}{name}")


def test_advice_on_a_download_probes_the_way_from_the_server(tmp_path: Path) -> None:
    like_it = tmp_path / "like-it"
    like_it.write_bytes(b"to be or not to be " * 10_000)
    # at a rate at which what a busy host adds is little
    slow = paced(Random(1).randbytes(2 * MIB), bytes_per_s=SLOW_BPS / BITS_PER_BYTE)

    async def advise() -> Outcome:
        async with RoughServer({"/large": slow}) as server:
            words = ("compress-advise", str(like_it), "--from", f"{server.url}/large", "--json")
            return await asyncio.to_thread(run, *words, env=environment(tmp_path))

    advised = asyncio.run(advise())
    assert advised.code == 0, advised.err
    assert advised.document["line"]["bandwidth_bps"] == pytest.approx(SLOW_BPS, rel=0.5)


def test_a_way_is_named_once(tmp_path: Path) -> None:
    both = ("--from", "http://127.0.0.1:9/large", "--to", "http://127.0.0.1:9/")
    (tmp_path / "file").write_bytes(b"to be")
    told = run("compress-advise", str(tmp_path / "file"), *both, env=environment(tmp_path))
    assert told.code == 2
    assert "--to, --from or --bandwidth" in told.err


def test_path_with_excessive_setup_time_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"to be")
    way = ("--bandwidth", "1Mbps", "--setup")
    told = run("compress-advise", str(tmp_path / "file"), *way, "2h", env=environment(tmp_path))
    assert told.code == 2
    assert "--setup: must be 3600 s at most, got 7200" in " ".join(told.err.split())
    assert run("compress-advise", str(tmp_path / "file"), *way, "1h", env=environment(tmp_path)).code == 0


def test_bandwidth_option_excludes_probe(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"to be")
    way = ("--to", "http://127.0.0.1:9/", "--setup", "1s")
    told = run("compress-advise", str(tmp_path / "file"), *way, env=environment(tmp_path))
    assert told.code == 2
    assert "--setup: needs --bandwidth" in " ".join(told.err.split())
