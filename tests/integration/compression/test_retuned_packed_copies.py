"""Packed copies whose plan changes while they pack."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.compression.contents import digits
from tests.integration.engine.transfers import until
from tests.integration.serve_files.serving import serving
from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.compression.packed.packing_host import PackingHost
from tradewind_agent.compression.packed.stage import PackingStage
from tradewind_agent.compression.planning import FileAdvice, PackingMode
from tradewind_agent.copy.listing import Listing, list_files
from tradewind_agent.engine.engine import TransferEngine
from tradewind_agent.engine.options import EngineOptions

FILES = {f"{number}.txt": digits(400_000 + number) for number in range(6)}
OPTIONS = EngineOptions(durable=False, rate_bytes_per_s=1.5e6)


def plan(concurrency: int) -> list[ChunkPlan]:
    return [ChunkPlan(ChunkKind.WHOLE, None, Parameters(concurrency=concurrency, parallelism=1, pipelining=2))]


async def copy_retuned(listing: Listing) -> None:
    host = PackingHost(4)
    with PackingStage(PackingMode.parse("gzip:1"), dict.fromkeys(listing.jobs, FileAdvice()), host) as stage:
        engine = TransferEngine(plan(4), OPTIONS, stage.make_transfer)
        running = asyncio.create_task(engine.run(listing.jobs))
        await until(lambda: engine.take_snapshot().moved_bytes > 0)
        engine.retune(plan(1))
        await until(lambda: engine.take_snapshot().files_done > 1)
        engine.retune(plan(3))
        result = await running
    assert result.failures == ()
    assert (result.files_done, result.bytes_moved) == (len(FILES), sum(map(len, FILES.values())))
    assert host.totals.packed_bytes < 0.6 * result.bytes_moved


@pytest.mark.parametrize("upload", [True, False], ids=["upload", "download"])
def test_files_arrive_whatever_the_plan_becomes_while_they_are_packed(tmp_path: Path, upload: bool) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    for folder in (source, target):
        folder.mkdir()
    for name, content in FILES.items():
        (source / name).write_bytes(content)
    with serving(target if upload else source, writable=True) as server:
        ends = (str(source), server.url) if upload else (server.url, str(target))
        asyncio.run(asyncio.wait_for(copy_retuned(list_files([ends[0]], ends[1], options=OPTIONS)), 60))
    assert {path.name: path.read_bytes() for path in target.rglob("*.txt")} == FILES
