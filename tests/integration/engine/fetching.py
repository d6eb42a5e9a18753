"""One file fetched from a rough server: it arrives as it should, or fails in one line beside a good one."""

import asyncio
import random
from pathlib import Path
from typing import Any

from tests.integration.engine.servers.rough_server import Answer, RoughServer, plain
from tests.integration.engine.transfers import jobs_for, options, plan
from tradewind_agent.engine import TransferEngine, TransferResult

CONTENT = random.Random(5).randbytes(3_000_000)
SMALL = CONTENT[:70_000]


async def fetch_one(
    server: RoughServer,
    folder: Path,
    *,
    settings: tuple[int, int, int] = (1, 3, 2),
    size: int | None = None,
    name: str = "file",
    **changes: Any,
) -> TransferResult:
    """Copy /file from ``server``."""
    jobs = jobs_for(server.url, [name], folder, {name: size} if size is not None else None)
    return await TransferEngine(plan(*settings), options(**changes)).run(jobs)


def copies(answer: Answer, folder: Path, expected: bytes, **changes: Any) -> tuple[TransferResult, RoughServer]:
    """The file arrives byte by byte and leaves nothing else behind; returns what the server saw, too."""

    async def story() -> tuple[TransferResult, RoughServer]:
        async with RoughServer({"/file": answer}) as server:
            return await fetch_one(server, folder, **changes), server

    result, server = asyncio.run(story())
    assert result.failures == ()
    assert {path.name for path in folder.iterdir()} == {"file"}
    assert (folder / "file").read_bytes() == expected
    return result, server


def reason_of_failure(
    answer: Answer, folder: Path, *, size: int | None = None, **changes: Any
) -> tuple[str, RoughServer]:
    """The file fails, the other one beside it arrives; returns the reason and what the server saw."""

    async def story() -> tuple[TransferResult, RoughServer]:
        async with RoughServer({"/file": answer, "/good": plain(SMALL)}) as server:
            jobs = jobs_for(server.url, ["file", "good"], folder, {"file": size, "good": None})
            return await TransferEngine(plan(2, 2, 2), options(**changes)).run(jobs), server

    result, server = asyncio.run(story())
    assert (result.files_done, len(result.failures)) == (1, 1)
    assert (folder / "good").read_bytes() == SMALL
    assert not (folder / "file").exists()
    assert result.failures[0].url == f"{server.url}/file"
    assert "\n" not in result.failures[0].reason
    return result.failures[0].reason, server
