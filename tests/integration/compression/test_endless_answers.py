"""Servers whose answers never end: of none is more read than anybody would say."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.integration.engine.servers.stream_server import StreamServer, read_head
from tradewind_agent.compression.file_classes import MOST_DESCRIPTION_BYTES
from tradewind_agent.compression.packed.path_probe import probe_download_line, probe_upload_line
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import fetch
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import CopyFailed, FileFault

PIECE = bytes(64 * 1024)
MOST_TAKEN = 400
"""Pieces, 25 MiB: sockets hold some that nobody has read."""


class Endless(StreamServer):
    """Tells of a file of some size, whose ranges and whose every other answer go on for ever."""

    def __init__(self) -> None:
        self.most_taken = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            head = await read_head(reader)
            if head is None:
                return
            begins = head.headers.get("range") == "bytes=0-0"
            fields = "Content-Range: bytes 0-0/5000000\r\nContent-Length: 1\r\n" if begins else ""
            writer.write(f"HTTP/1.1 206 Partial Content\r\nServer: tradewind/1\r\n{fields}\r\n".encode())
            pieces = 0
            while not begins:
                writer.write(PIECE)
                await writer.drain()
                pieces += 1
                self.most_taken = max(self.most_taken, pieces)
            writer.write(b"x")
            await writer.drain()
        writer.close()


def count_bytes_taken_by(ask: Callable[[str], object]) -> int:
    """Pieces that it got rid of on one connection."""

    async def send_request() -> int:
        async with Endless() as server:
            await asyncio.to_thread(ask, f"http://{server.address}/file")
            return server.most_taken

    return asyncio.run(asyncio.wait_for(send_request(), 60))


def test_ranges_that_go_on_end_a_probe_of_the_way_from_there() -> None:
    def ask(url: str) -> None:
        with pytest.raises(CopyFailed, match="does not come in ranges"):
            probe_download_line(url)

    assert count_bytes_taken_by(ask) < MOST_TAKEN


def test_answers_that_go_on_end_a_probe_of_the_way_there() -> None:
    def ask(url: str) -> None:
        with pytest.raises(CopyFailed, match="takes no files"):
            probe_upload_line(url)

    assert count_bytes_taken_by(ask) < MOST_TAKEN


def test_receiver_description_is_read_within_bounds() -> None:
    def ask(url: str) -> None:
        with pytest.raises(FileFault, match="an answer of more than 65536 bytes"):
            asyncio.run(fetch(Url.parse(url), EngineOptions(), {}, method="OPTIONS", most_bytes=MOST_DESCRIPTION_BYTES))

    assert count_bytes_taken_by(ask) < MOST_TAKEN
