"""Origins that misbehave: retried within bounds, or one line that says what failed, while other files go on."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.engine.fetching import CONTENT, SMALL, copies, reason_of_failure
from tests.integration.engine.servers.rough_server import (
    RoughServer,
    chunked,
    cut_short,
    plain,
    redirect,
    status,
    until_close,
    without_ranges,
)
from tests.integration.engine.transfers import options, plan
from tradewind_agent.engine import DownloadJob, TransferEngine, Url

SIZES = pytest.mark.parametrize("size", [None, len(CONTENT)])


@SIZES
def test_bodies_cut_short_are_completed_from_where_they_broke(tmp_path: Path, size: int | None):
    result, _ = copies(cut_short(CONTENT, after=200_000, times=12), tmp_path, CONTENT, size=size)
    assert result.bytes_moved == len(CONTENT)


@SIZES
def test_a_server_without_ranges_is_read_in_one_stream(tmp_path: Path, size: int | None):
    copies(without_ranges(CONTENT), tmp_path, CONTENT, size=size)


@SIZES
def test_a_chunked_answer_of_unknown_length(tmp_path: Path, size: int | None):
    copies(chunked(CONTENT), tmp_path, CONTENT, size=size)


def test_an_answer_that_ends_with_the_connection(tmp_path: Path):
    copies(until_close(CONTENT), tmp_path, CONTENT)


@pytest.mark.parametrize("line", ["503 Service Unavailable", "500 Internal Server Error", "429 Too Many Requests"])
def test_a_passing_error_is_outwaited(tmp_path: Path, line: str):
    copies(status(line, 2, plain(SMALL), Retry_After=0), tmp_path, SMALL)


@pytest.mark.parametrize(
    ("line", "requests"),
    # 404 may be about the range, of a server that has sent no part. 403 may also mean too many connections: such a file
    # is requested once more when nothing else is under way.
    [("404 Not Found", 2), ("403 Forbidden", 2), ("503 Service Unavailable", 4)],
)
def test_an_error_that_stays_fails_this_file_alone(tmp_path: Path, line: str, requests: int):
    reason, server = reason_of_failure(status(line, 0), tmp_path)
    assert reason.startswith(f"the server answered {line}")
    assert sum(asked.path == "/file" for asked in server.asked) == requests


def test_refused_range_falls_back_to_full_file(tmp_path: Path):
    whole = plain(CONTENT)
    refused = status("416 Range Not Satisfiable", 10**6)

    async def answer(asked, writer):
        return await (refused if "range" in asked.headers else whole)(asked, writer)

    copies(answer, tmp_path, CONTENT)


def test_redirects_are_followed_to_another_host_without_the_credentials(tmp_path: Path):
    async def story() -> tuple[RoughServer, RoughServer]:
        async with RoughServer({"/there": plain(SMALL)}) as there:
            away = redirect(f"{there.url}/there", "307 Temporary Redirect")
            async with RoughServer({"/file": redirect("/moved"), "/moved": away}) as here:
                url = Url.parse(here.url.replace("//", "//ann:secret@") + "/file")
                job = DownloadJob(source=url, destination=str(tmp_path / "file"))
                assert (await TransferEngine(plan(1, 2), options()).run([job])).succeeded
                return here, there

    here, there = asyncio.run(story())
    assert (tmp_path / "file").read_bytes() == SMALL
    assert {asked.headers.get("authorization") for asked in here.asked} == {"Basic YW5uOnNlY3JldA=="}
    assert {asked.headers.get("authorization") for asked in there.asked} == {None}


def test_a_circle_of_redirects_ends(tmp_path: Path):
    reason, _ = reason_of_failure(redirect("/file"), tmp_path)
    assert reason == "more than 10 redirects"


def test_answer_that_is_not_http_fails_in_one_line(tmp_path: Path):
    async def answer(reader, writer):
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")

    reason, _ = reason_of_failure(answer, tmp_path)
    assert reason.startswith("the answer is not HTTP/1.1")
