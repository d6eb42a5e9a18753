"""The emulated path between real sockets: every byte arrives, ends and resets pass, its program starts and stops."""

import asyncio
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.emulation.path import EmulatedPath, emulate, parse_address
from benchmarks.emulation.profile import PathProfile
from benchmarks.emulation.relay import Side
from tests.endings import Program
from tests.integration.serve_files.serving import Wire, serving, sha256
from tradewind.errors import InvalidValue

QUICK = PathProfile(rate_bps=400e6, rtt_s=0.004, loss_rate=0.001)
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def path_to(handler: Handler, profile: PathProfile = QUICK) -> AsyncIterator[EmulatedPath]:
    upstream = await asyncio.start_server(handler, "127.0.0.1", 0)
    path = await emulate(profile, upstream.sockets[0].getsockname())
    try:
        yield path
    finally:
        await path.close()
        upstream.close()
        await upstream.wait_closed()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while block := await reader.read(65536):
        writer.write(block)
        await writer.drain()
    writer.write_eof()
    await reader.read()
    writer.close()
    await writer.wait_closed()


async def exchange(port: int, data: bytes) -> bytes:
    """Send all, end our direction, and read until the other end does."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def send() -> None:
        writer.write(data)
        await writer.drain()
        writer.write_eof()

    _, received = await asyncio.gather(send(), reader.read())
    writer.close()
    await writer.wait_closed()
    return received


def test_many_connections_carry_every_byte_both_ways_in_order():
    async def main() -> None:
        sent = [os.urandom(300_000 + number) for number in range(12)]
        async with path_to(echo) as path:
            received = await asyncio.gather(*(exchange(path.port, data) for data in sent))
            assert [sha256(data) for data in received] == [sha256(data) for data in sent]
            total = sum(len(data) for data in sent)
            assert path.count_moved() == {"connections": 12, "up_bytes": total, "down_bytes": total}

    asyncio.run(main())


def test_an_upstream_that_refuses_resets_the_client():
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            unused = taken.getsockname()
        path = await emulate(QUICK, unused)
        reader, writer = await asyncio.open_connection("127.0.0.1", path.port)
        with pytest.raises(ConnectionResetError):
            await reader.readexactly(1)
        writer.close()
        await path.close()

    asyncio.run(main())


def test_a_reset_at_one_end_reaches_the_other():
    async def main() -> None:
        broken = asyncio.get_running_loop().create_future()

        async def reset_when_greeted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readexactly(5)
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
            broken.set_result(True)

        async with path_to(reset_when_greeted) as path:
            reader, writer = await asyncio.open_connection("127.0.0.1", path.port)
            writer.write(b"hello")
            with pytest.raises(ConnectionResetError):
                await reader.readexactly(1)
            assert await broken
            writer.close()

    asyncio.run(main())


def test_an_end_that_meets_a_socket_reset_meanwhile_is_no_error_and_the_loss_is_reported():
    async def main() -> None:
        loop = asyncio.get_running_loop()
        lost: asyncio.Future[Exception | None] = loop.create_future()
        with socket.create_server(("127.0.0.1", 0)) as listening:
            near = socket.create_connection(listening.getsockname())
            far, _ = listening.accept()
        side = Side(loop.time, lambda: None, lambda: None, lost.set_result)
        near.setblocking(False)
        await loop.create_connection(lambda: side, sock=near)
        far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        far.close()
        side.write(bytearray())  # before the loop has looked at the socket
        assert isinstance(await lost, ConnectionResetError)

    asyncio.run(main())


def test_an_event_that_fails_costs_itself_and_not_the_path():
    async def main() -> None:
        errors: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(str(context["exception"])))

        def fail(_: float) -> None:
            raise OSError("of one event")

        async with path_to(echo) as path:
            path.model.events.schedule(asyncio.get_running_loop().time() + 0.005, fail)
            assert await exchange(path.port, bytes(200_000)) == bytes(200_000)
            assert errors == ["of one event"]

    asyncio.run(main())


def test_a_client_that_reads_late_still_gets_all_and_bounds_what_is_held():
    async def main() -> None:
        async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(bytes(8_000_000))
            await writer.drain()
            writer.close()
            await writer.wait_closed()

        profile = PathProfile(rate_bps=4e9, rtt_s=0.001, receive_buffer_bytes=512 * 1024)
        async with path_to(pour, profile) as path:
            reader, writer = await asyncio.open_connection("127.0.0.1", path.port)
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            counts = [0, -1]
            while counts[-1] != counts[-2]:
                await asyncio.sleep(0.05)
                counts.append(int(str(path.count_moved()["down_bytes"])))
            assert counts[-1] < 8_000_000
            writer.transport.resume_reading()  # type: ignore[attr-defined]
            assert len(await reader.read()) == 8_000_000
            writer.close()
            await writer.wait_closed()

    asyncio.run(main())


def test_files_come_through_the_program_unharmed(tmp_path: Path):
    content = os.urandom(2_000_000)
    (tmp_path / "file").write_bytes(content)
    with serving(tmp_path) as server:
        command = [sys.executable, "-m", "benchmarks.emulation.path", "--upstream", f"127.0.0.1:{server.port}"]
        command += ["--rate", "400Mbps", "--rtt", "4ms", "--loss", "0.1%", "--cross-traffic", "10%", "--seed", "3"]
        with Program(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            assert "not a packet-level simulation" in ready["emulation"]
            assert (ready["rate_bps"], ready["rtt_s"], ready["loss_rate"], ready["seed"]) == (400e6, 0.004, 0.001, 3)
            cuts = [0, 700_000, 1_400_000, 2_000_000]
            with Wire(ready["port"]) as wire:
                for first, end in pairwise(cuts):
                    wire.send("GET", "/file", Range=f"bytes={first}-{end - 1}")
                assert b"".join(wire.receive().body for _ in cuts[1:]) == content
            process.send_signal(signal.SIGTERM)
            summary = json.loads(process.stdout.read())
            assert summary["connections"] == 1
            assert summary["down_bytes"] > 2_000_000
        assert process.returncode == 0


def test_a_path_that_cannot_be_is_refused_in_one_line():
    command = [
        sys.executable,
        "-m",
        "benchmarks.emulation.path",
        "--upstream",
        "127.0.0.1:1",
        "--rate",
        "0Mbps",
        "--rtt",
        "1ms",
    ]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert finished.stderr == "rate_bps: must be above 0\n"


def test_addresses_need_host_and_port():
    assert parse_address("127.0.0.1:80") == ("127.0.0.1", 80)
    assert parse_address("[::1]:80") == ("::1", 80)
    for wrong in ("127.0.0.1", ":80", "host:"):
        with pytest.raises(InvalidValue):
            parse_address(wrong)
