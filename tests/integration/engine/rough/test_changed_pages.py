"""Pages that change after they were listed are fetched as they are now; other pages are not taken for them."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from tests.integration.engine.fetching import SMALL
from tests.integration.engine.servers.rough_server import Answer, RoughServer, head, plain
from tests.integration.engine.transfers import jobs_for, options, plan
from tradewind_agent.engine import RetryPolicy, TransferEngine, TransferResult

NEW = b"<html><title>Results</title>" + b"x" * 300 + b"</html>"
LISTED_BYTES = 250
PATIENT = RetryPolicy(first_wait_s=0.3, longest_wait_s=0.6)


def date(age_s: float = 0.0) -> str:
    return format_datetime(datetime.now(UTC) - timedelta(seconds=age_s), usegmt=True)


def serve_page(written: str | None, *, grows: bool = False, **more: object) -> Answer:
    async def answer(asked, writer):
        content = NEW + b"y" * (asked.nth if grows else 0)
        fields = {"Content_Type": "text/html", "Content_Length": len(content), "Date": date(), **more}
        if written is not None:
            fields["Last_Modified"] = written or date()
        writer.write(head("200 OK", asked, **fields) + content)

    return answer


def copy(answer: Answer, folder: Path) -> tuple[TransferResult, RoughServer]:
    async def story() -> tuple[TransferResult, RoughServer]:
        async with RoughServer({"/results": answer, "/good": plain(SMALL)}) as server, asyncio.timeout(30.0):
            jobs = jobs_for(server.url, ["results", "good"], folder, {"results": LISTED_BYTES, "good": len(SMALL)})
            return await TransferEngine(plan(2), options(retry=PATIENT)).run(jobs), server

    return asyncio.run(story())


def test_page_that_was_written_after_the_listing_arrives(tmp_path: Path):
    result, _ = copy(serve_page(date(), ETag='"two"'), tmp_path)
    assert result.failures == ()
    assert (tmp_path / "results").read_bytes() == NEW


@pytest.mark.parametrize(
    "answer",
    [
        serve_page(None),
        serve_page(date(86400.0), ETag='"old"'),
        serve_page(date(), Cache_Control="no-store"),
        serve_page(date(), Set_Cookie="session=1"),
        serve_page(date(), Content_Type="application/problem+json"),
    ],
    ids=["without a time", "an old one", "not to be stored", "with a session", "a problem"],
)
def test_other_pages_are_no_file(tmp_path: Path, answer: Answer):
    result, _ = copy(answer, tmp_path)
    (failure,) = result.failures
    assert "does it ask for a login?" in failure.reason
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("grows", [True, False])
def test_page_that_never_settles_fails_in_one_sentence(tmp_path: Path, *, grows: bool):
    result, server = copy(serve_page("", grows=grows), tmp_path)
    (failure,) = result.failures
    assert "changed on the server while it was fetched (tried 6 times)" in failure.reason
    assert sum(asked.path == "/results" for asked in server.asked) == 6
    assert not (tmp_path / "results").exists()
