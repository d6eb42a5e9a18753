"""Fetch files by the engine from servers that behave as drawn, and judge what is on the disk afterwards."""

import asyncio
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.fuzz.random_servers import Behaviour, RandomServer
from benchmarks.fuzz.served_files import ServedFile
from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.engine import EngineOptions, RetryPolicy, TransferEngine, TransferResult

AT_ONCE = 24
"""Transfers side by side: most of their time they wait."""

LONGEST_S = 120.0
"""After it a transfer counts as hanging. All timeouts and retries of one take a fraction of it."""

INTERRUPTED_SHARE, STALE_SHARE = 0.2, 0.1
_OLD_S = 1_000_000_000
_STALE = b"what stood there before"


@dataclass(frozen=True, slots=True)
class DrawnTransfer:
    """One transfer: all that happens follows from its ``seed``, apart from the times at which it happens."""

    seed: str
    behaviour: Behaviour
    files: Mapping[str, ServedFile]
    plan: Sequence[ChunkPlan]
    interrupted_after_s: float | None
    stale: frozenset[str]

    @classmethod
    def from_seed(cls, seed: str) -> "DrawnTransfer":
        draw = Random(seed)
        usual_bytes = draw.choice([None, None, draw.randrange(3_000)])
        names = [f"f{number}" for number in range(draw.randint(1, 6))]
        files = {name: ServedFile.draw(name, draw, usual_bytes) for name in names}
        setting = Parameters(
            concurrency=draw.randint(1, 4), parallelism=draw.randint(1, 3), pipelining=draw.choice([1, 2, 4, 8])
        )
        return cls(
            seed=seed,
            behaviour=Behaviour.draw(draw),
            files=files,
            plan=[ChunkPlan(ChunkKind.WHOLE, None, setting)],
            interrupted_after_s=draw.uniform(0, 0.02) if draw.random() < INTERRUPTED_SHARE else None,
            stale=frozenset(name for name in files if draw.random() < STALE_SHARE),
        )

    async def run(self, folder: Path) -> list[str]:
        """Fetch the files into ``folder``; return what was wrong."""
        for name in self.stale:
            (folder / name).write_bytes(_STALE)
            os.utime(folder / name, (_OLD_S, _OLD_S))
        try:
            async with (
                asyncio.timeout(LONGEST_S),
                RandomServer(self.behaviour, self.files, Random(self.seed)) as server,
            ):
                if self.interrupted_after_s is not None:
                    await self._fetch_for(self.interrupted_after_s, server, folder)
                result = await self._fetch(server, folder)
        except TimeoutError:
            return ["it hangs"]
        return list(self._find_faults(result, folder))

    async def _fetch(self, server: RandomServer, folder: Path) -> TransferResult:
        options = EngineOptions(
            retry=RetryPolicy(most_tries=6, first_wait_s=0.002, longest_wait_s=0.02),
            rng=Random(self.seed),
            answer_timeout_s=5.0,
            idle_timeout_s=5.0,
            durable=False,
        )
        jobs = [file.make_job(server.address, folder) for file in self.files.values()]
        return await TransferEngine(self.plan, options).run(jobs)

    async def _fetch_for(self, time_s: float, server: RandomServer, folder: Path) -> None:
        task = asyncio.create_task(self._fetch(server, folder))
        await asyncio.wait([task], timeout=time_s)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def _find_faults(self, result: TransferResult, folder: Path) -> Iterator[str]:
        failed = {failure.url.rpartition("/")[2] for failure in result.failures}
        if result.stopped is not None:
            yield f"it stopped: {result.stopped}"
        if result.files_done + result.files_skipped + len(result.failures) != len(self.files):
            yield "files were neither moved nor failed"
        if result.succeeded != (not failed):
            yield "it succeeded although files failed"
        for name, file in self.files.items():
            found = _read(folder / name)
            if name not in failed and found not in file.contents:
                yield f"{name} is no version of the file: {_describe(found)}, expected {len(file.contents[0])} bytes"
            if name in failed and found not in (None, _STALE, *file.contents):
                yield f"{name} has failed and is no version of the file: {_describe(found)}"
            if name not in failed and file.is_sum_known and found != file.contents[0]:
                yield f"{name} has another sum than was required"
            if name in failed and file.is_constant and self.behaviour.is_calm:
                reason = next(each.reason for each in result.failures if each.url.endswith(f"/{name}"))
                yield f"{name} failed although nothing was wrong: {reason}"


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _describe(content: bytes | None) -> str:
    return "missing" if content is None else f"{len(content)} bytes"


def run_transfers(count: int, seed: int) -> list[str]:
    """Run ``count`` drawn transfers; return a line for each that went wrong, with the seed that repeats it."""
    return asyncio.run(_run_all([f"{seed}-{number}" for number in range(count)]))


async def _run_all(seeds: Sequence[str]) -> list[str]:
    found: list[str] = []
    waiting = iter(seeds)

    async def work() -> None:
        for seed in waiting:
            with tempfile.TemporaryDirectory(prefix="tradewind-fuzz-") as folder:
                faults = await DrawnTransfer.from_seed(seed).run(Path(folder))
            found.extend(f"transfer {seed}: {fault}" for fault in faults)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return found
