"""A server that answers nothing ends its files together, and no others."""

import asyncio
import random
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.engine.servers.rough_server import Answer, RoughServer, paced, plain, silent
from tests.integration.engine.transfers import QUICK, jobs_for, options, plan
from tradewind_agent.engine import TransferEngine, TransferResult
from tradewind_agent.engine.origin import limits

CONTENT = random.Random(3).randbytes(3000)
NAMES = [f"f{number:02}" for number in range(40)]
NEVER: Answer = silent(10**9, plain(CONTENT))


def copy(folder: Path, *servers: RoughServer, **changes: float) -> TransferResult:
    async def story() -> TransferResult:
        jobs = []
        for server in servers:
            await server.__aenter__()
            jobs += jobs_for(server.url, [name.removeprefix("/") for name in server.answers], folder)
        try:
            async with asyncio.timeout(30.0):
                return await TransferEngine(plan(4), options(answer_timeout_s=0.3, **changes)).run(jobs)
        finally:
            for server in servers:
                await server.__aexit__(None, None, None)

    return asyncio.run(story())


def test_dead_server_costs_some_requests_and_ends_in_one_sentence(tmp_path: Path):
    server = RoughServer({f"/{name}": NEVER for name in NAMES})
    result = copy(tmp_path, server)
    assert result.failures == ()
    assert "has answered none of the last" in str(result.stopped)
    assert "nothing received for" in str(result.stopped)
    assert len(server.asked) < len(NAMES)


def test_files_of_other_servers_arrive(tmp_path: Path):
    dead = RoughServer({f"/{name}": NEVER for name in NAMES[:20]})
    good = RoughServer({f"/{name}": plain(CONTENT) for name in NAMES[20:]})
    result = copy(tmp_path, dead, good)
    if result.stopped is None:  # the other files were still on their way
        assert [each.is_retryable for each in result.failures] == [True] * 20
    else:
        assert f"{dead.url} has answered none of the last" in str(result.stopped)
        assert result.failures == ()
    assert len(list(tmp_path.iterdir())) == 20
    assert len(dead.asked) < 20


def test_file_that_is_never_answered_fails_alone_where_others_are_served(tmp_path: Path):
    server = RoughServer({f"/{name}": plain(CONTENT) for name in NAMES} | {"/odd": NEVER})
    result = copy(tmp_path, server)
    reasons = [str(result.stopped)] + [each.reason for each in result.failures]
    assert sum("nothing received" in reason for reason in reasons) == 1
    assert len(list(tmp_path.iterdir())) == len(NAMES)


def test_file_on_its_way_arrives_though_no_other_is_answered(tmp_path: Path):
    server = RoughServer(
        {"/long": paced(CONTENT * 50, bytes_per_s=75e3, step=3000)} | {f"/{name}": NEVER for name in NAMES[:6]}
    )
    result = copy(tmp_path, server)
    assert (tmp_path / "long").read_bytes() == CONTENT * 50
    assert not [each for each in result.failures if each.url.endswith("long")]


def test_files_arrive_after_a_while_in_which_no_connection_is_made(tmp_path: Path):
    """As through a firewall that drops those in excess, or while the network is away."""

    async def story() -> TransferResult:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listening, socket.socket() as first:
            first.connect(listening.getsockname())  # the queue is full now
            server = RoughServer({f"/{name}": plain(CONTENT) for name in NAMES})
            jobs = jobs_for("http://{}:{}".format(*listening.getsockname()), NAMES, tmp_path)
            retry = replace(QUICK, most_tries=6, first_wait_s=0.1)
            copying = asyncio.create_task(
                TransferEngine(plan(4), options(connect_timeout_s=0.3, retry=retry)).run(jobs)
            )
            await asyncio.sleep(1.0)
            listening.listen(100)
            serving = await asyncio.start_server(server.serve, sock=listening.dup())
            try:
                async with asyncio.timeout(30.0):
                    return await copying
            finally:
                serving.close()

    result = asyncio.run(story())
    assert (result.failures, result.stopped) == ((), None)
    assert result.files_done == len(NAMES)


def test_server_that_takes_no_connection_ends_no_file_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "UNREACHABLE_S", 0.3)

    async def story(gone: str) -> TransferResult:
        async with RoughServer({f"/{name}": paced(CONTENT, bytes_per_s=6e3, step=300) for name in NAMES[20:]}) as good:
            jobs = jobs_for(gone, NAMES[:20], tmp_path) + jobs_for(good.url, NAMES[20:], tmp_path)
            return await TransferEngine(plan(4), options()).run(jobs)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    result = asyncio.run(story(f"http://127.0.0.1:{port}"))
    assert result.stopped is None
    assert {each.url.rpartition("/")[2] for each in result.failures} == set(NAMES[:20])
    assert result.files_done == 20
