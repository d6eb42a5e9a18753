"""Connections whose bodies are still being made, and whose received bytes wait to be processed."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from tradewind_agent.engine.http.address import Origin
from tradewind_agent.engine.http.connection import Connection, ReceiveBuffer
from tradewind_agent.engine.http.exchange import Payload, ReceiveGate
from tradewind_agent.engine.http.http1 import RequestHead, ResponseHead
from tradewind_agent.engine.http.patience import Patience
from tradewind_agent.engine.http.rate_limit import RateLimit
from tradewind_agent.engine.http.tcp_info import TcpInfo
from tradewind_agent.errors import FileFault

ORIGIN = Origin("http", "127.0.0.1", 80)
SILENCE_S = 0.2
PIECE = b"3\r\nabc\r\n"
END = b"0\r\n\r\n"


class Made:
    """A body of pieces that are given one by one."""

    file_body = None
    follows_kernel = False

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.is_finished = False
        self.wake: Callable[[], None] | None = None

    def give(self, piece: bytes) -> None:
        self.pieces.append(piece)
        if self.wake is not None:
            self.wake()

    def read(self, most_bytes: int) -> bytes:
        if not self.pieces:
            return b""
        piece = self.pieces.pop(0)
        self.is_finished = piece == END
        assert len(piece) <= most_bytes
        return piece

    def call_when_ready(self, wake: Callable[[], None]) -> None:
        self.wake = wake


class Gate:
    def __init__(self) -> None:
        self.is_open = True
        self.wake: Callable[[], None] | None = None
        self.has_stopped = asyncio.Event()

    def call_when_open(self, wake: Callable[[], None]) -> None:
        self.wake = wake
        self.has_stopped.set()


class Request:
    """An exchange that closes its gate with every piece that it receives."""

    def __init__(self, method: str, payload: Payload | None = None, gate: Gate | None = None) -> None:
        self.request = RequestHead(method, "/a", {"Host": "a"})
        self.payload = payload
        self.gate = gate
        self.received = 0
        self.done: asyncio.Future[FileFault | None] = asyncio.get_running_loop().create_future()

    @property
    def receive_gate(self) -> ReceiveGate | None:
        return self.gate

    def on_head(self, head: ResponseHead) -> None: ...

    def on_data(self, data: memoryview) -> None:
        self.received += len(data)
        if self.gate is not None:
            self.gate.is_open = False

    def on_end(self) -> None:
        self.done.set_result(None)

    def on_lost(self, fault: FileFault | None) -> None:
        self.done.set_result(fault or FileFault("lost"))


class Owner:
    def on_answered(self, connection: Connection, head: ResponseHead) -> None: ...

    def on_closed(self, connection: Connection, last_info: TcpInfo) -> None: ...

    def on_defect(self, error: Exception) -> None:
        raise error


async def connect(server: asyncio.Server) -> Connection:
    loop = asyncio.get_running_loop()
    limits = RateLimit(None, loop), Patience(SILENCE_S, SILENCE_S, SILENCE_S)
    _, connection = await loop.create_connection(
        lambda: Connection(Owner(), ReceiveBuffer(64 * 1024), *limits), *server.sockets[0].getsockname()
    )
    return connection


def test_body_in_the_making_is_sent_as_it_comes_and_its_pauses_are_no_silence() -> None:
    bodies: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            await reader.readuntil(b"\r\n\r\n")
            bodies.append(await reader.readuntil(END))
            writer.write(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async def send() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            connection = await connect(server)
            for _ in range(2):
                body = Made()
                exchange = Request("PUT", body)
                connection.send(exchange)
                for piece in (PIECE, PIECE, END):
                    await asyncio.sleep(2 * SILENCE_S)
                    assert not exchange.done.done()
                    body.give(piece)
                assert await exchange.done is None
            await connection.closed

    asyncio.run(asyncio.wait_for(send(), 30))
    assert bodies == [PIECE + PIECE + END] * 2


def test_receiver_that_is_silent_behind_a_made_body_is_given_up() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()
        writer.close()

    async def send() -> str:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            connection, body = await connect(server), Made()
            exchange = Request("PUT", body)
            connection.send(exchange)
            body.give(PIECE)
            body.give(END)
            fault = await exchange.done
            await connection.closed
            return str(fault)

    assert "nothing received" in asyncio.run(asyncio.wait_for(send(), 30))


def test_nothing_is_received_while_the_gate_is_closed_and_its_time_is_no_silence() -> None:
    body_bytes = 4 * 1024 * 1024

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % body_bytes + bytes(body_bytes))
        with suppress(ConnectionError):
            await reader.read()
        writer.close()

    async def fetch() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            connection, gate = await connect(server), Gate()
            exchange = Request("GET", gate=gate)
            connection.send(exchange)
            await gate.has_stopped.wait()
            received = exchange.received
            await asyncio.sleep(3 * SILENCE_S)
            assert exchange.received == received < body_bytes
            assert not exchange.done.done()
            while not exchange.done.done():
                wake, gate.wake, gate.is_open = gate.wake, None, True
                if wake is not None:
                    wake()
                await asyncio.sleep(0)
            assert (await exchange.done, exchange.received) == (None, body_bytes)
            connection.abort()
            await connection.closed

    asyncio.run(asyncio.wait_for(fetch(), 30))
