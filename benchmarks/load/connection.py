"""One HTTP connection of a load generator with little time: requests are ready-made bytes, one at a time."""

import asyncio

END_OF_HEAD = b"\r\n\r\n"
LENGTH = b"content-length:"


class ConnectionBroken(Exception):
    """The connection ended, or the answer was no HTTP; the message says which."""


class Connection(asyncio.Protocol):
    """A connection for one caller at a time; it is opened again after it ended."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[tuple[int, bytes]] | None = None
        self._received = b""

    async def send(self, request: bytes) -> tuple[int, bytes]:
        """Send a request; return status and body of the answer.

        Raises
        ------
        ConnectionBroken, OSError
        """
        loop = asyncio.get_running_loop()
        if self._transport is None:
            await loop.create_connection(lambda: self, self._host, self._port)
        assert self._transport is not None
        self._waiting = loop.create_future()
        self._transport.write(request)
        return await self._waiting

    def close(self) -> None:
        """Drop the connection, and the answer that is waited for."""
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
        length = _read_length(self._received[:head])
        if len(self._received) - head - len(END_OF_HEAD) < length:
            return
        answer, self._received = self._received, b""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result((int(answer[9:12]), answer[head + len(END_OF_HEAD) :]))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionBroken(f"the connection ended: {exc or 'closed by the service'}"))


def make_post(path: str, body: bytes, *, host: str, key: str) -> bytes:
    """Return a request as it is sent."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _read_length(head: bytes) -> int:
    """Return the length of the body; every answer of the service states it."""
    lower = head.lower()
    place = lower.find(LENGTH)
    if place < 0:
        raise ConnectionBroken("an answer does not say how long it is")
    end = lower.find(b"\r\n", place)
    return int(lower[place + len(LENGTH) : None if end < 0 else end])
