"""Move files by the engine from and to servers that behave as drawn, and judge what is stored afterwards."""

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import ClassVar

from benchmarks.fuzz.behaviour import Behaviour
from benchmarks.fuzz.random_origins import RandomOrigin
from benchmarks.fuzz.random_receivers import RandomReceiver
from benchmarks.fuzz.random_servers import RandomServer
from benchmarks.fuzz.served_files import ServedFile
from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.engine import EngineOptions, RetryPolicy, TransferEngine, TransferResult, UploadJob, Url
from tradewind_agent.engine.jobs import Job

LONGEST_S = 120.0
"""After it a transfer counts as hanging. All timeouts and retries of one take a fraction of it."""

MOST_REQUESTS_A_FILE = 300
"""More show a loop: tries are bounded, and each range and redirect of a file takes a few."""

INTERRUPTED_SHARE, RIVAL_SHARE, STALE_SHARE = 0.2, 0.1, 0.1
OLD_S = 1_000_000_000
STALE = b"what stood there before"
"""Content of a file that stands where another is moved to."""


class DrawnTransfer(ABC):
    """One transfer: all that happens follows from its ``seed``, apart from the times at which it happens."""

    longest_before_s: ClassVar = 0.02
    """Time after which an interrupted run ends at most."""

    def __init__(self, seed: str, folder: Path) -> None:
        self.seed = seed
        self.folder = folder
        self.draw = Random(seed)
        self.behaviour = Behaviour.draw(self.draw)
        self.plan = [ChunkPlan(ChunkKind.WHOLE, None, _draw_parameters(self.draw))]
        is_interrupted = self.draw.random() < INTERRUPTED_SHARE
        self.interrupted_after_s = self.draw.uniform(0, self.longest_before_s) if is_interrupted else None
        self.has_rival = self.draw.random() < RIVAL_SHARE
        self._noted: list[str] = []

    @abstractmethod
    def open_server(self) -> RandomServer:
        """Return the server, with its files."""

    @abstractmethod
    def make_jobs(self, server: RandomServer) -> Sequence[Job]:
        """Return the jobs of all files."""

    @abstractmethod
    def prepare(self) -> None:
        """Make what is in the local folder before."""

    @abstractmethod
    def read_stored(self) -> Mapping[str, bytes]:
        """Return the content of each file where it was moved to, by its name."""

    @abstractmethod
    def find_faults(self, failures: Mapping[str, str], stored: Mapping[str, bytes]) -> Iterator[str]:
        """Yield what is wrong; ``failures`` : reasons by file name; ``stored`` : what stands where the files went."""

    async def run(self) -> list[str]:
        """Move the files, and return what was wrong."""
        self.prepare()
        try:
            async with asyncio.timeout(LONGEST_S), self.open_server() as server:
                if self.interrupted_after_s is not None:
                    await self._move_for(self.interrupted_after_s, server)
                jobs = self.make_jobs(server)
                results = await asyncio.gather(*(self.move(jobs) for _ in range(1 + self.has_rival)))
        except TimeoutError:
            return ["it hangs"]
        wrong = [*self._noted, *(each for result in results for each in _find_wrong_counts(result, len(jobs)))]
        if server.requests > MOST_REQUESTS_A_FILE * len(jobs) * (1 + len(results)):
            wrong.append(f"{server.requests} requests for {len(jobs)} files")
        return [*wrong, *self.find_faults(_find_common_failures(results), self.read_stored())]

    @property
    def must_succeed(self) -> bool:
        """Return whether no file that can be moved may fail: nothing is wrong, and nobody else writes it."""
        return self.behaviour.is_calm and not self.has_rival

    def note_faults(self, faults: Iterable[str]) -> None:
        """Note what is wrong with a run, besides what `find_faults` finds."""
        self._noted.extend(faults)

    async def move(self, jobs: Sequence[Job]) -> TransferResult:
        """Move the files by one run of the engine."""
        return await TransferEngine(self.plan, self.make_options()).run(jobs)

    def make_options(self) -> EngineOptions:
        return EngineOptions(
            retry=RetryPolicy(most_tries=6, first_wait_s=0.002, longest_wait_s=0.02),
            rng=Random(self.seed),
            answer_timeout_s=5.0,
            idle_timeout_s=5.0,
            durable=False,
        )

    async def _move_for(self, time_s: float, server: RandomServer) -> None:
        task = asyncio.create_task(self.move(self.make_jobs(server)))
        await asyncio.wait([task], timeout=time_s)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class DrawnDownload(DrawnTransfer):
    """Files of one or two versions. Some stand in the local folder already, with other bytes."""

    def __init__(self, seed: str, folder: Path) -> None:
        super().__init__(seed, folder)
        usual_bytes = self.draw.choice([None, None, self.draw.randrange(3_000)])
        names = [f"f{number}" for number in range(self.draw.randint(1, 6))]
        self.files = {name: ServedFile.draw(name, self.draw, usual_bytes) for name in names}
        self._stale = [name for name in names if self.draw.random() < STALE_SHARE]

    def open_server(self) -> RandomServer:
        return RandomOrigin(self.behaviour, self.files, Random(self.seed))

    def make_jobs(self, server: RandomServer) -> Sequence[Job]:
        return [file.make_job(server.address, self.folder) for file in self.files.values()]

    def prepare(self) -> None:
        for name in self._stale:
            (self.folder / name).write_bytes(STALE)
            os.utime(self.folder / name, (OLD_S, OLD_S))

    def read_stored(self) -> Mapping[str, bytes]:
        return {name: (self.folder / name).read_bytes() for name in self.files if (self.folder / name).exists()}

    def find_faults(self, failures: Mapping[str, str], stored: Mapping[str, bytes]) -> Iterator[str]:
        for name, file in self.files.items():
            found = stored.get(name)
            if name not in failures and found not in file.contents:
                expected = f"expected {len(file.contents[0])} bytes"
                yield f"{name} is no version of the file: {describe_content(found)}, {expected}"
            if name in failures and found not in (None, STALE, *file.contents):
                yield f"{name} has failed and is no version of the file: {describe_content(found)}"
            if name not in failures and file.is_sum_known and found != file.contents[0]:
                yield f"{name} has another sum than was required"
            if name in failures and file.is_constant and self.must_succeed:
                yield f"{name} failed although nothing was wrong: {failures[name]}"


class DrawnUpload(DrawnTransfer):
    """Local files, sent to a receiver that may store one without an answer."""

    def __init__(self, seed: str, folder: Path) -> None:
        super().__init__(seed, folder)
        sizes = [self.draw.choice([0, 1, self.draw.randrange(3_000), self.draw.randrange(300_000)]) for _ in range(6)]
        self.contents = {f"f{number}": self.draw.randbytes(size) for number, size in enumerate(sizes)}

    def open_server(self) -> RandomServer:
        self._receiver = RandomReceiver(self.behaviour, Random(self.seed))
        return self._receiver

    def make_jobs(self, server: RandomServer) -> Sequence[Job]:
        return [_make_upload_job(self.folder / name, server) for name in self.contents]

    def prepare(self) -> None:
        for name, content in self.contents.items():
            (self.folder / name).write_bytes(content)

    def read_stored(self) -> Mapping[str, bytes]:
        return self._receiver.stored

    def find_faults(self, failures: Mapping[str, str], stored: Mapping[str, bytes]) -> Iterator[str]:
        for name, content in self.contents.items():
            if name not in failures and stored.get(name) != content:
                yield f"{name} is stored otherwise: {describe_content(stored.get(name))}, sent {len(content)} bytes"
            if name in failures and self.must_succeed:
                yield f"{name} failed although nothing was wrong: {failures[name]}"


def _draw_parameters(draw: Random) -> Parameters:
    return Parameters(
        concurrency=draw.randint(1, 4), parallelism=draw.randint(1, 3), pipelining=draw.choice([1, 2, 4, 8])
    )


def _find_common_failures(results: Sequence[TransferResult]) -> Mapping[str, str]:
    """Return the files that no run has moved: name → a reason."""
    failures = [{each.url.rpartition("/")[2]: each.reason for each in result.failures} for result in results]
    return {name: reason for name, reason in failures[0].items() if all(name in other for other in failures)}


def _find_wrong_counts(result: TransferResult, files: int) -> Iterator[str]:
    if result.stopped is not None:
        yield f"it stopped: {result.stopped}"
    if result.files_done + result.files_skipped + len(result.failures) != files:
        yield "files were neither moved nor failed"
    if result.succeeded and result.failures:
        yield "it succeeded although files failed"


def _make_upload_job(source: Path, server: RandomServer) -> UploadJob:
    found, place = source.stat(), Url.parse(f"http://{server.address}/{source.name}")
    return UploadJob(source=source, destination=place, size_bytes=found.st_size, modified_at_ns=found.st_mtime_ns)


def describe_content(content: bytes | None) -> str:
    return "missing" if content is None else f"{len(content)} bytes"
