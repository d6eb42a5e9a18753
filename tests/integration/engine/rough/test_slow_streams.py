"""A stream that is far behind the others at the end of a file: they fetch what it would be late with."""

import asyncio
import random
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from tests.integration.engine.servers.rough_server import Answer, RoughRequest, RoughServer, paced, plain
from tests.integration.engine.transfers import digests, jobs_for, options, plan
from tradewind_agent.engine import TransferEngine

CONTENT = random.Random(3).randbytes(6 * 1024 * 1024)
SLOW_BYTES_PER_S = 40_000.0  # for the first third of the file it takes 50 s
PATIENCE_S = 25.0

Spans = list[tuple[int, int]]


def first_one_slow(spans: Spans) -> Answer:
    """An answer that is slow once, to the request for the beginning; notes which bytes are requested."""
    slow, quick = paced(CONTENT, bytes_per_s=SLOW_BYTES_PER_S, step=4096), plain(CONTENT)

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> bool | None:
        span = asked.span(len(CONTENT)) or (0, len(CONTENT) - 1)
        is_first = span[0] == 0 and all(first for first, _ in spans)
        spans.append(span)
        return await (slow if is_first else quick)(asked, writer)

    return answer


async def fetch(answer: Answer, folder: Path, **changes: float) -> None:
    async with RoughServer({"/file": answer}) as server:
        jobs = jobs_for(server.url, ["file"], folder, {"file": len(CONTENT)})
        result = await TransferEngine(plan(1, 3), options(**changes)).run(jobs)
    assert result.failures == ()
    assert result.bytes_moved == len(CONTENT)


def count_inside(spans: Sequence[tuple[int, int]], of: tuple[int, int]) -> int:
    return sum(of[0] < first and last <= of[1] for first, last in spans)


def test_the_rest_of_a_slow_stream_is_fetched_by_the_idle_ones(tmp_path: Path):
    spans: Spans = []

    async def story() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await fetch(first_one_slow(spans), tmp_path)

    asyncio.run(story())
    assert list(digests(tmp_path).values()) == [sha256(CONTENT).hexdigest()]
    slow = next(span for span in spans if span[0] == 0)
    assert count_inside(spans, slow) >= 2  # by several


def test_one_slow_answer_without_a_validator_is_left_alone(tmp_path: Path):
    """Its parts could be of different versions, so that all of it would have to come again."""
    requests: list[str] = []
    content = CONTENT[:1_000_000]
    slow = paced(content, etag="", bytes_per_s=400_000.0)

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> bool | None:
        requests.append(asked.headers.get("range", ""))
        return await slow(asked, writer)

    async def story() -> None:
        async with RoughServer({"/file": answer}) as server:
            jobs = jobs_for(server.url, ["file"], tmp_path, {"file": len(content)})
            result = await TransferEngine(plan(1, 3), options()).run(jobs)
        assert result.failures == ()

    asyncio.run(story())
    assert (tmp_path / "file").read_bytes() == content
    assert requests.count("") <= 1  # the whole file is requested once


def test_a_transfer_under_a_rate_limit_gives_up_no_stream(tmp_path: Path):
    spans: Spans = []
    quick = plain(CONTENT)

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> bool | None:
        spans.append(asked.span(len(CONTENT)) or (0, len(CONTENT) - 1))
        return await quick(asked, writer)

    asyncio.run(fetch(answer, tmp_path, rate_bytes_per_s=len(CONTENT) / 2))
    assert len(spans) == len(set(spans)) == 3
