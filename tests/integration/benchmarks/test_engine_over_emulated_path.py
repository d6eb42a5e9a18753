"""The transfer engine against our server over an emulated path: every file arrives, either way, at any setting."""

import asyncio
import random
from pathlib import Path

import pytest

from benchmarks.emulation.path import emulate
from benchmarks.emulation.profile import PathProfile
from tests.integration.serve_files.serving import sha256
from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.engine import EngineOptions, TransferEngine, TransferResult, Url, list_downloads, list_uploads
from tradewind_agent.serve import Counters, serve

PATH = PathProfile(rate_bps=200e6, rtt_s=0.01, loss_rate=0.0005)
SETTINGS = [(1, 1, 1), (4, 3, 8)]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    source = random.Random(11)
    folder = tmp_path / "files"
    (folder / "small").mkdir(parents=True)
    for number in range(60):
        (folder / "small" / f"{number}.txt").write_bytes(source.randbytes(source.randrange(0, 20_000)))
    for number in range(2):
        (folder / f"large {number}.bin").write_bytes(source.randbytes(2_500_000))
    return folder


def sums(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): sha256(path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


async def move(
    served: Path, local: Path, settings: tuple[int, int, int], *, up: bool
) -> tuple[TransferResult, Counters]:
    """Copy all of one folder to the other, over the path."""
    concurrency, parallelism, pipelining = settings
    parameters = Parameters(concurrency=concurrency, parallelism=parallelism, pipelining=pipelining)
    options = EngineOptions(rng=random.Random(1))
    server = await serve(served, writable=True)
    path = await emulate(PATH, ("127.0.0.1", server.port))
    url = Url.parse(f"http://127.0.0.1:{path.port}/")
    try:
        found = list_uploads([local], url) if up else await list_downloads([url], local, options)
        result = await TransferEngine([ChunkPlan(ChunkKind.WHOLE, None, parameters)], options).run(found.jobs)
    finally:
        await path.close()
        await server.close()
    return result, server.counters


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("up", [False, True], ids=["download", "upload"])
def test_tree_arrives_complete(files: Path, tmp_path: Path, settings: tuple[int, int, int], up: bool):
    other = tmp_path / "other"
    other.mkdir()
    served, local = (other, files) if up else (files, other)
    result, counters = asyncio.run(move(served, local, settings, up=up))
    assert (result.files_done, result.failures, result.stopped) == (62, (), None)
    assert sums(other) == sums(files)
    assert counters.by_method["PUT" if up else "GET"] >= 62
