"""The body of a completion is read so that an event loop goes on meanwhile, and told what is wrong with it."""

import asyncio
import json
from typing import Any

import pytest
from fastapi.exceptions import RequestValidationError

from services.api.routes.completions import read_completion

BEAT = {
    "sequence": 1,
    "at": "2026-11-21T10:00:00Z",
    "interval_s": 5.0,
    "bytes_moved": 10,
    "throughput_bps": 8e7,
    "remaining_bytes": 100,
    "remaining_files": 3,
    "parameters": {"concurrency": 8, "parallelism": 2, "pipelining": 4},
}


def body(count: int, **changes: Any) -> bytes:
    beats = [{"heartbeat": BEAT | {"sequence": number}} for number in range(count)]
    return json.dumps({"heartbeats": beats} | changes).encode()


def test_event_loop_keeps_running_while_a_thread_reads_a_large_body() -> None:
    async def count_iterations() -> int:
        reading = asyncio.create_task(asyncio.to_thread(read_completion, body(10_000)))
        await asyncio.sleep(0)
        count = 0
        while not reading.done():
            await asyncio.sleep(0)
            count += 1
        assert len(reading.result().heartbeats) == 10_000
        return count

    assert asyncio.run(count_iterations()) > 20


@pytest.mark.parametrize(
    ("told", "place"),
    [
        (b'{"heartbeats": [', ("body", 16)),
        (b"\xff", ("body", 0)),
        (b"[]", ("body",)),
        (b'{"heartbeats": {}}', ("body", "heartbeats")),
        (b'{"heartbeats": [{}]}', ("body", "heartbeats", 0, "heartbeat")),
        (body(2).replace(b'"sequence": 1', b'"sequence": -1'), ("body", "heartbeats", 1, "heartbeat", "sequence")),
        (body(20_001), ("body", "heartbeats")),
        (body(1, status="asleep"), ("body", "status")),
        (body(1, surprise=1), ("body", "surprise")),
    ],
    ids=range(9),
)
def test_error_names_its_place_in_the_body(told: bytes, place: tuple[str | int, ...]) -> None:
    with pytest.raises(RequestValidationError) as caught:
        read_completion(told)
    assert caught.value.errors()[0]["loc"] == place


def test_all_errors_are_reported_at_once() -> None:
    told = json.loads(body(4, status="asleep"))
    for number in (1, 3):
        told["heartbeats"][number]["heartbeat"]["throughput_bps"] = -1
    with pytest.raises(RequestValidationError) as caught:
        read_completion(json.dumps(told).encode())
    rates = [("body", "heartbeats", number, "heartbeat", "throughput_bps") for number in (1, 3)]
    assert [each["loc"] for each in caught.value.errors()] == [*rates, ("body", "status")]


def test_far_too_many_heartbeats_are_refused_without_reading_them() -> None:
    with pytest.raises(RequestValidationError) as caught:
        read_completion(b'{"heartbeats": [' + b"{}," * 30_000 + b"{}]}")
    assert [error["loc"] for error in caught.value.errors()] == [("body", "heartbeats")]
