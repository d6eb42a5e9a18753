"""Servers that refuse requests at random: no file is lost, and no limit of connections is learned from it."""

import asyncio
import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.engine.servers.rough_server import Answer, RoughRequest, RoughServer, head, plain, status
from tests.integration.engine.transfers import jobs_for, options, plan
from tradewind_agent.engine import RetryPolicy, TransferEngine, TransferResult

CONTENT = random.Random(3).randbytes(3000)
NAMES = [f"f{number:02}" for number in range(60)]
PATIENT = RetryPolicy(first_wait_s=0.01, longest_wait_s=0.2)


def refuse_at_random(line: str, seed: int, share: float = 0.5, **fields: object) -> Answer:
    draws = random.Random(seed)

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> bool | None:
        await asyncio.sleep(0.002)
        if draws.random() < share:
            writer.write(head(line, asked, Content_Length=0, **fields))
            return None
        return await plain(CONTENT)(asked, writer)

    return answer


def copy(answers: dict[str, Answer], folder: Path, **changes: Any) -> tuple[TransferResult, RoughServer]:
    async def story() -> tuple[TransferResult, RoughServer]:
        async with RoughServer(answers) as server, asyncio.timeout(60.0):
            jobs = jobs_for(server.url, [name.removeprefix("/") for name in answers], folder)
            return await TransferEngine(plan(8, 1, 4), options(retry=PATIENT, **changes)).run(jobs), server

    return asyncio.run(story())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("line", ["503 Service Unavailable", "500 Internal Server Error", "429 Too Many Requests"])
def test_no_file_is_lost_to_refusals_of_half_of_all_requests(tmp_path: Path, line: str, seed: int):
    answer = refuse_at_random(line, seed)
    result, _ = copy({f"/{name}": answer for name in NAMES}, tmp_path)
    assert result.failures == ()
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {CONTENT}


def test_limit_of_connections_is_not_learned_from_random_refusals(tmp_path: Path):
    answer = refuse_at_random("503 Service Unavailable", 1)
    result, _ = copy({f"/{name}": answer for name in NAMES}, tmp_path)
    assert result.permitted == {}


def test_files_that_are_never_served_fail_soon_among_others_that_are_refused_at_random(tmp_path: Path):
    answers = {f"/{name}": refuse_at_random("503 Service Unavailable", 2, 0.2) for name in NAMES}
    answers |= {f"/{name}": status("503 Service Unavailable", 0) for name in ("odd1", "odd2", "odd3")}
    started_s = time.monotonic()
    result, server = copy(answers, tmp_path)
    assert {each.url.rpartition("/")[2] for each in result.failures} == {"odd1", "odd2", "odd3"}
    assert all("503 Service Unavailable (tried" in each.reason for each in result.failures)
    assert max(sum(asked.path == f"/{name}" for asked in server.asked) for name in ("odd1", "odd2", "odd3")) < 60
    assert time.monotonic() - started_s < 60.0


def test_server_that_serves_nothing_is_not_requested_without_end(tmp_path: Path):
    result, server = copy({f"/{name}": status("503 Service Unavailable", 0) for name in NAMES[:10]}, tmp_path)
    assert len(result.failures) == 10
    assert len(server.asked) <= 10 * PATIENT.most_tries


def test_bodies_that_are_cut_above_one_connection_are_fetched_alone(tmp_path: Path):
    open_bodies = 0

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> bool | None:
        nonlocal open_bodies
        open_bodies += 1
        try:
            writer.write(head("200 OK", asked, Content_Length=len(CONTENT)) + CONTENT[:100])
            await asyncio.sleep(0.02)
            if open_bodies > 1:
                return False
            writer.write(CONTENT[100:])
            return None
        finally:
            open_bodies -= 1

    result, _ = copy({f"/{name}": answer for name in NAMES[:20]}, tmp_path)
    assert result.failures == ()
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {CONTENT}


@pytest.mark.parametrize("line", ["102 Processing", "103 Early Hints"])
def test_interim_answers_without_end_fail_the_file_at_once(tmp_path: Path, line: str):
    async def answer(_: RoughRequest, writer: asyncio.StreamWriter) -> bool:
        while True:
            writer.write(f"HTTP/1.1 {line}\r\n\r\n".encode())
            await writer.drain()
            await asyncio.sleep(0.001)

    result, server = copy({"/endless": answer, "/good": plain(CONTENT)}, tmp_path)
    (failure,) = result.failures
    assert f"{line} again and again, and no answer" in failure.reason
    assert sum(asked.path == "/endless" for asked in server.asked) == 1
