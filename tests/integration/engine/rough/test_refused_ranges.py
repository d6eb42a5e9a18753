"""Servers that refuse requests with Range in another way than by 416, and send the file without."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.integration.engine.fetching import CONTENT, SMALL, copies, fetch_one, reason_of_failure
from tests.integration.engine.servers.rough_server import (
    Answer,
    RoughRequest,
    RoughServer,
    head,
    plain,
    redirect,
    status,
)
from tests.integration.engine.transfers import QUICK, jobs_for, options, plan, until
from tradewind_agent.engine import TransferEngine, TransferResult

TAG = {"ETag": '"one"'}
LONG = CONTENT * 2


def refusing(
    line: str | None, content: bytes = CONTENT, wait_s: float = 0.0, times: int = 10**6, **fields: Any
) -> Answer:
    """The file without Range; with it the status, or no answer, the first ``times`` times."""
    ordinary = plain(content)

    async def answer(asked, writer):
        if "range" not in asked.headers:
            writer.write(head("200 OK", asked, Content_Length=len(content), **TAG, **fields) + content)
            return None
        if asked.nth >= times:
            return await ordinary(asked, writer)
        await asyncio.sleep(wait_s)
        if line is not None:
            writer.write(head(line, asked, Content_Length=2) + b"no")
        return line is not None

    return answer


def fetch(
    answers: dict[str, Answer],
    names: list[str],
    folder: Path,
    *,
    sizes: dict[str, int | None] | None = None,
    settings: tuple[int, int, int] = (1, 1, 1),
    **changes: Any,
) -> tuple[TransferResult, RoughServer]:
    async def story() -> tuple[TransferResult, RoughServer]:
        async with RoughServer(answers) as server, asyncio.timeout(60.0):
            jobs = jobs_for(server.url, names, folder, sizes)
            return await TransferEngine(plan(*settings), options(**changes)).run(jobs), server

    return asyncio.run(story())


def with_range(server: RoughServer, path: str | None = None) -> list[RoughRequest]:
    return [each for each in server.asked if "range" in each.headers and path in (None, each.path)]


def without_range(server: RoughServer, path: str | None = None) -> list[RoughRequest]:
    return [each for each in server.asked if "range" not in each.headers and path in (None, each.path)]


REFUSALS = ["400 Bad", "403 Forbidden", "404 Not Found", "406 No", "412 No", "500 Oops", "501 No", None]


@pytest.mark.parametrize("line", REFUSALS)
@pytest.mark.parametrize("size", [None, len(CONTENT)])
@pytest.mark.parametrize("fields", [{}, {"Accept_Ranges": "bytes"}], ids=["", "states ranges"])
def test_file_whose_ranges_are_refused_arrives_without(tmp_path: Path, line: str | None, size: int | None, fields):
    copies(refusing(line, **fields), tmp_path, CONTENT, size=size)


@pytest.mark.parametrize("line", ["403 Forbidden", "406 No", "500 Oops", None])
@pytest.mark.parametrize("fields", [{}, {"Accept_Ranges": "bytes"}], ids=["", "states ranges"])
def test_many_long_files_arrive_without_ranges_at_full_width(tmp_path: Path, line: str | None, fields):
    names = [f"f{number}" for number in range(8)]
    answers = {f"/{name}": refusing(line, LONG, **fields) for name in names}
    sizes = dict.fromkeys(names, len(LONG))
    result, server = fetch(answers, names, tmp_path, sizes=sizes, settings=(4, 2, 2))
    assert result.failures == ()
    assert all((tmp_path / name).read_bytes() == LONG for name in names)
    assert line is None or not result.permitted
    assert len(without_range(server)) <= 2 * len(names) + 4


def test_file_whose_ranges_are_never_answered_arrives_without(tmp_path: Path):
    _, server = copies(refusing(None, wait_s=20.0), tmp_path, CONTENT, answer_timeout_s=0.5, settings=(1, 1, 1))
    assert len(server.asked) == 2


def test_ranges_are_given_up_for_all_files_of_the_server(tmp_path: Path):
    names = [f"f{number}" for number in range(20)]
    result, server = fetch({f"/{name}": refusing("406 No", SMALL) for name in names}, names, tmp_path)
    assert result.failures == ()
    assert len(with_range(server)) == 1


def test_server_that_states_ranges_and_refuses_them_is_tried_twice(tmp_path: Path):
    names = [f"f{number}" for number in range(20)]
    answers = {f"/{name}": refusing("406 No", SMALL, Accept_Ranges="bytes") for name in names}
    result, server = fetch(answers, names, tmp_path)
    assert result.failures == ()
    assert len(with_range(server)) == 2
    assert len(server.asked) == len(names) + 2


@pytest.mark.parametrize(("line", "times"), [("500 Oops", 2), (None, 3)])
@pytest.mark.parametrize("size", [None, len(LONG)])
def test_file_refused_by_chance_arrives_in_parts(tmp_path: Path, line: str | None, times: int, size: int | None):
    answer = refusing(line, LONG, times=times)
    result, server = fetch({"/file": answer}, ["file"], tmp_path, sizes={"file": size})
    assert result.failures == ()
    assert (tmp_path / "file").read_bytes() == LONG
    assert len(without_range(server)) == 1
    assert "range" in server.asked[-1].headers


@pytest.mark.parametrize("fields", [{}, {"Accept_Ranges": "bytes"}], ids=["", "states ranges"])
def test_long_files_that_are_all_refused_by_chance_arrive_in_parts(tmp_path: Path, fields: dict[str, str]):
    names = ["a", "b", "c"]
    answers = {f"/{name}": refusing("500 Oops", LONG, times=2, **fields) for name in names}
    sizes = dict.fromkeys(names, len(LONG))
    result, server = fetch(answers, names, tmp_path, sizes=sizes, settings=(3, 2, 1))
    assert result.failures == ()
    for name in names:
        parts = [each for each in with_range(server, f"/{name}") if each.nth >= 2]
        assert len(parts) >= 2


def test_server_that_is_slow_once_retains_its_ranges(tmp_path: Path):
    """As one that fetches a file from tape first."""
    answers = {"/first": refusing(None, LONG, wait_s=20.0, times=1), "/second": plain(LONG)}
    sizes = dict.fromkeys(["first", "second"], len(LONG))
    result, server = fetch(
        answers, ["first", "second"], tmp_path, sizes=sizes, settings=(1, 2, 1), answer_timeout_s=0.5
    )
    assert result.failures == ()
    assert without_range(server, "/second") == []


@pytest.mark.parametrize("line", ["403 Forbidden", "404 Not Found", "410 Gone", "501 No"])
@pytest.mark.parametrize("settings", [(1, 1, 1), (4, 2, 8)])
def test_files_that_are_not_there_cost_few_requests_of_their_server(tmp_path: Path, line: str, settings):
    """One more for each file that is under way when the first one is refused without Range as well."""
    names = [f"f{number}" for number in range(200)]
    answers = {f"/{name}": status(line, 1000) for name in names}
    result, server = fetch(answers, names, tmp_path, settings=settings)
    assert len(result.failures) == len(names)
    assert all(failure.reason.startswith(f"the server answered {line}") for failure in result.failures)
    more = len(without_range(server))
    assert 1 <= more <= (1 if settings == (1, 1, 1) else 64)
    if line != "403 Forbidden":
        assert len(server.asked) == len(names) + more


@pytest.mark.parametrize("line", ["403 Forbidden", "404 Not Found"])
def test_file_that_is_missing_among_others_is_requested_as_ever(tmp_path: Path, line: str):
    names = [f"f{number}" for number in range(10)]
    answers = {f"/{name}": plain(SMALL) for name in names} | {"/f5": status(line, 1000)}
    result, server = fetch(answers, names, tmp_path, settings=(2, 1, 1))
    assert [failure.url.rpartition("/")[2] for failure in result.failures] == ["f5"]
    assert without_range(server) == []


def test_missing_file_alone_costs_one_more_request_and_no_wait(tmp_path: Path):
    retry = replace(QUICK, first_wait_s=30.0, longest_wait_s=30.0)
    result, server = fetch({"/file": status("404 Not Found", 1000)}, ["file"], tmp_path, retry=retry)
    assert [failure.reason for failure in result.failures] == ["the server answered 404 Not Found"]
    assert len(server.asked) == 2
    assert result.duration_s < 5.0


def test_error_that_stays_is_tried_as_often_as_ever(tmp_path: Path):
    result, server = fetch({"/file": status("500 Oops", 1000)}, ["file"], tmp_path)
    reasons = [failure.reason for failure in result.failures]
    assert reasons == ["the server answered 500 Internal Server Error (tried 4 times)"]
    assert len(server.asked) == 4
    assert len(without_range(server)) == 1


async def drop(_asked, _writer):
    return False


def test_server_that_drops_all_requests_is_tried_as_often_as_ever(tmp_path: Path):
    result, server = fetch({"/file": drop}, ["file"], tmp_path)
    assert [failure.reason for failure in result.failures] == ["connection dropped before an answer (tried 4 times)"]
    assert len(server.asked) == 4


@pytest.mark.parametrize("line", ["503 Busy", "404 Not Found", "302 Found", None])
def test_refusal_counts_where_the_file_does_not_come_without_range(tmp_path: Path, line: str | None):
    async def answer(asked, writer):
        if "range" in asked.headers:
            writer.write(head("406 No", asked, Content_Length=0))
            return None
        if line is not None:
            writer.write(head(line, asked, Content_Length=0, Location="/login", Retry_After=100))
        return line is not None

    result, server = fetch({"/file": answer}, ["file"], tmp_path)
    assert [failure.reason for failure in result.failures] == ["the server answered 406 Not Acceptable"]
    assert len(server.asked) == 2 + (line is None)  # the first loss behind an answer is no fault


@pytest.mark.parametrize("name", ["file.bin", "file"])
def test_page_without_range_is_not_the_file(tmp_path: Path, name: str):
    page = b"<!DOCTYPE html><html><title>Please log in</title></html>"

    async def answer(asked, writer):
        if "range" in asked.headers:
            writer.write(head("404 Not Found", asked, Content_Length=0))
        else:
            writer.write(head("200 OK", asked, Content_Length=len(page), Content_Type="text/html") + page)

    result, _ = fetch({f"/{name}": answer}, [name], tmp_path)
    assert [failure.reason for failure in result.failures] == ["the server answered 404 Not Found"]
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("line", ["403 Forbidden", "500 Oops"])
@pytest.mark.parametrize("kind", ["text/plain", "application/json"])
@pytest.mark.parametrize(("name", "arrives"), [("file.bin", False), ("file", False), ("read.txt", True)])
def test_message_without_range_is_not_the_file(tmp_path: Path, line: str, kind: str, name: str, arrives: bool):
    message = b'{"detail": "sign in"}'

    async def answer(asked, writer):
        if "range" in asked.headers:
            writer.write(head(line, asked, Content_Length=0))
        else:
            writer.write(head("200 OK", asked, Content_Length=len(message), Content_Type=kind) + message)

    result, _ = fetch({f"/{name}": answer}, [name], tmp_path)
    assert (result.failures == ()) is arrives
    assert (tmp_path / name).exists() is arrives


@pytest.mark.parametrize("line", ["401 Unauthorized", "503 Busy", "429 Too Many", "423 Locked"])
def test_other_refusals_are_not_due_to_the_range(tmp_path: Path, line: str):
    _, server = reason_of_failure(status(line, 1000), tmp_path, size=len(CONTENT))
    assert without_range(server, "/file") == []


@pytest.mark.parametrize(("line", "is_final"), [("500 Oops", False), ("403 Forbidden", True)])
def test_refusal_by_a_server_that_has_sent_a_part_is_none_of_ranges(tmp_path: Path, line: str, is_final: bool):
    ordinary = plain(CONTENT)

    async def answer(asked, writer):
        if asked.nth in (2, 3):
            writer.write(head(line, asked, Content_Length=0))
            return None
        return await ordinary(asked, writer)

    async def story(server: RoughServer) -> TransferResult:
        async with server:
            return await fetch_one(server, tmp_path, size=len(CONTENT))

    server = RoughServer({"/file": answer})
    result = asyncio.run(story(server))
    assert [line in each.reason for each in result.failures] == [True] * is_final
    assert without_range(server) == []


@pytest.mark.parametrize("size", [None, len(LONG)])
def test_server_that_resets_connections_under_load_retains_its_ranges(tmp_path: Path, size: int | None):
    names = [f"f{number}" for number in range(6)]
    ordinary, open_now = plain(LONG), 0

    async def answer(asked, writer):
        nonlocal open_now
        if open_now >= 3:
            writer.transport.abort()
            return False
        open_now += 1
        try:
            await asyncio.sleep(0.02)
            return await ordinary(asked, writer)
        finally:
            open_now -= 1

    sizes = dict.fromkeys(names, size)
    answers = {f"/{name}": answer for name in names}
    result, server = fetch(answers, names, tmp_path, sizes=sizes, settings=(6, 4, 1))
    assert result.failures == ()
    assert without_range(server) == []


@pytest.mark.parametrize("line", ["403 Forbidden", "500 Oops", None])
@pytest.mark.parametrize("is_changed", [False, True])
def test_file_of_an_earlier_run_is_fetched_from_its_start(tmp_path: Path, line: str | None, is_changed: bool):
    other = bytes(reversed(LONG)) if is_changed else LONG

    async def slowly(asked, writer):
        first, last = asked.span(len(LONG))
        fields = {"Content_Length": last + 1 - first, "Content_Range": f"bytes {first}-{last}/{len(LONG)}"}
        writer.write(head("206 Partial Content", asked, ETag='"two"' if is_changed else '"one"', **fields))
        for start in range(first, last + 1, 20_000):
            writer.write(LONG[start : min(start + 20_000, last + 1)])
            await writer.drain()
            await asyncio.sleep(0.005)

    async def story() -> tuple[TransferResult, RoughServer]:
        async with RoughServer({"/file": slowly}) as server:
            jobs = jobs_for(server.url, ["file"], tmp_path)
            engine = TransferEngine(plan(1, 2), options())
            task = asyncio.create_task(engine.run(jobs))
            await until(lambda: engine.take_snapshot().moved_bytes > 1_000_000)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (tmp_path / ".file.tradewind-journal").exists()
            server.answers["/file"] = refusing(line, other)
            seen = len(server.asked)
            result = await TransferEngine(plan(1, 2), options(retry=replace(QUICK, most_tries=6))).run(jobs)
            assert "if-range" in server.asked[seen].headers
            return result, server

    result, _ = asyncio.run(story())
    assert result.failures == ()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": other}


@pytest.mark.parametrize(("line", "arrives"), [("406 No", True), ("500 Oops", True), ("403 Forbidden", False)])
def test_target_of_a_redirect_may_refuse_ranges(tmp_path: Path, line: str, arrives: bool):
    """One that refuses as an expired address does is requested by its first address again, and no further."""
    answers = {"/file": redirect("/target"), "/target": refusing(line)}
    result, server = fetch(answers, ["file"], tmp_path)
    assert (result.failures == ()) is arrives
    assert bool(without_range(server, "/target")) is arrives


def test_file_that_is_here_is_compared_without_range(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"older")
    copies(refusing("406 No"), tmp_path, CONTENT)
