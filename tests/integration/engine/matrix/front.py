"""A front before a web server: it passes requests on, and answers as a fault has it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Self

from tests.integration.engine.servers.stream_server import RequestHead, StreamServer, read_head
from tests.integration.serve_files.serving import event_loop


@dataclass(frozen=True)
class Request:
    """A request with its body, and its number among those for files; a listing has none."""

    head: RequestHead
    body: bytes
    number: int

    @property
    def is_for_file(self) -> bool:
        return not self.head.target.partition("?")[0].endswith("/")

    @property
    def name(self) -> str:
        return self.head.target.rpartition("/")[2]

    def without(self, *names: str) -> Self:
        """The same request without these fields."""
        kept = [line for line in self.head.fields.split("\r\n") if line.partition(":")[0].lower() not in names]
        return replace(self, head=replace(self.head, fields="\r\n".join(kept)))


@dataclass(frozen=True)
class Reply:
    """An answer. ``sent_bytes`` : bytes of the body after which the connection ends, or falls silent."""

    status: str
    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    sent_bytes: int | None = None
    is_silent: bool = False

    def with_fields(self, **fields: str | None) -> Self:
        """The same answer with other fields; ``None`` removes one."""
        changed = {name.replace("_", "-").lower(): value for name, value in fields.items()}
        kept = {name: value for name, value in self.fields.items() if name.lower() not in changed}
        return replace(self, fields=kept | {name: value for name, value in changed.items() if value is not None})


class Fault:
    """What goes wrong between a client and its server; by itself nothing."""

    most_connections: int | None = None
    """Further ones are reset."""

    async def answer(self, request: Request, front: "Front") -> Reply | None:
        """Answer a request for a file; ``None`` ends the connection without an answer."""
        return await front.pass_on(request)


@dataclass(eq=False)
class Front(StreamServer):
    """Serves what the web server at ``port`` serves, with ``fault``.

    Attributes
    ----------
    faults : requests and connections that met the fault.
    """

    port: int
    fault: Fault
    faults: int = 0
    _requests: int = 0
    _open: int = 0

    @property
    def url(self) -> str:
        return f"http://{self.address}/"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            most = self.fault.most_connections
            if most is not None and self._open > most:
                self.faults += 1
                writer.transport.abort()
                return
            with suppress(ConnectionError):
                while (request := await self._read(reader)) is not None:
                    reply = await self._answer(request)
                    if reply is None or not await _send(reply, request, writer):
                        return
        finally:
            self._open -= 1
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, request: Request) -> Reply | None:
        return await (self.fault.answer(request, self) if request.is_for_file else self.pass_on(request))

    async def _read(self, reader: asyncio.StreamReader) -> Request | None:
        head = await read_head(reader)
        if head is None:
            return None
        body = await reader.readexactly(int(head.headers.get("content-length", "0")))
        self._requests += 1
        return Request(head, body, self._requests)

    async def pass_on(self, request: Request) -> Reply:
        """Return the web server's own answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        fields = request.without("connection", "expect").head.fields
        line = f"{request.head.method} {request.head.target} HTTP/1.1"
        try:
            writer.write(f"{line}\r\n{fields}\r\nConnection: close\r\n\r\n".encode("latin-1") + request.body)
            answer = await reader.read()
        finally:
            writer.close()  # when the test ends meanwhile, too
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        reply = Reply(first.partition(" ")[2], {name: value.strip() for name, _, value in pairs})
        is_chunked = any(name.lower() == "transfer-encoding" for name in reply.fields)
        body = _join_chunks(body) if is_chunked else body
        if request.head.method != "HEAD":
            reply = reply.with_fields(content_length=None if reply.status.startswith("204") else str(len(body)))
        return replace(reply.with_fields(connection=None, keep_alive=None, transfer_encoding=None), body=body)


async def _send(reply: Reply, request: Request, writer: asyncio.StreamWriter) -> bool:
    """Send an answer; return whether the connection goes on."""
    fields = "".join(f"{name}: {value}\r\n" for name, value in reply.fields.items())
    body = reply.body if request.head.method != "HEAD" else b""
    writer.write(f"HTTP/1.1 {reply.status}\r\n{fields}\r\n".encode("latin-1") + body[: reply.sent_bytes])
    await writer.drain()
    if reply.is_silent:
        await asyncio.Event().wait()
    return reply.sent_bytes is None


def _join_chunks(data: bytes) -> bytes:
    body = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        if not (length := int(size, 16)):
            return body
        body, data = body + data[:length], data[length + 2 :]


@contextmanager
def fronting(port: int, fault: Fault) -> Iterator[Front]:
    """A front in a thread of its own."""
    front = Front(port, fault)
    with event_loop() as in_loop:
        in_loop(front.__aenter__())
        try:
            yield front
        finally:
            in_loop(front.__aexit__())
