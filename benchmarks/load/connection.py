"""One HTTP connection of a load generator that has little time: requests are bytes made before, one at a time."""

import asyncio

END_OF_HEAD = b"\r\n\r\n"
LENGTH = b"content-length:"


class Broken(Exception):
    """The connection ended, or the answer was none; the message says which."""


class Connection(asyncio.Protocol):
    """To be used by one caller at a time; opened anew after it ended."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[tuple[int, bytes]] | None = None
        self._received = b""

    async def send(self, request: bytes) -> tuple[int, bytes]:
        """Status and body of the answer.

        Raises
        ------
        Broken, OSError
        """
        loop = asyncio.get_running_loop()
        if self._transport is None:
            await loop.create_connection(lambda: self, self._host, self._port)
        assert self._transport is not None
        self._waiting = loop.create_future()
        self._transport.write(request)
        return await self._waiting

    def close(self) -> None:
        """Let go of the connection, and of the answer that is waited for."""
        if self._transport is not None:
            self._transport.abort()
            self._transport = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._received = transport, b""

    def data_received(self, data: bytes) -> None:
        self._received = self._received + data if self._received else data
        head = self._received.find(END_OF_HEAD)
        if head < 0:
            return
        length = _length(self._received[:head])
        if len(self._received) - head - len(END_OF_HEAD) < length:
            return
        answer, self._received = self._received, b""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result((int(answer[9:12]), answer[head + len(END_OF_HEAD) :]))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(Broken(f"the connection ended: {exc or 'closed by the service'}"))


def post(path: str, body: bytes, *, host: str, key: str) -> bytes:
    """A request as it is sent."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _length(head: bytes) -> int:
    """Of the body; every answer of the service says it."""
    lower = head.lower()
    place = lower.find(LENGTH)
    if place < 0:
        raise Broken("an answer does not say how long it is")
    end = lower.find(b"\r\n", place)
    return int(lower[place + len(LENGTH) : None if end < 0 else end])
