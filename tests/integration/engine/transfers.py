"""Running the engine in tests."""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.engine import DownloadJob, EngineOptions, RetryPolicy, TransferEngine, TransferResult, Url

QUICK = RetryPolicy(most_tries=4, first_wait_s=0.01, longest_wait_s=0.05)


def options(**changes: Any) -> EngineOptions:
    """Options that do not wait long."""
    silence_s = changes.get("idle_timeout_s", 20.0)
    usual = {"retry": QUICK, "rng": random.Random(1), "answer_timeout_s": silence_s, "idle_timeout_s": silence_s}
    return EngineOptions(**{**usual, **changes})


def plan(concurrency: int, parallelism: int = 1, pipelining: int = 1, io_block_bytes: int = 65536) -> list[ChunkPlan]:
    """One chunk for everything."""
    setting = Parameters(
        concurrency=concurrency, parallelism=parallelism, pipelining=pipelining, io_block_bytes=io_block_bytes
    )
    return [ChunkPlan(ChunkKind.WHOLE, None, setting)]


def transfer(jobs: Iterable[Any], settings: list[ChunkPlan], **changes: Any) -> TransferResult:
    """Run to the end."""
    return asyncio.run(TransferEngine(settings, options(**changes)).run(jobs))


async def until(condition: Callable[[], bool], within_s: float = 20.0) -> None:
    """Wait for a condition, not for a time."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110  # what is waited for happens in another process or library
            await asyncio.sleep(0.005)


def jobs_for(
    base: str, names: Iterable[str], folder: Path, sizes: Mapping[str, int | None] | None = None
) -> list[DownloadJob]:
    return [
        DownloadJob(
            source=Url.parse(f"{base.rstrip('/')}/{name}"),
            destination=str(folder / name),
            size_bytes=sizes[name] if sizes is not None else None,
        )
        for name in names
    ]


def digests(folder: Path) -> dict[str, str]:
    """Sum of every file below a folder, hidden ones too, so that nothing is left behind unnoticed."""
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
