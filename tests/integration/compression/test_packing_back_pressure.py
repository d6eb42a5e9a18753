"""Packed files hold little in memory, whichever end of a stream is slow."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

from tradewind.compression.codecs import Codec, CodecSetting
from tradewind.compression.steering import Steering
from tradewind_agent.compression.packed.packed_payload import PackedPayload
from tradewind_agent.compression.packed.received_stream import MOST_WAITING_BYTES, ReceivedStream
from tradewind_agent.compression.packing import PackedFile

BLOCK = bytes(256 * 1024)


def test_gate_closes_while_decoding_is_behind_and_opens_again() -> None:
    may_decode, taken = Event(), []

    def decode(pieces: Iterator[bytes]) -> None:
        may_decode.wait()
        taken.extend(len(piece) for piece in pieces)

    async def receive(pool: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        settled: asyncio.Future[BaseException | None] = loop.create_future()
        stream, opened, fed = ReceivedStream(decode, pool, settled.set_result), asyncio.Event(), 0
        while stream.is_open:
            stream.feed(BLOCK)
            fed += 1
        assert fed * len(BLOCK) <= MOST_WAITING_BYTES + len(BLOCK)
        stream.call_when_open(opened.set)
        may_decode.set()
        await opened.wait()
        stream.finish()
        assert await settled is None
        assert taken == [len(BLOCK)] * fed

    with ThreadPoolExecutor(1) as pool:
        asyncio.run(asyncio.wait_for(receive(pool), 30))


def test_file_is_packed_no_faster_than_the_connection_takes_it(tmp_path: Path) -> None:
    source = tmp_path / "file"
    source.write_bytes(bytes(range(256)) * 64 * 1024)

    async def send(pool: ThreadPoolExecutor) -> None:
        opened, more = source.open("rb"), asyncio.Event()
        steering = Steering(expected={}, line_bps=None, setting=CodecSetting(Codec.GZIP, 1))
        packed = PackedFile(opened.fileno(), source.stat(), steering)
        sent: list[int] = []
        body = PackedPayload(packed, opened, pool, lambda plain, _: sent.append(plain))
        while not sent:
            if not body.read(1 << 30):
                body.call_when_ready(more.set)
                await more.wait()
                more.clear()
        assert packed.work.plain_bytes == sum(sent) < source.stat().st_size, "it waits for the next request"
        body.close()

    with ThreadPoolExecutor(1) as pool:
        asyncio.run(asyncio.wait_for(send(pool), 30))
