"""Concurrency, parallelism, pipelining and I/O block change while bytes flow; nothing received is lost."""

import asyncio
import random
import re
from hashlib import sha256
from pathlib import Path

from tests.integration.engine.servers.rough_server import RoughRequest, RoughServer, paced, plain
from tests.integration.engine.transfers import digests, jobs_for, options, plan, until
from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.engine import TransferEngine
from tradewind_agent.engine.file_transfer import FileTransfer
from tradewind_agent.engine.jobs import Job
from tradewind_agent.engine.plain_transfer import make_plain_transfer
from tradewind_agent.engine.transfer_host import TransferHost

LARGE = random.Random(9).randbytes(3_000_000)
BODY = bytes(100)
SMALL = LARGE[:20_000]


def test_raising_opens_connections_and_lowering_retires_them(tmp_path: Path):
    names = [f"f{number}" for number in range(10)]

    async def story() -> None:
        server = RoughServer({f"/{name}": paced(LARGE) for name in names})
        async with server:
            engine = TransferEngine(plan(2), options())
            task = asyncio.create_task(
                engine.run(jobs_for(server.url, names, tmp_path, dict.fromkeys(names, len(LARGE))))
            )
            await until(lambda: server.open_now == 2)
            engine.retune(plan(2, 3))
            await until(lambda: server.open_now == 6)
            engine.retune(plan(5, 2, 2, 8192))
            await until(lambda: server.open_now == 10)
            assert engine.take_snapshot().chunks[0].parameters == plan(5, 2, 2, 8192)[0].parameters
            engine.retune(plan(1, 2))
            await until(lambda: server.open_now == 2)
            assert not task.done()
            engine.retune(plan(10))
            result = await task
        assert result.failures == ()
        assert result.bytes_moved == len(names) * len(LARGE)
        assert server.most_open == 10

    asyncio.run(story())
    assert len(digests(tmp_path)) == len(names)
    assert set(digests(tmp_path).values()) == {sha256(LARGE).hexdigest()}


class Withholding(asyncio.Protocol):
    """Counts requests for files of 4 bytes on a connection, and answers them when told."""

    def __init__(self, connections: list["Withholding"]) -> None:
        connections.append(self)
        self.requests = 0
        self.answered = 0
        self.most_unanswered = 0
        self._unanswered: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._unanswered += data.split(b"\r\n\r\n")[:-1]
        self.requests += data.count(b"\r\n\r\n")
        self.most_unanswered = max(self.most_unanswered, self.requests - self.answered)

    def answer(self, count: int) -> None:
        for request in self._unanswered[:count]:
            body, status = BODY, b"200 OK"
            if (wanted := re.search(rb"Range: bytes=(\d+)-(\d+)", request)) is not None:
                first, last = int(wanted[1]), min(int(wanted[2]), len(body) - 1)
                status = b"206 Partial Content\r\nContent-Range: bytes %d-%d/%d" % (first, last, len(body))
                body = body[first : last + 1]
            fields = b'\r\nETag: "one"\r\nContent-Length: %d\r\n\r\n' % len(body)
            self.transport.write(b"HTTP/1.1 " + status + fields + body)
        del self._unanswered[:count]
        self.answered += count


def test_pipelining_depth_is_used_once_server_has_proved_it(tmp_path: Path):
    async def story() -> None:
        connections: list[Withholding] = []
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Withholding(connections), "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        names = [f"f{number}" for number in range(90)]
        engine = TransferEngine(plan(2, 1, 8), options())
        task = asyncio.create_task(engine.run(jobs_for(url, names, tmp_path, dict.fromkeys(names, len(BODY)))))
        await until(lambda: [each.requests for each in connections] == [2, 2])
        for each in connections:
            each.answer(2)
        await until(lambda: [each.requests for each in connections] == [10, 10])
        for each in connections:
            each.answer(8)
        await until(lambda: [each.requests - each.answered for each in connections] == [8, 8])
        engine.retune(plan(2, 1, 3))
        connections[0].answer(7)
        await until(lambda: connections[0].requests - connections[0].answered == 3)
        engine.retune(plan(2, 1, 12))
        while connections[0].most_unanswered < 12:
            for each in connections:
                each.answer(each.requests - each.answered)
            await asyncio.sleep(0)
        await until(lambda: [each.requests - each.answered for each in connections] == [12, 12])
        assert max(each.most_unanswered for each in connections) == 12
        while not task.done():
            for each in connections:
                each.answer(each.requests - each.answered)
            await asyncio.sleep(0)
        assert (await task).files_done == 90
        server.close()
        await server.wait_closed()

    asyncio.run(story())


def three_chunks(small: Parameters, large: Parameters) -> list[ChunkPlan]:
    return [ChunkPlan(ChunkKind.SMALL, 100_000, small), ChunkPlan(ChunkKind.LARGE, None, large)]


def test_channels_of_a_finished_chunk_go_to_the_others(tmp_path: Path):
    small_names = [f"s{number}" for number in range(20)]
    large_names = [f"l{number}" for number in range(6)]
    sizes = dict.fromkeys(small_names, len(SMALL)) | dict.fromkeys(large_names, len(LARGE))

    async def story() -> None:
        answers = {f"/{name}": plain(SMALL) for name in small_names} | {
            f"/{name}": paced(LARGE) for name in large_names
        }
        async with RoughServer(answers) as server:
            settings = three_chunks(
                Parameters(concurrency=4, parallelism=1, pipelining=4), Parameters(concurrency=1, parallelism=2)
            )
            engine = TransferEngine(settings, options())
            task = asyncio.create_task(engine.run(jobs_for(server.url, sizes, tmp_path, sizes)))
            await until(lambda: engine.take_snapshot().chunks[0].files_done == len(small_names))
            # Four streams freed are two more channels of two streams.
            await until(lambda: engine.take_snapshot().chunks[1].parameters.concurrency == 3)
            await until(lambda: engine.take_snapshot().open_connections == 6)
            assert (await task).files_done == 26
            assert server.most_open == 6

    asyncio.run(story())


def test_chunks_of_a_plan_may_come_and_go(tmp_path: Path):
    sizes = {f"l{number}": len(LARGE) for number in range(6)} | {f"s{number}": len(SMALL) for number in range(6)}

    async def story() -> None:
        answers = {f"/{name}": paced(LARGE if name.startswith("l") else SMALL) for name in sizes}
        async with RoughServer(answers) as server:
            engine = TransferEngine(plan(2), options())
            task = asyncio.create_task(engine.run(jobs_for(server.url, sizes, tmp_path, sizes)))
            await until(lambda: server.open_now == 2)
            engine.retune(three_chunks(Parameters(concurrency=2), Parameters(concurrency=2)))
            await until(lambda: server.open_now == 4)
            engine.retune(plan(3))
            result = await task
            assert (result.files_done, result.failures) == (12, ())
            assert result.bytes_moved == sum(sizes.values())
            assert server.most_open <= 4

    asyncio.run(story())


def test_connections_in_excess_are_closed_though_their_answers_would_take_longer(tmp_path: Path):
    names = [f"f{number}" for number in range(4)]

    async def story() -> None:
        server = RoughServer({f"/{name}": paced(LARGE, bytes_per_s=6e5) for name in names})
        async with server:
            engine = TransferEngine(plan(4), options())
            task = asyncio.create_task(
                engine.run(jobs_for(server.url, names, tmp_path, dict.fromkeys(names, len(LARGE))))
            )
            await until(lambda: engine.take_snapshot().moved_bytes > 1_000_000)
            engine.retune(plan(1))
            await until(lambda: server.open_now == 1)
            before = engine.take_snapshot()
            assert before.moved_bytes < len(names) * len(LARGE)
            engine.retune(plan(4))
            result = await task
        assert result.failures == ()
        assert result.bytes_moved == len(names) * len(LARGE)

    asyncio.run(story())
    assert set(digests(tmp_path).values()) == {sha256(LARGE).hexdigest()}


def test_file_that_failed_in_the_queue_is_not_taken_up_by_another_plan(tmp_path: Path):
    names = [f"f{number}" for number in range(3)]

    async def story() -> None:
        async with RoughServer({f"/{name}": paced(LARGE) for name in names}) as server, asyncio.timeout(20.0):
            made: list[FileTransfer] = []

            def make(job: Job, host: TransferHost) -> FileTransfer:
                made.append(make_plain_transfer(job, host))
                return made[-1]

            engine = TransferEngine(plan(1), options(), make)
            jobs = jobs_for(server.url, names, tmp_path, dict.fromkeys(names, len(LARGE)))
            task = asyncio.create_task(engine.run(jobs))
            await until(lambda: server.open_now == 1)
            made[-1].give_up("another of its requests has failed")
            engine.retune(plan(2))
            result = await task
        assert (result.files_done, len(result.failures)) == (2, 1)

    asyncio.run(story())


def test_connections_without_a_file_help_with_the_last_one_and_are_never_more_than_planned(tmp_path: Path):
    last = random.Random(10).randbytes(20_000_000)
    at_once, most = 0, 0

    async def answer_last(request: RoughRequest, writer: asyncio.StreamWriter) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.3)  # the other file is long done
        await plain(last)(request, writer)
        at_once -= 1

    async def story() -> None:
        server = RoughServer({"/first": plain(LARGE), "/last": answer_last})
        async with server:
            engine = TransferEngine(plan(2, 2), options())
            sizes = {"first": len(LARGE), "last": len(last)}
            result = await engine.run(jobs_for(server.url, ["first", "last"], tmp_path, sizes))
        assert result.failures == ()
        assert (server.most_open, most) == (4, 4)

    asyncio.run(story())
    assert digests(tmp_path)["last"] == sha256(last).hexdigest()
