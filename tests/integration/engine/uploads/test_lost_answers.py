"""Uploads in parts whose answers are lost: what the server has is asked, and not guessed."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.integration.engine.servers.store import Store
from tests.integration.engine.servers.stream_server import StreamServer, read_head
from tests.integration.engine.transfers import options, plan
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.copy.run import copy_files
from tradewind_agent.engine import TransferEngine, TransferResult, Url, list_uploads

CONTENT = bytes(range(256)) * 4_000


@dataclass(eq=False)
class Receiver(StreamServer):
    """Takes parts, and loses the answer to the first one; ``knows_parts`` : it tells what it has received.

    ``requests`` : the methods, with the range of a part.
    """

    knows_parts: bool = True
    requests: list[str] = field(default_factory=list)
    received: bytearray = field(default_factory=lambda: bytearray(len(CONTENT)))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (head := await read_head(reader)) is not None:
                body = await reader.readexactly(int(head.headers.get("content-length", "0")))
                part = head.headers.get("content-range", "")
                self.requests.append(f"{head.method} {part}".strip())
                if head.method == "HEAD":
                    writer.write(self._describe().encode())
                    continue
                first = int(part.removeprefix("bytes ").partition("-")[0] or 0)
                self.received[first : first + len(body)] = body
                if sum(each.startswith("PUT") for each in self.requests) == 1:
                    break
                writer.write(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _describe(self) -> str:
        server = "Server: tradewind\r\n" if self.requests == ["HEAD"] or self.knows_parts else ""
        if self.received == CONTENT and self.knows_parts:
            return f"HTTP/1.1 204 No Content\r\n{server}tradewind-complete: true\r\n\r\n"
        return f"HTTP/1.1 404 Not Found\r\n{server}Content-Length: 0\r\n\r\n"


@pytest.mark.parametrize("knows_parts", [True, False])
def test_answer_to_one_part_that_speaks_of_the_file_is_not_taken_for_a_failure(tmp_path: Path, knows_parts: bool):
    (tmp_path / "file").write_bytes(CONTENT)
    server = Receiver(knows_parts=knows_parts)

    async def story() -> TransferResult:
        async with server, asyncio.timeout(30.0):
            jobs = list_uploads([tmp_path / "file"], Url.parse(f"http://{server.address}/file")).jobs
            return await TransferEngine(plan(1, 2), options()).run(jobs)

    result = asyncio.run(story())
    assert result.failures == ()
    assert bytes(server.received) == CONTENT
    assert ("PUT" in server.requests) is not knows_parts


def test_older_file_of_a_server_that_calls_all_files_new_is_not_taken_for_the_one_sent(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"new")
    losses = iter([True])
    store = Store(silent=1, folders={"/", "/up/"}, files={"/up/file": b"old"})
    store.keep = lambda path, body: store.files[path] if next(losses, False) else body

    async def story() -> CopyReport:
        async with store, asyncio.timeout(30.0):
            return await asyncio.to_thread(copy_files, [str(tmp_path / "file")], f"{store.url}/up/file")

    report = asyncio.run(story())
    assert report.failures == ()
    assert store.files == {"/up/file": b"new"}
