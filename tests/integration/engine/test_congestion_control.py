"""An engine whose connections send by another congestion control than the system's."""

import asyncio
import socket

import pytest

from tests.integration.agent.support.command import environment, run
from tests.integration.engine.servers.rough_server import RoughServer
from tests.integration.serve_files.serving import serving
from tradewind.wire.records import WireRecord
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.run import copy_files
from tradewind_agent.engine.http.address import Origin, Url
from tradewind_agent.engine.http.connection import Connection, ReceiveBuffer
from tradewind_agent.engine.http.dial import dial
from tradewind_agent.engine.http.patience import Patience
from tradewind_agent.engine.http.rate_limit import RateLimit
from tradewind_agent.engine.options import EngineOptions


class Nobody:
    """An owner that wants to know nothing."""

    def on_answered(self, *_: object) -> None: ...

    def on_closed(self, *_: object) -> None: ...
    def on_defect(self, *_: object) -> None: ...


async def chosen(congestion_control: str | None) -> str:
    """What a connection of the engine sends by."""
    async with RoughServer({}) as server:
        return await chosen_for(Url.parse(server.url).origin, congestion_control)


async def chosen_for(origin: Origin, congestion_control: str | None) -> str:
    options = EngineOptions(congestion_control=congestion_control)
    unlimited = RateLimit(None, asyncio.get_running_loop())

    def make() -> Connection:
        return Connection(Nobody(), ReceiveBuffer(1024), unlimited, Patience(30.0, 30.0, 30.0))

    connection = await dial(origin, make, options)
    sock = connection._transport.get_extra_info("socket")
    name = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
    connection._transport.abort()
    await connection.closed
    return name


def systems() -> str:
    with socket.socket() as plain:
        return plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()


ASKED = pytest.mark.parametrize(("asked", "got"), [("reno", "reno"), ("of_no_kernel", None), (None, None)])


@ASKED
def test_connections_use_requested_congestion_control_or_system_default(asked, got):
    assert asyncio.run(chosen(asked)) == (got or systems())


@ASKED
def test_upload_record_has_congestion_control_and_download_has_none(asked, got, tmp_path):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    (tmp_path / "here" / "file").write_bytes(b"content")
    options = CopyOptions(engine=EngineOptions(congestion_control=asked))
    with serving(tmp_path / "there", writable=True) as server:
        sent = copy_files([str(tmp_path / "here" / "file")], server.url, options=options)
        fetched = copy_files([f"{server.url}file"], str(tmp_path / "back"), options=options)
    assert {WireRecord.from_domain(each).parameters.congestion_control for each in sent.records} == {got or systems()}
    assert {each.parameters.congestion_control for each in fetched.records} == {None}


def test_copy_reports_refused_congestion_control_and_continues(tmp_path):
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "file").write_bytes(b"content")
    with serving(tmp_path / "served") as server:
        asked = ("copy", server.url, str(tmp_path / "got"), "--congestion-control", "of_no_kernel")
        outcome = run(*asked, env=environment(tmp_path))
    assert outcome.code == 0, outcome.err
    assert "refuses of_no_kernel" in outcome.err
    assert (tmp_path / "got" / "file").read_bytes() == b"content"
