"""An engine whose connections send by another congestion control than the system's."""

import asyncio
import socket

import pytest

from tests.integration.agent.command import environment, run
from tests.integration.engine.rough_server import RoughServer
from tests.integration.serving import serving
from tradewind_agent.engine.address import Origin, Url
from tradewind_agent.engine.connection import Connection, ReceiveBuffer
from tradewind_agent.engine.dial import dial
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.rate_limit import RateLimit


class Nobody:
    """An owner that wants to know nothing."""

    def on_answered(self, *_: object) -> None: ...

    def on_closed(self, *_: object) -> None: ...


async def chosen(congestion_control: str | None) -> str:
    """What a connection of the engine sends by."""
    async with RoughServer({}) as server:
        return await chosen_for(Url.parse(server.url).origin, congestion_control)


async def chosen_for(origin: Origin, congestion_control: str | None) -> str:
    options = EngineOptions(congestion_control=congestion_control)
    unlimited = RateLimit(None, asyncio.get_running_loop())

    def make() -> Connection:
        return Connection(Nobody(), ReceiveBuffer(1024), unlimited, idle_timeout_s=30.0)

    connection = await dial(origin, make, options)
    sock = connection._transport.get_extra_info("socket")
    name = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
    connection._transport.abort()
    await connection.closed
    return name


@pytest.mark.parametrize(("asked", "got"), [("reno", "reno"), ("of_no_kernel", None), (None, None)])
def test_connections_send_by_what_was_asked_for_or_by_the_systems(asked, got):
    with socket.socket() as plain:
        default = plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
    assert asyncio.run(chosen(asked)) == (got or default)


def test_a_copy_tells_that_the_kernel_refuses_and_goes_on(tmp_path):
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "file").write_bytes(b"content")
    with serving(tmp_path / "served") as server:
        asked = ("copy", server.url, str(tmp_path / "got"), "--congestion-control", "of_no_kernel")
        outcome = run(*asked, env=environment(tmp_path))
    assert outcome.code == 0, outcome.err
    assert "refuses of_no_kernel" in outcome.err
    assert (tmp_path / "got" / "file").read_bytes() == b"content"
