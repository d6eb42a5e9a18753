"""What waits until the connection is idle, whatever was decided before the connection was there."""

import asyncio
from typing import Any, cast

from tradewind_agent.engine.dealing.depth_control import DepthControl
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.connection import Connection
from tradewind_agent.engine.http.http1 import RequestHead
from tradewind_agent.engine.origin.traits import OriginTraits
from tradewind_agent.engine.range_read import RangeRead
from tradewind_agent.engine.transfer_host import FileExchange


class SentRequests:
    """The part of a connection that is seen by the control: requests that were sent, and none answered."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    @property
    def in_flight(self) -> int:
        return len(self.sent)

    def send(self, exchange: Any) -> None:
        self.sent.append(exchange)


def read_file(size_bytes: int) -> FileExchange:
    url = Url.parse("http://127.0.0.1/f")
    file: Any = object()
    head = RequestHead("GET", "/f", {})
    return RangeRead(file, url, head, 0, size_bytes - 1, generation=0, size_bytes=size_bytes, is_full=True)


async def send_two(traits: OriginTraits, window: int) -> tuple[int, bool]:
    """Return how many of two requests were sent, and whether one waits."""
    control, connection = DepthControl(lambda: None), SentRequests()
    first, second = read_file(100), read_file(200)
    opened = cast("Connection", connection)
    control.send(opened, first, None, traits, window=window, round_trip_s=0.0)
    control.send(opened, second, first, traits, window=window, round_trip_s=0.0)
    return len(connection.sent), control.held is second


def test_second_request_waits_where_the_window_has_shrunk_since_both_were_dealt():
    """Two requests are dealt to a connection that is being made; another one finds that the server closes early."""
    assert asyncio.run(send_two(OriginTraits(), 1)) == (1, True)
    assert asyncio.run(send_two(OriginTraits(proved_depth=8), 1)) == (1, True)


def test_second_request_is_part_of_a_trial_or_of_a_proved_pipeline():
    assert asyncio.run(send_two(OriginTraits(), 2)) == (2, False)
    assert asyncio.run(send_two(OriginTraits(proved_depth=8), 4)) == (2, False)


async def has_room_behind(sent: int, *, proved_depth: int) -> bool:
    """Return whether more may follow requests that were dealt together and have left, where a deeper pipeline is open
    to trial.
    """
    control, connection, traits = DepthControl(lambda: None), SentRequests(), OriginTraits(proved_depth=proved_depth)
    opened = cast("Connection", connection)
    connection.limit_silence = lambda *_: None  # type: ignore[attr-defined]  # the limit is the connection's own part
    before = None
    for number in range(sent):
        request = read_file(100 + number)
        control.send(opened, request, before, traits, window=4 * proved_depth, round_trip_s=0.0)
        before = request
    await asyncio.sleep(0)
    return control.has_room(sent, 4 * proved_depth, traits, opened)


def test_requests_follow_few_that_prove_nothing_deeper():
    """Otherwise each batch would wait for the last answer of the one before it, a round trip each time."""
    assert asyncio.run(has_room_behind(3, proved_depth=8))
    assert not asyncio.run(has_room_behind(12, proved_depth=8))
