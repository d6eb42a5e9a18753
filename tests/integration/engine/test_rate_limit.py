"""The engine's own rate limit against real servers: never above, changed while bytes flow, nothing lost."""

import asyncio
import random
import statistics
from pathlib import Path

import pytest

from tests.integration.certificates import make_certificates
from tests.integration.engine.servers.rough_server import RoughServer, plain
from tests.integration.engine.transfers import digests, jobs_for, options, plan, transfer, until
from tests.integration.serve_files.serving import serving
from tradewind_agent.engine import TransferEngine, TransferResult, Url, build_tls_context, list_uploads
from tradewind_agent.engine.http.rate_limit import BURST_S, PART_BYTES, WORTH_BYTES, RateLimit, RateLimited
from tradewind_agent.serve import TlsFiles

NAMES = [f"f{number}" for number in range(6)]
SIZE = 300_000
RATE = 1_500_000.0
"""Bytes a second: a transfer takes a little more than one."""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    root.mkdir()
    rng = random.Random(3)
    for name in NAMES:
        (root / name).write_bytes(rng.randbytes(SIZE))
    return root


def assert_within(rate_bytes_per_s: float, moved_bytes: int, duration_s: float) -> None:
    """The bound that holds however busy the machine is; file contents are a little less than what was received."""
    assert moved_bytes <= rate_bytes_per_s * (duration_s + BURST_S)


def assert_complete(result: TransferResult, files: Path, copy: Path) -> None:
    assert result.succeeded
    assert result.bytes_moved == len(NAMES) * SIZE
    assert digests(copy) == digests(files)


def test_a_download_is_never_faster_than_its_limit_at_any_moment(files: Path, tmp_path: Path):
    seen: list[tuple[float, int]] = []

    async def story(url: str) -> TransferResult:
        engine = TransferEngine(plan(3, 2), options(rate_bytes_per_s=RATE))
        running = asyncio.create_task(engine.run(jobs_for(url, NAMES, tmp_path / "copy", dict.fromkeys(NAMES, SIZE))))
        while not running.done():
            snapshot = engine.take_snapshot()
            seen.append((snapshot.elapsed_s, snapshot.moved_bytes))
            await asyncio.sleep(0.01)
        return await running

    with serving(files) as server:
        result = asyncio.run(story(f"http://127.0.0.1:{server.port}"))
    assert_complete(result, files, tmp_path / "copy")
    for first in range(len(seen)):
        for later in seen[first:]:
            assert_within(RATE, later[1] - seen[first][1], later[0] - seen[first][0])


def test_a_limited_download_is_not_read_in_crumbs(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What comes in while a connection reads is left for its next turn: each read costs processor, however small."""
    reads: list[int] = []

    class Counted(RateLimit):
        def count_moved(self, connection: RateLimited, moved_bytes: int) -> bool:
            reads.append(moved_bytes)
            return super().count_moved(connection, moved_bytes)

    monkeypatch.setattr("tradewind_agent.engine.pool.RateLimit", Counted)
    with serving(files) as server:
        jobs = jobs_for(f"http://127.0.0.1:{server.port}", NAMES, tmp_path / "copy", dict.fromkeys(NAMES, SIZE))
        result = transfer(jobs, plan(6), rate_bytes_per_s=RATE)
    assert_complete(result, files, tmp_path / "copy")
    assert statistics.median(reads) >= WORTH_BYTES
    assert statistics.fmean(reads) >= PART_BYTES / 2


def test_an_upload_keeps_its_limit(files: Path, tmp_path: Path):
    (tmp_path / "copy").mkdir()
    with serving(tmp_path / "copy", writable=True) as server:
        jobs = list_uploads([files], Url.parse(f"http://127.0.0.1:{server.port}/")).jobs
        result = transfer(jobs, plan(3), rate_bytes_per_s=RATE)
    assert result.succeeded
    assert result.bytes_moved == len(NAMES) * SIZE
    assert_within(RATE, result.bytes_moved, result.duration_s)


def test_a_download_over_tls_keeps_its_limit(files: Path, tmp_path: Path):
    certificates = make_certificates(tmp_path)
    tls = TlsFiles(certificates.certificate, certificates.key)
    with serving(files, tls=tls) as server:
        jobs = jobs_for(f"https://localhost:{server.port}", NAMES, tmp_path / "copy", dict.fromkeys(NAMES, SIZE))
        result = transfer(jobs, plan(3), rate_bytes_per_s=RATE, tls=build_tls_context(ca_file=certificates.authority))
    assert_complete(result, files, tmp_path / "copy")
    assert_within(RATE, result.bytes_moved, result.duration_s)


def test_the_limit_changes_while_bytes_flow(files: Path, tmp_path: Path):
    """A transfer that would take half an hour ends soon after its limit is lifted, and is held back when one is set."""
    content = random.Random(4).randbytes(2_000_000)

    async def story() -> tuple[float, int]:
        async with RoughServer({f"/{name}": plain(content) for name in NAMES}) as server:
            engine = TransferEngine(plan(2), options(rate_bytes_per_s=5_000.0))
            running = asyncio.create_task(
                engine.run(jobs_for(server.url, NAMES, tmp_path / "copy", dict.fromkeys(NAMES, len(content))))
            )
            await until(lambda: engine.take_snapshot().moved_bytes > 0)
            engine.limit_rate(None)
            await until(lambda: engine.take_snapshot().moved_bytes > 3_000_000)
            engine.limit_rate(RATE)
            from_s, from_bytes = engine.take_snapshot().elapsed_s, engine.take_snapshot().moved_bytes
            await until(lambda: engine.take_snapshot().moved_bytes > from_bytes + 200_000)
            now = engine.take_snapshot()
            engine.limit_rate(None)
            assert (await running).succeeded
            return now.elapsed_s - from_s, now.moved_bytes - from_bytes

    duration_s, moved_bytes = asyncio.run(story())
    assert_within(RATE, moved_bytes, duration_s)
    assert {(tmp_path / "copy" / name).read_bytes() == content for name in NAMES} == {True}


def test_being_held_back_is_not_taken_for_silence_of_the_server(tmp_path: Path):
    """A transfer that lasts several times the idle timeout because each connection gets a few bytes a turn."""
    content = random.Random(4).randbytes(6_000)

    async def story() -> TransferResult:
        async with RoughServer({f"/{name}": plain(content) for name in NAMES[:2]}) as server:
            jobs = jobs_for(server.url, NAMES[:2], tmp_path / "copy", dict.fromkeys(NAMES[:2], len(content)))
            engine = TransferEngine(plan(2), options(rate_bytes_per_s=10_000.0, idle_timeout_s=0.3))
            result = await engine.run(jobs)
            assert server.most_open == 2
            return result

    result = asyncio.run(story())
    assert result.succeeded


@pytest.mark.parametrize("block_bytes", [16_384, 262_144])
def test_uploads_share_rate_limit_equally(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int):
    """Nobody takes the parts of others again and again, however little it sends at once."""
    moved: dict[RateLimited, int] = {}
    halves: list[dict[RateLimited, int]] = []

    class Counted(RateLimit):
        def count_moved(self, connection: RateLimited, moved_bytes: int) -> bool:
            moved[connection] = moved.get(connection, 0) + moved_bytes
            if not halves and sum(moved.values()) >= 3 * SIZE:
                halves.append(dict(moved))
            return super().count_moved(connection, moved_bytes)

    monkeypatch.setattr("tradewind_agent.engine.pool.RateLimit", Counted)
    files, copy = tmp_path / "files", tmp_path / "copy"
    files.mkdir()
    copy.mkdir()
    for name in NAMES[:3]:
        (files / name).write_bytes(random.Random(name).randbytes(2 * SIZE))
    with serving(copy, writable=True) as server:
        jobs = list_uploads([files], Url.parse(f"http://127.0.0.1:{server.port}/")).jobs
        result = transfer(jobs, plan(3, io_block_bytes=block_bytes), rate_bytes_per_s=RATE)
    assert result.succeeded
    (at_half,) = halves
    assert len(at_half) == 3
    assert min(at_half.values()) >= SIZE / 2
