"""What the servers and proxies of these tests have in common: connections served by a task each, heads of requests."""

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass
from ssl import SSLContext
from typing import ClassVar, Self


@dataclass(frozen=True)
class RequestHead:
    """A request line and its fields, names in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    fields: str
    """As they came."""

    @property
    def line(self) -> str:
        return f"{self.method} {self.target} HTTP/1.1"

    def with_target(self, target: str) -> bytes:
        """The same request for another target, as bytes."""
        return f"{self.method} {target} HTTP/1.1\r\n{self.fields}\r\n\r\n".encode("latin-1")


async def read_head(reader: asyncio.StreamReader) -> RequestHead | None:
    """The next head; ``None`` at the end of the connection."""
    try:
        text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    line, _, fields = text.strip().partition("\r\n")
    method, target, _ = line.split(" ")
    pairs = (field.partition(":") for field in fields.split("\r\n"))
    return RequestHead(method, target, {name.lower(): value.strip() for name, _, value in pairs}, fields)


class StreamServer(ABC):
    """Listens on a free port of the loopback while it is entered; ``address`` is host:port."""

    address: str
    tls: ClassVar[SSLContext | None] = None

    @abstractmethod
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""

    async def __aenter__(self) -> Self:
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self.tls)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self.serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
