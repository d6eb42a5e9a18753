"""Connections of servers that behave as drawn."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from typing import Self

from benchmarks.fuzz.behaviour import Behaviour, Framing, Pipelining

MOST_HEAD_BYTES = 65_536
COLLECT_S = 0.003
"""How long a server that mixes requests waits for one more to mix."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request with its body; names of fields in lower case."""

    method: str
    target: str
    fields: Mapping[str, str]
    body: bytes = b""


class RandomServer(ABC):
    """A server on the loopback while it is entered.

    Attributes
    ----------
    address : host and port.
    requests : answered or dropped so far.
    """

    address: str

    def __init__(self, behaviour: Behaviour, draw: Random) -> None:
        self.behaviour = behaviour
        self.draw = draw
        self.requests = 0
        self._connections = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @abstractmethod
    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Answer a request that is neither refused nor dropped; return whether the connection goes on."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=MOST_HEAD_BYTES)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        most = self.behaviour.most_connections
        is_refused = most is not None and self._connections > most
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                if is_refused:
                    await self._refuse(reader, writer)
                else:
                    await self._answer_requests(reader, writer)
        finally:
            self._connections -= 1
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _refuse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.behaviour.refusal:
            await _read_body(reader, await _read_head(reader))
            writer.write(make_head(self.behaviour.refusal, {"Content-Length": "0", "Connection": "close"}))
            await writer.drain()

    async def _answer_requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests as they come, those that came together in the way of this server."""
        answered = 0
        while self.behaviour.most_requests is None or answered < self.behaviour.most_requests:
            together = await self._collect(reader)
            is_closing = self.behaviour.pipelining is Pipelining.CLOSED and len(together) > 1
            if self.behaviour.pipelining is Pipelining.REVERSED:
                together.reverse()
            elif self.behaviour.pipelining in (Pipelining.FORGOTTEN, Pipelining.CLOSED):
                del together[1:]
            for request in together:
                if not await self._answer(request, writer):
                    return
                answered += 1
            if is_closing:
                return

    async def _collect(self, reader: asyncio.StreamReader) -> list[Request]:
        """Return the next request; with those that came behind it where the server does not answer in order."""
        found = [await _read_body(reader, await _read_head(reader))]
        while self.behaviour.pipelining is not Pipelining.IN_ORDER:
            try:
                async with asyncio.timeout(COLLECT_S):
                    request = await _read_head(reader)
                found.append(await _read_body(reader, request))
            except TimeoutError:
                break
        return found

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection goes on."""
        self.requests += 1
        if self.behaviour.delay_s:
            await asyncio.sleep(self.behaviour.delay_s)
        if self.draw.random() < self.behaviour.dropped:
            return False
        status, failing = self.behaviour.failing
        if self.draw.random() < failing:
            return await send(writer, make_head(status, {"Content-Length": "0"}))
        return await self.answer(request, writer)


async def send(writer: asyncio.StreamWriter, data: bytes, *, ends: bool = False) -> bool:
    """Send an answer, or the last one of a connection; return whether it goes on."""
    writer.write(data)
    await writer.drain()
    return not ends


def make_head(status: int, fields: Mapping[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} As drawn\r\n{lines}\r\n".encode()


async def _read_head(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    pairs = (line.partition(":") for line in lines)
    method, target, _ = first.split(" ")
    return Request(method, target, {name.lower(): value.strip() for name, _, value in pairs})


async def _read_body(reader: asyncio.StreamReader, request: Request) -> Request:
    if request.fields.get("transfer-encoding") == "chunked":
        return replace(request, body=await _read_chunks(reader))
    length = int(request.fields.get("content-length", "0"))
    return replace(request, body=await reader.readexactly(length)) if length else request


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    chunks = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        chunks.append((await reader.readexactly(size + 2))[:-2])
    await reader.readuntil(b"\r\n")
    return b"".join(chunks)


def frame_answer(
    status: int, fields: Mapping[str, str], body: bytes, framing: Framing, *, sent_bytes: int | None = None
) -> bytes:
    """Return an answer, or its beginning with ``sent_bytes`` of the body."""
    sent = body if sent_bytes is None else body[:sent_bytes]
    if framing is Framing.LENGTH:
        return make_head(status, {**fields, "Content-Length": str(len(body))}) + sent
    if framing is Framing.UNTIL_CLOSE:
        return make_head(status, {**fields, "Connection": "close"}) + sent
    end = b"0\r\n\r\n" if sent_bytes is None else b""
    return make_head(status, {**fields, "Transfer-Encoding": "chunked"}) + frame_chunks(sent, 1000) + end


def frame_chunks(data: bytes, chunk_bytes: int) -> bytes:
    """Return ``data`` in chunks, without the end."""
    pieces = (data[start : start + chunk_bytes] for start in range(0, len(data), chunk_bytes))
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)


def parse_chunks(data: bytes) -> bytes | None:
    """Return the body that ``data`` holds in chunks; ``None`` where its end is missing."""
    found: list[bytes] = []
    rest = data
    while True:
        size_line, separator, rest = rest.partition(b"\r\n")
        if not separator:
            return None
        size = int(size_line, 16)
        if not size:
            return b"".join(found)
        if len(rest) < size + 2:
            return None
        found.append(rest[:size])
        rest = rest[size + 2 :]
