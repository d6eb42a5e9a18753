"""A server that answers nothing ends its files together, and no others."""

import asyncio
import random
from pathlib import Path

from tests.integration.engine.servers.rough_server import Answer, RoughServer, plain, silent
from tests.integration.engine.transfers import jobs_for, options, plan
from tradewind_agent.engine import TransferEngine, TransferResult

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
    assert result.stopped is not None or len(result.failures) == 20
    assert all(each.is_retryable for each in result.failures)
    assert len(list(tmp_path.iterdir())) == 20
    assert len(dead.asked) < 20


def test_file_that_is_never_answered_fails_alone_where_others_are_served(tmp_path: Path):
    server = RoughServer({f"/{name}": plain(CONTENT) for name in NAMES} | {"/odd": NEVER})
    result = copy(tmp_path, server)
    reasons = [str(result.stopped)] + [each.reason for each in result.failures]
    assert sum("nothing received" in reason for reason in reasons) == 1
    assert len(list(tmp_path.iterdir())) == len(NAMES)
