"""An engine whose connections send by another congestion control than the system's."""

import asyncio
import socket

import pytest

from tests.integration.serving import serving
from tradewind_agent.engine.address import Origin
from tradewind_agent.engine.connection import Connection, ReceiveBuffer
from tradewind_agent.engine.dial import dial
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.rate_limit import RateLimit


class Nobody:
    """An owner that wants to know nothing."""

    def on_answered(self, *_: object) -> None: ...

    def on_closed(self, *_: object) -> None: ...


async def chosen(port: int, congestion_control: str | None) -> str:
    """What a connection of the engine sends by."""
    options = EngineOptions(congestion_control=congestion_control)
    unlimited = RateLimit(None, asyncio.get_running_loop())

    def make() -> Connection:
        return Connection(Nobody(), ReceiveBuffer(1024), unlimited, idle_timeout_s=30.0)

    connection = await dial(Origin("http", "127.0.0.1", port), make, options)
    sock = connection._transport.get_extra_info("socket")
    name = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
    connection._transport.abort()
    await connection.closed
    return name


@pytest.mark.parametrize(("asked", "got"), [("reno", "reno"), ("of_no_kernel", None), (None, None)])
def test_connections_send_by_what_was_asked_for_or_by_the_systems(tmp_path, asked, got):
    with socket.socket() as plain:
        default = plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
    with serving(tmp_path) as server:
        assert asyncio.run(chosen(server.port, asked)) == (got or default)
