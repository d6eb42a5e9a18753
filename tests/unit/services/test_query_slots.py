"""Whose query runs when there are more than the process takes."""

import asyncio
from collections.abc import Iterator
from uuid import uuid4

import pytest
from starlette.responses import Response
from starlette.types import Message

from services.application.warehouse.query import QueryLimits
from services.streaming.query_slots import QuerySlots
from services.streaming.query_stream import QueryStream
from tradewind.errors import Unavailable

EAGER, BUSY, *OTHERS = (uuid4() for _ in range(8))


@pytest.fixture
def slots() -> Iterator[QuerySlots]:
    opened = QuerySlots(QueryLimits(at_once=4, in_all=8))
    yield opened
    opened.close()


def test_tenant_has_no_more_slots_than_its_limit(slots: QuerySlots) -> None:
    for _ in range(4):
        slots.take(EAGER)
    with pytest.raises(Unavailable, match="4 queries are running already"):
        slots.take(EAGER)
    slots.give_back(EAGER)
    slots.take(EAGER)


def test_a_tenant_that_has_none_gets_one_whatever_two_others_do(slots: QuerySlots) -> None:
    for tenant in (EAGER, BUSY) * 4:
        try:
            slots.take(tenant)
        except Unavailable:
            continue
    for other in OTHERS[:4]:
        slots.take(other)
    with pytest.raises(Unavailable, match="of others too"):
        slots.take(OTHERS[4])
    for tenant in (EAGER, EAGER, BUSY, BUSY, *OTHERS[:4]):
        slots.give_back(tenant)
    for _ in range(4):
        slots.take(BUSY)


class Rows:
    """An answer of two pieces."""

    tenant_id = EAGER

    def read_chunks(self) -> Iterator[bytes]:
        yield b"one"
        yield b"two"

    def cancel(self) -> None:
        raise AssertionError("nothing is to be stopped")


def test_the_turn_is_given_back_before_the_client_has_the_end_of_its_answer() -> None:
    slots = QuerySlots(QueryLimits(at_once=1, in_all=2))
    told: list[bytes] = []

    async def send(message: Message) -> None:
        told.append(message.get("body", b""))
        if message["type"] == "http.response.body" and not message["more_body"]:
            slots.take(EAGER)  # as its next query does

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    def refused(error: Exception) -> Response:
        raise error

    answer = QueryStream(Rows(), slots, media_type="text/csv", headers={}, refused=refused)
    asyncio.run(answer({"type": "http"}, receive, send))
    slots.close()
    assert b"".join(told) == b"onetwo"
