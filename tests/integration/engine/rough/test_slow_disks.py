"""A disk that is slower than the path: files wait for it at the server, and none is opened twice."""

import asyncio
import threading

from tests.conditions import stretched
from tests.integration.engine.servers.rough_server import RoughServer, plain
from tests.integration.engine.transfers import jobs_for, options, plan, until
from tradewind_agent.engine import TransferEngine
from tradewind_agent.engine.local import publishing
from tradewind_agent.engine.local.storage import PartFile

FILES = 600
QUIET_LOOKS = 50
"""Looks, 5 ms apart, without another request: a server on the loopback answers hundreds in that time."""


def test_files_are_not_requested_while_many_wait_for_the_disk(tmp_path, monkeypatch):
    is_free, reopened = threading.Event(), []
    publish, reopen = publishing.publish_together, PartFile._reopen

    def publish_later(*given, **named):
        assert is_free.wait(stretched(20.0))
        return publish(*given, **named)

    monkeypatch.setattr(publishing, "publish_together", publish_later)
    monkeypatch.setattr(PartFile, "_reopen", lambda part, state: reopened.append(part) or reopen(part, state))

    async def story():
        names = [f"f{number:03}" for number in range(FILES)]
        async with RoughServer({f"/{name}": plain(name.encode()) for name in names}) as server:
            jobs = jobs_for(server.url, names, tmp_path, dict.fromkeys(names, 4))
            running = asyncio.create_task(TransferEngine(plan(4, 1, 8), options()).run(jobs))
            seen = []  # how many were asked for, look after look

            def is_quiet():
                seen.append(len(server.asked))
                return seen[-1] >= 64 and seen[-QUIET_LOOKS:] == [seen[-1]] * QUIET_LOOKS

            await until(is_quiet)
            is_free.set()
            return seen[-1], await running

    requested, result = asyncio.run(story())
    assert requested < FILES / 2
    assert result.files_done == FILES
    assert reopened == []
