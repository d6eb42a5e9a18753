"""A relay in front of a real ``serve-files`` that behaves as drawn: what it passes on is right, or visibly wrong."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Self

from benchmarks.fuzz.behaviour import Behaviour, Framing, Ranges
from benchmarks.fuzz.random_servers import (
    RandomServer,
    Request,
    frame_answer,
    frame_chunks,
    make_head,
    parse_chunks,
    send,
)
from tradewind_agent.compression.wire_names import PACKED_CODING
from tradewind_agent.serve import Server, ServerLimits, serve

_HOP_FIELDS = frozenset({"connection", "content-length", "transfer-encoding"})
_NO_BODY = frozenset({204, 304})
_TEMPORARY_REDIRECT, _NOT_FOUND, _BAD_GATEWAY = 307, 404, 502
_CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class RelayFaults:
    """What a relay does beyond the behaviour of any server.

    ``damaged`` : chance that a packed body has a wrong byte. ``restarted`` : chance that the server behind it is killed
    at a request, and started again. ``strips_fields`` : that it passes on no field that it does not know.
    ``packed_at_once`` : files that the server packs at once.
    """

    damaged: float
    restarted: float
    strips_fields: bool
    packed_at_once: int

    @classmethod
    def draw(cls, draw: Random, *, is_calm: bool) -> Self:
        return cls(
            damaged=0.0 if is_calm else draw.choice([0.0, 0.0, 0.02, 0.2]),
            restarted=0.0 if is_calm else draw.choice([0.0, 0.0, 0.05]),
            strips_fields=draw.random() < 0.1,
            packed_at_once=draw.choice([1, 2, 4]),
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the server behind a relay; names of fields as they came."""

    status: int
    fields: Mapping[str, str]
    body: bytes

    @property
    def is_packed(self) -> bool:
        return self.fields.get("Content-Encoding") == PACKED_CODING


class FaultyRelay(RandomServer):
    """The relay, and the server of ``root`` behind it, while it is entered.

    ``changes`` : by file name the number of requests after which it has another content, and that content.
    """

    def __init__(
        self,
        behaviour: Behaviour,
        draw: Random,
        faults: RelayFaults,
        root: Path,
        changes: Mapping[str, tuple[int, bytes]],
    ) -> None:
        super().__init__(behaviour, draw)
        self._faults, self._root = faults, root
        self._changes = dict(changes)
        self._requests_of: dict[str, int] = {}
        self._uses: dict[str, int] = {}
        self._behind: Server
        self._restarting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._behind = await self._start()
        return await super().__aenter__()

    async def __aexit__(self, *error: object) -> None:
        await super().__aexit__(*error)
        await self._behind.close(grace_s=0.0)

    async def _start(self) -> Server:
        limits = ServerLimits(max_packed_downloads=self._faults.packed_at_once)
        server = await serve(self._root, writable=True, limits=limits)
        self._port = server.port  # it has none any more when it is killed
        return server

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        if self.behaviour.redirects and not request.target.startswith("/signed/"):
            place = f"/signed/{len(self._uses)}{request.target}"
            self._uses[place] = self.behaviour.target_uses
            return await send(writer, make_head(_TEMPORARY_REDIRECT, {"Content-Length": "0", "Location": place}))
        if request.target.startswith("/signed/"):
            self._uses[request.target] = self._uses.get(request.target, 0) - 1
            if self._uses[request.target] < 0:
                return await send(writer, make_head(_NOT_FOUND, {"Content-Length": "0"}))
        name = request.target.rpartition("/")[2]
        self._change(name)
        if self.draw.random() < self._faults.restarted:
            await self._restart()
        is_cut = self.draw.random() < self.behaviour.cut
        if is_cut and request.body and self.draw.random() < 1 / 2:
            await self._forward(request, name, body_bytes=self.draw.randrange(len(request.body)))
            return False
        answer = await self._forward(self._alter(request), name)
        if answer is None:
            return await send(writer, make_head(_BAD_GATEWAY, {"Content-Length": "0"}))
        return await self._pass_on(answer, request.method, writer, is_cut=is_cut)

    def _change(self, name: str) -> None:
        """Replace a file that changes at this request."""
        self._requests_of[name] = self._requests_of.get(name, 0) + 1
        changes_at, content = self._changes.get(name, (0, b""))
        if name in self._changes and self._requests_of[name] > changes_at:
            del self._changes[name]
            new = self._root.parent / f"{name}-new"
            new.write_bytes(content)
            new.replace(self._root / name)

    async def _restart(self) -> None:
        """Kill the server, and start another one."""
        async with self._restarting:
            await self._behind.close(grace_s=0.0)
            self._behind = await self._start()

    def _alter(self, request: Request) -> Request:
        """Return the request as the relay passes it on."""
        fields, body = dict(request.fields), request.body
        if self._faults.strips_fields:
            fields = {name: value for name, value in fields.items() if not name.startswith("tradewind-")}
        if (text := fields.get("range", "")).startswith("bytes="):
            first, last = text.removeprefix("bytes=").split("-")
            if self.behaviour.ranges in (Ranges.IGNORED, Ranges.REFUSED):
                del fields["range"]
            elif self.behaviour.ranges is Ranges.SHORT and last:
                fields["range"] = f"bytes={first}-{self.draw.randint(int(first), int(last))}"
            elif self.behaviour.ranges is Ranges.SHIFTED and last:
                fields["range"] = f"bytes={int(first) + 1}-{int(last) + 1}"
        if fields.get("content-encoding") == PACKED_CODING:
            body = self._damage(body)
        return replace(request, fields=fields, body=body)

    def _damage(self, body: bytes) -> bytes:
        if not body or self.draw.random() >= self._faults.damaged:
            return body
        damaged = bytearray(body)
        damaged[self.draw.randrange(len(body))] ^= 1 << self.draw.randrange(8)
        return bytes(damaged)

    async def _forward(self, request: Request, name: str, *, body_bytes: int | None = None) -> Answer | None:
        """Return the server's answer, ``None`` if it gave none; ``body_bytes`` : after them the connection is lost."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            return None
        try:
            writer.write(_make_request(request, name, body_bytes))
            await writer.drain()
            if body_bytes is not None:
                return None
            return _parse_answer(await reader.read(), request.method)
        except OSError:
            return None
        finally:
            writer.close()

    async def _pass_on(self, answer: Answer, method: str, writer: asyncio.StreamWriter, *, is_cut: bool) -> bool:
        if method == "HEAD" or answer.status in _NO_BODY:
            length = {} if answer.status in _NO_BODY else {"Content-Length": answer.fields.get("Content-Length", "0")}
            fields = {name: value for name, value in answer.fields.items() if name.lower() not in _HOP_FIELDS}
            return not is_cut and await send(writer, make_head(answer.status, {**fields, **length}))
        framing = self.behaviour.framing
        if framing is Framing.UNTIL_CLOSE and not answer.is_packed:  # nobody could tell that something is missing
            framing = Framing.LENGTH
        fields = {name: value for name, value in answer.fields.items() if name.lower() not in _HOP_FIELDS}
        body = self._damage(answer.body) if answer.is_packed else answer.body
        sent_bytes = self.draw.randrange(len(body)) if is_cut and body else None
        data = frame_answer(answer.status, fields, body, framing, sent_bytes=sent_bytes)
        return await send(writer, data, ends=sent_bytes is not None or framing is Framing.UNTIL_CLOSE)


def _make_request(request: Request, name: str, body_bytes: int | None) -> bytes:
    fields = {name: value for name, value in request.fields.items() if name != "connection"}
    head = "".join(f"{field}: {value}\r\n" for field, value in fields.items())
    sent = request.body[:body_bytes]
    if request.fields.get("transfer-encoding") == "chunked":
        sent = frame_chunks(sent, _CHUNK_BYTES) + (b"0\r\n\r\n" if body_bytes is None else b"")
    return f"{request.method} /{name} HTTP/1.1\r\n{head}Connection: close\r\n\r\n".encode() + sent


def _parse_answer(data: bytes, method: str) -> Answer | None:
    """Return the answer that ``data`` holds in full; else ``None``."""
    head, separator, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    if not separator:
        return None
    fields = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    status = int(first.split(" ")[1])
    if method == "HEAD" or status in _NO_BODY:
        return Answer(status, fields, b"")
    if fields.get("Transfer-Encoding") == "chunked":
        plain = parse_chunks(body)
        return None if plain is None else Answer(status, fields, plain)
    return Answer(status, fields, body) if len(body) == int(fields.get("Content-Length", "-1")) else None
