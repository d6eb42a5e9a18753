"""Many files: their transfers are made as connections have room for them, whatever the plan and the servers."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.engine.servers.rough_server import RoughServer, paced, plain
from tests.integration.engine.transfers import jobs_for, options, plan, until
from tradewind.dataset import ChunkKind
from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.engine import DownloadJob, TransferEngine
from tradewind_agent.engine.download import FileDownload
from tradewind_agent.engine.jobs import DownloadJobs
from tradewind_agent.engine.plain_transfer import make_plain_transfer

BODY = b"0123456789"
NAMES = [f"f{number:04}" for number in range(600)]


class CountedTransfers:
    """Makes transfers, and holds the most that were neither done nor failed."""

    def __init__(self) -> None:
        self.made: list[FileDownload] = []
        self.most_alive = 0

    def __call__(self, job, host):
        file = make_plain_transfer(job, host)
        self.made = [each for each in self.made if not each.is_over]
        self.made.append(file)
        self.most_alive = max(self.most_alive, len(self.made))
        return file


@pytest.mark.parametrize("kind", [list, DownloadJobs])
def test_transfers_are_made_a_few_at_a_time(tmp_path: Path, kind):
    counted = CountedTransfers()

    async def story() -> None:
        async with RoughServer({f"/{name}": plain(BODY) for name in NAMES}) as server:
            jobs = kind(jobs_for(server.url, NAMES, tmp_path, dict.fromkeys(NAMES, len(BODY))))
            engine = TransferEngine(plan(3, 1, 4), options(), counted)
            result = await engine.run(jobs)
            assert (result.files_done, result.failures) == (len(NAMES), ())
            assert result.bytes_moved == len(NAMES) * len(BODY)

    asyncio.run(story())
    assert len(list(tmp_path.iterdir())) == len(NAMES)
    assert counted.most_alive < 250  # ready, in flight, and being published


def test_counts_and_bytes_include_files_that_are_not_made_yet(tmp_path: Path):
    async def story() -> None:
        async with RoughServer({f"/{name}": paced(BODY * 100) for name in NAMES}) as server:
            engine = TransferEngine(plan(1), options())
            sizes = dict.fromkeys(NAMES, 100 * len(BODY))
            task = asyncio.create_task(engine.run(jobs_for(server.url, NAMES, tmp_path, sizes)))
            await until(lambda: server.open_now == 1)
            (chunk,) = engine.take_snapshot().chunks
            assert chunk.remaining_files + chunk.files_done == len(NAMES)
            assert chunk.remaining_bytes + chunk.moved_bytes == 1000 * len(NAMES)
            assert chunk.finished_s is None
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(story())


def test_waiting_files_go_with_the_chunks_of_a_new_plan(tmp_path: Path):
    sizes = {name: 10 + 990 * (number % 2) for number, name in enumerate(NAMES)}
    small = ChunkPlan(ChunkKind.SMALL, 100, Parameters(concurrency=2, pipelining=4))
    large = ChunkPlan(ChunkKind.LARGE, None, Parameters(concurrency=2, pipelining=4))

    async def story() -> None:
        answers = {f"/{name}": plain(b"x" * size) for name, size in sizes.items()}
        async with RoughServer(answers) as server:
            engine = TransferEngine(plan(1), options())
            task = asyncio.create_task(engine.run(jobs_for(server.url, NAMES, tmp_path, sizes)))
            await until(lambda: engine.take_snapshot().chunks[0].files_done > 20)
            engine.retune([small, large])
            kinds = {chunk.chunk: chunk for chunk in engine.take_snapshot().chunks}
            assert kinds[ChunkKind.SMALL].remaining_bytes == 10 * kinds[ChunkKind.SMALL].remaining_files
            await until(lambda: engine.take_snapshot().chunks[0].files_done > 20)
            engine.retune(plan(3, 1, 2))
            result = await task
            assert (result.files_done, result.failures) == (len(NAMES), ())
            assert result.bytes_moved == sum(sizes.values())

    asyncio.run(story())


def test_largest_files_come_first_and_of_one_size_the_first(tmp_path: Path):
    sizes = {"a": 10, "b": 20, "c": 10, "d": 30, "e": 20}

    async def story() -> list[str]:
        async with RoughServer({f"/{name}": plain(b"x" * size) for name, size in sizes.items()}) as server:
            await TransferEngine(plan(1), options()).run(jobs_for(server.url, sizes, tmp_path, sizes))
            return [asked.path for asked in server.asked]

    assert asyncio.run(story()) == ["/d", "/b", "/e", "/a", "/c"]


def test_two_listed_jobs_for_one_place_are_refused(tmp_path: Path):
    jobs: list[DownloadJob] = jobs_for("http://127.0.0.1:1", ["a", "b"], tmp_path, {"a": 1, "b": 1})
    with pytest.raises(InvalidValue, match="two files would both become"):
        asyncio.run(TransferEngine(plan(1), options()).run(DownloadJobs([*jobs, jobs[0]])))
