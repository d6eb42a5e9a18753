"""Connections that begin while files are listed."""

import asyncio
from dataclasses import replace
from pathlib import Path

from tests.integration.engine.servers.rough_server import RoughServer, gated, plain
from tests.integration.engine.transfers import digests, jobs_for, options, plan, until
from tradewind.parameters import Parameters
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.engine.engine import TransferEngine
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.early_sockets import EarlySockets

CONTENT = b"0123456789" * 10
NAMES = [f"f{number}" for number in range(12)]


def test_transfer_uses_early_sockets_and_opens_only_missing_ones(tmp_path: Path):
    assert opened(tmp_path, early=4, concurrency=6) == (6, 6)


def test_those_that_the_plan_does_not_ask_for_are_closed_soon(tmp_path: Path):
    assert opened(tmp_path, early=8, concurrency=2) == (8, 2)


def opened(tmp_path: Path, *, early: int, concurrency: int) -> tuple[int, int]:
    """Connections that were made to a server, and those open once the transfer has begun."""

    async def story() -> tuple[int, int]:
        gate = asyncio.Event()
        server = RoughServer({f"/{name}": gated(gate, plain(CONTENT)) for name in NAMES})
        async with server:
            sockets = EarlySockets(early)
            await sockets.connect(Url.parse(server.url).origin)
            await until(lambda: server.open_now == early)
            engine = TransferEngine(plan(concurrency, 1, 1), replace(options(), early=sockets))
            task = asyncio.create_task(engine.run(jobs_for(server.url, NAMES, tmp_path)))
            await until(lambda: engine.take_snapshot().open_connections == concurrency == server.open_now)
            made = server.connections, server.open_now
            gate.set()
            assert (await task).succeeded
        return made

    made = asyncio.run(story())
    assert len(digests(tmp_path)) == len(NAMES)
    return made


def test_their_handshake_times_the_path():
    async def story() -> float | None:
        async with RoughServer({}) as server:
            sockets, origin = EarlySockets(2), Url.parse(server.url).origin
            await sockets.connect(origin)
            seen = await sockets.wait_for_handshake(origin)
            assert await sockets.wait_for_handshake(Url.parse("http://127.0.0.2:1/").origin) is None
            sockets.close()
        return None if seen is None else seen.min_rtt_s

    rtt_s = asyncio.run(story())
    assert rtt_s is not None
    assert 0 < rtt_s < 1


def test_nobody_listening_times_no_path():
    async def story() -> object:
        async with RoughServer({}) as server:
            origin = Url.parse(server.url).origin
        sockets = EarlySockets(2)
        await sockets.connect(origin)
        seen = await sockets.wait_for_handshake(origin)
        sockets.close()
        return seen

    assert asyncio.run(story()) is None


def test_one_that_the_server_has_closed_meanwhile_is_not_taken():
    async def story() -> bool:
        closed = asyncio.Event()

        async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()
            await writer.wait_closed()
            closed.set()

        async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            sockets = EarlySockets(1)
            await sockets.connect(Url.parse(f"http://127.0.0.1:{port}/").origin)
            await closed.wait()
            return sockets.take(Url.parse(f"http://127.0.0.1:{port}/").origin) is None

    assert asyncio.run(story())


def test_none_leads_to_a_server_that_was_not_listed_or_has_no_address():
    async def story() -> list[object]:
        sockets = EarlySockets(2)
        async with RoughServer({}) as server:
            await sockets.connect(Url.parse(server.url).origin)
            elsewhere = sockets.take(Url.parse("http://127.0.0.2:1/").origin)
        sockets.close()
        nowhere = EarlySockets(2)
        await nowhere.connect(Url.parse("http://no.such.host.invalid/").origin)
        return [elsewhere, nowhere.take(Url.parse("http://no.such.host.invalid/").origin)]

    assert asyncio.run(story()) == [None, None]


def test_no_more_begin_than_connections_are_set_by_hand():
    by_hand = CopyOptions(by_hand=Parameters(concurrency=2, parallelism=3))
    for wanted, most in ((by_hand, 6), (CopyOptions(), 16)):
        with wanted.connect_early() as connecting:
            early = connecting.engine.early
            assert early is not None
            assert early.most == most
