"""Servers of files that behave as drawn: well or badly, but never so that nobody could tell.

A server may cut bodies, forget pipelined requests or change a file between two ranges. It does not do what no client
can notice, such as giving two versions one strong ETag, or ending a body early whose length nobody knows.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Self

from benchmarks.fuzz.served_files import ServedFile

MOST_HEAD_BYTES = 65_536
COLLECT_S = 0.003
"""How long a server that mixes requests waits for one more to mix."""


class Ranges(Enum):
    HONOURED = "206 with the bytes asked for"
    IGNORED = "200 with all of them"
    SHORT = "206 with fewer bytes than asked for"
    SHIFTED = "206 with bytes from elsewhere, which it says"
    REFUSED = "416"


class Pipelining(Enum):
    IN_ORDER = "every request is answered, in order"
    FORGOTTEN = "requests behind the first are forgotten"
    REVERSED = "answers come in the opposite order"
    CLOSED = "the connection ends after the first answer"


class Framing(Enum):
    LENGTH = "Content-Length"
    CHUNKED = "chunks"
    UNTIL_CLOSE = "the end of the connection"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a server behaves; chances are of each request.

    ``cut``, ``dropped`` : that a body ends early, that the connection ends before the answer.
    ``failing`` : the status that a request gets instead of an answer, and its chance.
    ``most_connections`` : beyond them connections get ``refusal``, a status, or are closed (0).
    ``most_requests`` : after them a connection is closed.
    ``redirects`` : each file is behind a redirect, whose target is good for ``target_uses`` requests.
    """

    ranges: Ranges
    pipelining: Pipelining
    framing: Framing
    cut: float
    dropped: float
    failing: tuple[int, float]
    most_connections: int | None
    refusal: int
    most_requests: int | None
    delay_s: float
    redirects: bool
    target_uses: int

    @classmethod
    def draw(cls, draw: Random) -> Self:
        """Draw a behaviour: a third of all servers do nothing wrong."""
        is_calm = draw.random() < 1 / 3
        chance = 0.0 if is_calm else draw.choice([0.0, 0.02, 0.1, 0.3])
        odd_ranges = [Ranges.HONOURED, Ranges.IGNORED] if is_calm else list(Ranges)
        odd_pipelining = [Pipelining.IN_ORDER] if is_calm else list(Pipelining)
        return cls(
            ranges=draw.choice([Ranges.HONOURED, *odd_ranges]),
            pipelining=draw.choice([Pipelining.IN_ORDER, *odd_pipelining]),
            framing=draw.choice([Framing.LENGTH, Framing.LENGTH, Framing.CHUNKED, Framing.UNTIL_CLOSE]),
            cut=draw.choice([0.0, chance]),
            dropped=draw.choice([0.0, chance]),
            failing=(draw.choice([403, 404, 429, 500, 503]), draw.choice([0.0, chance])),
            most_connections=None if is_calm else draw.choice([None, None, 1, 2, 3]),
            refusal=draw.choice([0, 403, 429, 503]),
            most_requests=draw.choice([None, None, 1, 2, 5]),
            delay_s=draw.choice([0.0, 0.0, 0.001, 0.005]),
            redirects=draw.random() < 1 / 4,
            target_uses=draw.choice([1, 2, 1000]),
        )

    @property
    def is_calm(self) -> bool:
        """Return whether every file of it can be fetched without a retry."""
        return (
            self.cut == self.dropped == self.failing[1] == 0
            and self.most_connections is None
            and self.ranges in (Ranges.HONOURED, Ranges.IGNORED)
            and self.pipelining is Pipelining.IN_ORDER
            and (not self.redirects or self.target_uses >= 1000)
        )


@dataclass(frozen=True, slots=True)
class _Request:
    target: str
    fields: Mapping[str, str]


@dataclass
class RandomServer:
    """A server on the loopback while it is entered; ``address`` is its host and port."""

    behaviour: Behaviour
    files: Mapping[str, ServedFile]
    draw: Random
    address: str = ""
    _connections: int = 0
    _uses: dict[str, int] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

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
            await _read_request(reader)
            writer.write(_make_head(self.behaviour.refusal, {"Content-Length": "0", "Connection": "close"}))
            await writer.drain()

    async def _answer_requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests as they come, those that came together in the way of this server."""
        answered = 0
        while self.behaviour.most_requests is None or answered < self.behaviour.most_requests:
            together = await self._collect(reader)
            if self.behaviour.pipelining is Pipelining.REVERSED:
                together.reverse()
            elif self.behaviour.pipelining in (Pipelining.FORGOTTEN, Pipelining.CLOSED):
                del together[1:]
            for request in together:
                if not await self._answer(request, writer):
                    return
                answered += 1
            if self.behaviour.pipelining is Pipelining.CLOSED and self._had_more:
                return

    async def _collect(self, reader: asyncio.StreamReader) -> list[_Request]:
        """Return the next request; with those that came behind it where the server does not answer in order."""
        found, self._had_more = [await _read_request(reader)], False
        while self.behaviour.pipelining is not Pipelining.IN_ORDER:
            try:
                async with asyncio.timeout(COLLECT_S):
                    found.append(await _read_request(reader))
                self._had_more = True
            except TimeoutError:
                break
        return found

    async def _answer(self, request: _Request, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection goes on."""
        chance = self.draw.random()
        if self.behaviour.delay_s:
            await asyncio.sleep(self.behaviour.delay_s)
        if chance < self.behaviour.dropped:
            return False
        status, failing = self.behaviour.failing
        file = self._find_file(request.target)
        if file is None or self.draw.random() < failing:
            return await _send(writer, _make_head(404 if file is None else status, {"Content-Length": "0"}))
        if self.behaviour.redirects and not request.target.startswith("/signed/"):
            place = f"/signed/{len(self._uses)}{request.target}"
            self._uses[place] = self.behaviour.target_uses
            return await _send(writer, _make_head(302, {"Content-Length": "0", "Location": place}))
        return await self._send_file(file, request, writer)

    def _find_file(self, target: str) -> ServedFile | None:
        """Return the file of a target; ``None`` where there is none, or where the target has expired."""
        if target.startswith("/signed/"):
            self._uses[target] = self._uses.get(target, 0) - 1
            if self._uses[target] < 0:
                return None
        file = self.files.get(target.rpartition("/")[2])
        return None if file is None or file.is_gone else file

    async def _send_file(self, file: ServedFile, request: _Request, writer: asyncio.StreamWriter) -> bool:
        version = file.get_version(self.draw)
        first, last, status = self._choose_range(request, version.content, version.validators)
        if status == 416:
            return await _send(
                writer,
                _make_head(416, {"Content-Length": "0", "Content-Range": f"bytes */{len(version.content)}"}),
            )
        body = version.content[first : last + 1]
        headers = dict(version.fields)
        if status == 206:
            headers["Content-Range"] = f"bytes {first}-{last}/{len(version.content)}"
        return await self._send_body(headers, status, body, file, writer)

    def _choose_range(self, request: _Request, content: bytes, validators: Sequence[str]) -> tuple[int, int, int]:
        """Return the first and last byte of the answer, and its status."""
        text, everything = request.fields.get("range", ""), (0, len(content) - 1, 200)
        condition = request.fields.get("if-range")
        way = self.behaviour.ranges
        if not text.startswith("bytes=") or way is Ranges.IGNORED or (condition and condition not in validators):
            return everything
        begin, _, end = text.removeprefix("bytes=").partition("-")
        first, last = int(begin), min(int(end or len(content)), len(content) - 1)
        if way is Ranges.REFUSED or first >= len(content):
            return 0, -1, 416
        if way is Ranges.SHORT:
            last = self.draw.randint(first, last)
        elif way is Ranges.SHIFTED and last + 1 < len(content):
            first, last = first + 1, last + 1
        return first, last, 206

    async def _send_body(
        self, headers: dict[str, str], status: int, body: bytes, file: ServedFile, writer: asyncio.StreamWriter
    ) -> bool:
        framing = self.behaviour.framing
        is_cut = bool(body) and self.draw.random() < self.behaviour.cut
        if framing is Framing.UNTIL_CLOSE and (status == 206 or not file.is_size_known):
            framing = Framing.LENGTH if status == 206 else framing
            is_cut = is_cut and framing is Framing.LENGTH  # nobody could tell that something is missing
        sent = body[: self.draw.randrange(len(body))] if is_cut else body
        if framing is Framing.LENGTH:
            return await _send(writer, _make_head(status, {**headers, "Content-Length": str(len(body))}) + sent, is_cut)
        if framing is Framing.UNTIL_CLOSE:
            return await _send(writer, _make_head(status, {**headers, "Connection": "close"}) + sent, ends=True)
        chunks = b"".join(_frame_chunk(sent[start : start + 1000]) for start in range(0, len(sent), 1000))
        end = b"" if is_cut else b"0\r\n\r\n"
        return await _send(
            writer, _make_head(status, {**headers, "Transfer-Encoding": "chunked"}) + chunks + end, is_cut
        )


async def _send(writer: asyncio.StreamWriter, data: bytes, ends: bool = False) -> bool:
    writer.write(data)
    await writer.drain()
    return not ends


def _frame_chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _make_head(status: int, fields: Mapping[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} As drawn\r\n{lines}\r\n".encode()


async def _read_request(reader: asyncio.StreamReader) -> _Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return _Request(first.split(" ")[1], {name.lower(): value.strip() for name, _, value in pairs})
