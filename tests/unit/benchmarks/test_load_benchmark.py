"""The load benchmark's own sums and its connection: what it counts is what a caller has waited."""

import asyncio

import pytest

from benchmarks.load.connection import Connection, ConnectionBroken, make_post
from benchmarks.load.crowd import compute_quantile
from benchmarks.load.memory import compute_median_slope, compute_slope


def test_a_share_of_values_does_not_exceed_its_quantile():
    values = [float(each) for each in range(1, 101)]
    assert [compute_quantile(values, share) for share in (0.5, 0.99, 1.0)] == [50.0, 99.0, 100.0]
    assert compute_quantile([7.0], 0.99) == 7.0
    assert compute_quantile([], 0.99) == 0.0


def test_memory_that_grows_evenly_grows_by_its_slope():
    assert round(compute_slope([(0.0, 10.0), (1.0, 12.0), (2.0, 14.0)]), 9) == 2.0
    assert compute_slope([(1.0, 5.0)]) == 0.0


def test_memory_that_is_taken_once_is_no_steady_growth():
    points = [(each / 10, 2.0 * each / 10 + (50.0 if each >= 50 else 0.0)) for each in range(60)]
    assert compute_slope(points) > 8.0
    assert round(compute_median_slope(points), 9) == 2.0
    assert compute_median_slope([(1.0, 5.0)]) == 0.0


async def send_request(*answers: bytes) -> tuple[int, bytes]:
    """What a connection makes of pieces of an answer; the server closes after them."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in answers:
            writer.write(piece)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        return await Connection("127.0.0.1", port).send(make_post("/", b"", host="here", key="key"))


def test_response_in_pieces_is_read_completely():
    pieces = (b"HTTP/1.1 201 Created\r\nContent-", b"Length: 4\r\n\r\nbo", b"dy")
    assert asyncio.run(send_request(*pieces)) == (201, b"body")


def test_an_answer_that_ends_too_early_is_an_error():
    with pytest.raises(ConnectionBroken):
        asyncio.run(send_request(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nbody"))
