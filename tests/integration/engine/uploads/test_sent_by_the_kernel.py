"""Large bodies that the kernel sends out of their files, and what may happen meanwhile."""

import asyncio
import errno
import os
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.integration.engine.transfers import options, plan, until
from tradewind_agent.engine import TransferEngine, TransferResult, Url, list_uploads

CONTENT = random.Random(17).randbytes(24_000_000)
"""More than the buffers of two sockets of this host hold."""

STORED = b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "file.bin"
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def sendfile_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What each call of sendfile has sent."""
    calls: list[int] = []
    real = os.sendfile

    def count(out_fd: int, in_fd: int, offset: int, count: int) -> int:
        calls.append(real(out_fd, in_fd, offset, count))
        return calls[-1]

    monkeypatch.setattr(os, "sendfile", count)
    return calls


def count_open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


class Receiver:
    """Takes one upload: some bytes, then ``in_between``, then the rest, then ``before_answer``."""

    def __init__(
        self,
        in_between: Callable[[], Awaitable[None]] | None = None,
        before_answer: Callable[[], None] = lambda: None,
        early_answer: bytes = b"",
    ) -> None:
        self.body = bytearray()
        self.uploads = 0
        self._in_between, self._before_answer, self._early_answer = in_between, before_answer, early_answer

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (await reader.readuntil(b"\r\n\r\n")).startswith(b"HEAD"):
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            self.uploads += 1
            self.body.clear()
            self.body += await reader.readexactly(100_000)
            if self._early_answer:
                writer.write(self._early_answer)
                await asyncio.sleep(3600)  # never reads on
            if self._in_between is not None:
                await self._in_between()
            while len(self.body) < len(CONTENT) and (block := await reader.read(1 << 20)):
                self.body += block
            if len(self.body) == len(CONTENT):
                self._before_answer()
                writer.write(STORED)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        writer.close()


async def send_to(receiver: Receiver, source: Path, **changes: object) -> TransferResult:
    async with await asyncio.start_server(receiver.take, "127.0.0.1", 0) as server:
        url = Url.parse(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/f")
        engine = TransferEngine(plan(1), options(**changes))
        return await asyncio.wait_for(engine.run(list_uploads([source], url).jobs), 60)


def test_a_large_body_leaves_by_few_calls_of_sendfile(source: Path, sendfile_calls: list[int]):
    receiver = Receiver()
    result = asyncio.run(send_to(receiver, source))
    assert result.succeeded
    assert result.bytes_moved == len(CONTENT)
    assert receiver.body == CONTENT
    assert sum(sendfile_calls) > 0.99 * len(CONTENT)


def test_a_rate_limit_holds_by_reading_smaller_parts(source: Path, sendfile_calls: list[int]):
    receiver = Receiver()
    assert asyncio.run(send_to(receiver, source, rate_bytes_per_s=100e6)).succeeded
    assert receiver.body == CONTENT
    assert sendfile_calls == []


def test_a_limit_that_is_set_meanwhile_holds_from_the_next_block_on(source: Path, sendfile_calls: list[int]):
    engine = TransferEngine(plan(1), options())

    async def limit() -> None:
        engine.limit_rate(200e6)
        sendfile_calls.clear()

    receiver = Receiver(limit)

    async def story() -> TransferResult:
        async with await asyncio.start_server(receiver.take, "127.0.0.1", 0) as server:
            url = Url.parse(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/f")
            return await asyncio.wait_for(engine.run(list_uploads([source], url).jobs), 60)

    assert asyncio.run(story()).succeeded
    assert receiver.body == CONTENT
    assert sendfile_calls == []


def test_a_file_system_without_sendfile_is_read(source: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: int) -> int:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "sendfile", refuse)
    receiver = Receiver()
    assert asyncio.run(send_to(receiver, source)).succeeded
    assert receiver.body == CONTENT


def test_a_file_that_changes_in_the_middle_never_arrives_in_full(source: Path, sendfile_calls: list[int]):
    async def change() -> None:
        with source.open("r+b") as file:
            file.write(b"other")

    receiver = Receiver(change)
    (failure,) = asyncio.run(send_to(receiver, source)).failures
    assert "changed while it was sent" in failure.reason
    assert len(receiver.body) < len(CONTENT)
    assert sendfile_calls


def test_a_file_that_becomes_shorter_in_the_middle_is_an_error(source: Path, sendfile_calls: list[int]):
    async def cut() -> None:
        os.truncate(source, 1_000_000)

    receiver = Receiver(cut)
    (failure,) = asyncio.run(send_to(receiver, source)).failures
    assert "while it was sent" in failure.reason
    assert len(receiver.body) < len(CONTENT)
    assert sendfile_calls


def test_a_file_that_changes_behind_its_last_byte_is_an_error(source: Path):
    """The kernel sends its pages as they are when the socket's turn comes, later than they were checked."""

    def change() -> None:
        with source.open("r+b") as file:
            file.write(b"other")

    (failure,) = asyncio.run(send_to(Receiver(before_answer=change), source)).failures
    assert "changed while it was sent" in failure.reason


def test_a_refusal_in_the_middle_of_a_body_is_read_although_nothing_is_taken(source: Path, sendfile_calls: list[int]):
    refusal = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    (failure,) = asyncio.run(send_to(Receiver(early_answer=refusal), source)).failures
    assert "the server answered 413" in failure.reason
    assert sum(sendfile_calls) < len(CONTENT)


def test_a_receiver_that_takes_nothing_is_given_up(source: Path):
    async def stall() -> None:
        await asyncio.sleep(3600)

    retry_once = options().limit_for_questions().retry
    (failure,) = asyncio.run(send_to(Receiver(stall), source, idle_timeout_s=0.3, retry=retry_once)).failures
    assert "nothing received for 0.3 s" in failure.reason


def test_a_cancelled_upload_leaves_no_open_socket(source: Path):
    async def story() -> None:
        async def stall() -> None:
            await asyncio.sleep(3600)

        receiver = Receiver(stall)
        async with await asyncio.start_server(receiver.take, "127.0.0.1", 0) as server:
            open_before = count_open_files()
            url = Url.parse(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/f")
            engine = TransferEngine(plan(1), options())
            task = asyncio.create_task(engine.run(list_uploads([source], url).jobs))
            await until(lambda: receiver.uploads == 1 and engine.take_snapshot().moved_bytes > 0)
            task.cancel()
            await asyncio.wait([task])
            # One is the receiver's, which has not looked yet.
            assert count_open_files() <= open_before + 1

    asyncio.run(story())
