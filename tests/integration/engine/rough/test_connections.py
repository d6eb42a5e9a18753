"""Servers that are silent, close, forget or are away, and how many connections there are."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.engine.fetching import CONTENT, SMALL, copies, reason_of_failure
from tests.integration.engine.servers.rough_server import RoughServer, gated, plain, silent, status
from tests.integration.engine.transfers import QUICK, digests, jobs_for, options, plan, until
from tradewind_agent.engine import RetryPolicy, TransferEngine, TransferResult
from tradewind_agent.engine.origin import limits


def test_silent_server_is_retried_after_idle_timeout(tmp_path: Path):
    _, server = copies(silent(1, plain(SMALL)), tmp_path, SMALL, idle_timeout_s=0.2)
    assert len(server.asked) == 2


def test_a_server_that_is_always_silent_fails_within_bounds(tmp_path: Path):
    reason, _ = reason_of_failure(silent(10**6, plain(SMALL)), tmp_path, idle_timeout_s=0.1)
    assert reason == "nothing received for 0.1 s (tried 4 times)"


def test_a_connection_that_stalls_near_the_end_keeps_few_files_from_the_others(tmp_path: Path):
    content, names, pipelines = b"x" * 100_000, [f"f{number:02d}" for number in range(24)], 4
    even_share = len(names) // pipelines

    async def story() -> TransferResult:
        others_done, answered = asyncio.Event(), 0

        async def prompt(asked, writer):
            nonlocal answered
            await plain(content)(asked, writer)
            answered += 1
            if answered > len(names) - even_share:  # more than those that it could not have been left with
                others_done.set()

        async def stalled(asked, writer):
            await others_done.wait()
            await plain(content)(asked, writer)

        answers = {f"/{name}": prompt for name in names} | {"/f00": stalled}
        async with RoughServer(answers) as server, asyncio.timeout(20.0):
            jobs = [replace(job, size_bytes=len(content)) for job in jobs_for(server.url, names, tmp_path)]
            return await TransferEngine(plan(pipelines, 1, len(names)), options()).run(jobs)

    assert asyncio.run(story()).files_done == len(names)


@pytest.mark.parametrize("says_so", [True, False])
def test_a_server_that_closes_after_every_answer_still_gives_everything(tmp_path: Path, says_so: bool):
    async def story() -> None:
        names = [f"f{number}" for number in range(40)]
        server = RoughServer({f"/{name}": plain(SMALL) for name in names}, requests_per_connection=1, says_so=says_so)
        async with server:
            result = await TransferEngine(plan(3, 1, 8), options()).run(jobs_for(server.url, names, tmp_path))
        assert result.failures == ()

    asyncio.run(story())
    assert len(digests(tmp_path)) == 40
    assert len(set(digests(tmp_path).values())) == 1


def test_nobody_listening_fails_in_one_line(tmp_path: Path):
    async def story() -> TransferResult:
        async with RoughServer({}) as server:
            gone = server.url
        return await TransferEngine(plan(2, 2), options()).run(jobs_for(gone, ["a", "b"], tmp_path))

    result = asyncio.run(story())
    assert len(result.failures) == 2
    assert all(failure.reason.startswith("cannot connect to 127.0.0.1:") for failure in result.failures)


def test_a_server_that_is_gone_ends_the_copy_with_files_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "UNREACHABLE_S", 0.3)
    names = [f"f{number:03d}" for number in range(300)]

    async def story() -> TransferResult:
        server = RoughServer({f"/{name}": gated(asyncio.Event(), plain(SMALL)) for name in names})
        async with server:
            as_shipped = RetryPolicy(first_wait_s=0.05, longest_wait_s=0.1)
            engine = TransferEngine(plan(2), options(retry=as_shipped))
            task = asyncio.create_task(engine.run(jobs_for(server.url, names, tmp_path)))
            await until(lambda: len(server.asked) >= 2)
        async with asyncio.timeout(30.0):
            return await task

    result = asyncio.run(story())
    assert str(result.stopped).startswith("cannot connect to 127.0.0.1:")
    assert result.stopped.retryable
    assert len(result.failures) < len(names)


def test_a_short_outage_fails_no_file(tmp_path: Path):
    async def story() -> TransferResult:
        answered = 0

        async def answer(asked, writer):
            nonlocal answered
            answered += 1
            overloaded = answered <= 25
            return await (status("503 Service Unavailable", 10**6) if overloaded else plain(SMALL))(asked, writer)

        names = [f"f{number}" for number in range(60)]
        async with RoughServer(dict.fromkeys((f"/{name}" for name in names), answer)) as server:
            as_shipped = replace(QUICK, most_tries=RetryPolicy().most_tries)
            engine = TransferEngine(plan(8, 1, 1), options(retry=as_shipped))
            return await engine.run(jobs_for(server.url, names, tmp_path))

    assert asyncio.run(story()).failures == ()


def test_server_that_drops_pipelined_requests_gets_one_at_a_time(tmp_path: Path):
    async def forgetful(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the first request of whatever has arrived and throws the rest away."""
        try:
            while await reader.read(65536):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndata")
        finally:
            writer.transport.abort()

    async def story() -> TransferResult:
        server = await asyncio.start_server(forgetful, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        names = [f"f{number}" for number in range(10)]
        engine = TransferEngine(plan(1, 1, 5), options(idle_timeout_s=0.2))
        result = await engine.run(jobs_for(url, names, tmp_path, dict.fromkeys(names, 4)))
        server.close()
        await server.wait_closed()
        return result

    assert asyncio.run(story()).files_done == 10


def test_files_of_several_servers_share_the_channels(tmp_path: Path):
    async def story() -> int:
        one = RoughServer({f"/a{number}": plain(SMALL) for number in range(20)})
        two = RoughServer({f"/b{number}": plain(SMALL) for number in range(20)})
        async with one, two:
            jobs = [
                job
                for number in range(20)
                for server, name in ((one, f"a{number}"), (two, f"b{number}"))
                for job in jobs_for(server.url, [name], tmp_path)
            ]
            assert (await TransferEngine(plan(3, 1, 4), options()).run(jobs)).files_done == 40
            return one.connections + two.connections

    connections = asyncio.run(story())
    assert len(digests(tmp_path)) == 40
    assert connections <= 6


def test_connections_are_exactly_concurrency_times_parallelism(tmp_path: Path):
    async def story() -> RoughServer:
        gate = asyncio.Event()
        names = [f"f{number}" for number in range(12)]
        server = RoughServer({f"/{name}": gated(gate, plain(CONTENT)) for name in names})
        async with server:
            sizes = dict.fromkeys(names, len(CONTENT))
            engine = TransferEngine(plan(3, 4, 2), options())
            task = asyncio.create_task(engine.run(jobs_for(server.url, names, tmp_path, sizes)))
            await until(lambda: engine.take_snapshot().open_connections == 12)
            gate.set()
            assert (await task).succeeded
        return server

    server = asyncio.run(story())
    assert (server.most_open, server.connections) == (12, 12)


def test_failure_says_whether_another_run_may_move_the_file(tmp_path: Path):
    async def story() -> tuple[TransferResult, TransferResult]:
        async with RoughServer({}) as server:
            missing = await TransferEngine(plan(1), options()).run(jobs_for(server.url, ["f"], tmp_path))
        gone = await TransferEngine(plan(1), options()).run(jobs_for(server.url, ["f"], tmp_path))
        return missing, gone

    missing, gone = asyncio.run(story())
    assert [each.is_retryable for each in (*missing.failures, *gone.failures)] == [False, True]
