"""Servers that take their time: before an answer, behind an upload, or for ever."""

import asyncio
from email.utils import formatdate
from pathlib import Path
from time import time

import pytest

from tests.integration.engine.fetching import SMALL, copies, reason_of_failure
from tests.integration.engine.servers.rough_server import Answer, RoughRequest, RoughServer, head, plain
from tests.integration.engine.servers.store import Store
from tests.integration.engine.transfers import jobs_for, options, plan
from tradewind_agent.copy.file_sizes import query_sizes
from tradewind_agent.engine import TransferEngine, TransferResult, Url, list_uploads
from tradewind_agent.engine.jobs import DownloadJobs

LONG_S = 1.0
SHORT_S = 0.3


def late(wait_s: float, then: Answer) -> Answer:
    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> bool | None:
        await asyncio.sleep(wait_s)
        return await then(asked, writer)

    return answer


def test_answer_that_begins_late_is_waited_for(tmp_path: Path):
    _, server = copies(late(LONG_S, plain(SMALL)), tmp_path, SMALL, answer_timeout_s=30.0, idle_timeout_s=SHORT_S)
    assert len(server.asked) == 1


def test_body_without_progress_is_given_up_sooner(tmp_path: Path):
    async def stalled(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(head("200 OK", asked, Content_Length=len(SMALL)) + SMALL[:100])
        await writer.drain()
        await asyncio.sleep(30.0)

    reason, _ = reason_of_failure(stalled, tmp_path, answer_timeout_s=30.0, idle_timeout_s=SHORT_S)
    assert reason == f"nothing received for {SHORT_S} s (tried 4 times)"


def test_head_that_is_never_answered_holds_up_no_list_of_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tradewind_agent.engine.options.QUESTION_TIMEOUT_S", SHORT_S)

    async def story() -> tuple[list[int | None], int]:
        names = [f"f{number}" for number in range(200)]
        async with RoughServer({f"/{name}": late(60.0, plain(SMALL)) for name in names}) as server:
            async with asyncio.timeout(20.0):
                jobs = await query_sizes(
                    DownloadJobs(jobs_for(server.url, names, tmp_path)), options(answer_timeout_s=300.0)
                )
            return [job.size_bytes for job in jobs], len(server.asked)

    sizes, asked = asyncio.run(story())
    assert set(sizes) == {None}
    assert asked < 100


def test_wait_that_a_rate_limit_requests_in_its_answer_to_head_is_obeyed(tmp_path: Path):
    async def limited(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(head("429 Too Many Requests", asked, Content_Length=0, Retry_After=1))

    async def story() -> float:
        async with RoughServer({"/file": limited}) as server:
            started_s = asyncio.get_running_loop().time()
            await query_sizes(DownloadJobs(jobs_for(server.url, ["file"], tmp_path)), options())
            return asyncio.get_running_loop().time() - started_s

    assert asyncio.run(story()) >= 1.0  # as asked for


async def send(store: Store, folder: Path, **changes: object) -> TransferResult:
    (folder / "f.bin").write_bytes(SMALL)
    jobs = list_uploads([folder / "f.bin"], Url.parse(f"{store.url}/f.bin")).jobs
    return await TransferEngine(plan(1), options(**changes)).run(jobs)


def test_end_of_an_upload_is_waited_for(tmp_path: Path):
    async def story() -> tuple[TransferResult, Store]:
        async with Store(wait_s=LONG_S) as store:
            return await send(store, tmp_path, answer_timeout_s=30.0, idle_timeout_s=SHORT_S), store

    result, store = asyncio.run(story())
    assert result.failures == ()
    assert store.methods == ["PUT", "HEAD"]


@pytest.mark.parametrize(
    ("fields", "methods"),
    [
        ({"Last-Modified": formatdate(time() - 3600, usegmt=True)}, ["PUT", "HEAD", "PUT", "HEAD"]),  # an earlier file
        ({"Last-Modified": None}, ["PUT", "HEAD", "PUT", "HEAD"]),
        ({}, ["PUT", "HEAD"]),
    ],
)
def test_upload_without_an_answer_is_checked_before_it_is_sent_again(
    tmp_path: Path, fields: dict[str, str | None], methods: list[str]
):
    async def story() -> tuple[TransferResult, Store]:
        async with Store(silent=1, fields=fields) as store:
            return await send(store, tmp_path), store

    result, store = asyncio.run(story())
    assert result.failures == ()
    assert store.methods == methods
    assert store.files == {"/f.bin": SMALL}
