"""A server that fetches files from another by COPY, as grid storage does, or refuses, fails or breaks off."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

from tests.integration.engine.servers.stream_server import RequestHead, StreamServer, read_head

MARKER = "Perf Marker\n    Timestamp: 1\n    Stripe Index: 0\n    Stripe Bytes Transferred: {}\nEnd\n"


@dataclass(frozen=True)
class CopyTurn:
    """How one COPY is answered.

    ``status`` : an error instead. ``stores`` : whether the file is there afterwards. ``last`` : the last line; without
    one the connection ends. ``content`` : what is stored in place of the file.
    """

    status: str | None = None
    stores: bool = True
    last: str | None = "success: Created\n"
    content: bytes | None = None


@dataclass(eq=False)
class GridServer(StreamServer):
    """Has the files of ``elsewhere``, by address, once it was asked to copy them.

    Attributes
    ----------
    turn : how a COPY is answered; it is called with a count.
    requests : heads of all requests.
    """

    elsewhere: dict[str, bytes]
    turn: Callable[[int], CopyTurn] = lambda _count: CopyTurn()
    offers_copy: bool = True
    files: dict[str, bytes] = field(default_factory=dict)
    requests: list[RequestHead] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def count(self, method: str) -> int:
        return sum(head.method == method for head in self.requests)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (head := await read_head(reader)) is not None:
                body = await reader.readexactly(int(head.headers.get("content-length", "0")))
                self.requests.append(head)
                if not await self._answer(head, body, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, head: RequestHead, body: bytes, writer: asyncio.StreamWriter) -> bool:
        match head.method:
            case "OPTIONS":
                offer = {"DAV": "1", "Allow": "GET, PUT, COPY"} if self.offers_copy else {"Allow": "GET, PUT"}
                writer.write(_write("200 OK", b"", **offer))
            case "HEAD" if head.target in self.files:
                fields = f"Date: {formatdate(usegmt=True)}\r\nLast-Modified: {formatdate(usegmt=True)}\r\n"
                length = len(self.files[head.target])
                writer.write(f"HTTP/1.1 200 OK\r\n{fields}Content-Length: {length}\r\n\r\n".encode())
            case "PUT":
                self.files[head.target] = body
                writer.write(_write("201 Created", b""))
            case "COPY":
                return await self._copy(head, writer)
            case _:
                writer.write(_write("404 Not Found", b""))
        await writer.drain()
        return True

    async def _copy(self, head: RequestHead, writer: asyncio.StreamWriter) -> bool:
        turn = self.turn(self.count("COPY"))
        if turn.status is not None:
            writer.write(_write(turn.status, b""))
            await writer.drain()
            return True
        content = self.elsewhere[head.headers["source"]] if turn.content is None else turn.content
        writer.write(b"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n")
        for moved_bytes in (len(content) // 2, len(content)):
            writer.write(_chunk(MARKER.format(moved_bytes)))
            await writer.drain()
        if turn.stores:
            self.files[head.target] = content
        if turn.last is None:
            return False
        writer.write(_chunk(turn.last) + b"0\r\n\r\n")
        await writer.drain()
        return True


def _chunk(text: str) -> bytes:
    return f"{len(text):x}\r\n{text}\r\n".encode()


def _write(status: str, body: bytes, **fields: Any) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{lines}\r\n".encode() + body
