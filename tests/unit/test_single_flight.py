import asyncio
import threading

import pytest

from services.application.single_flight import SingleFlight


def test_whoever_asks_meanwhile_gets_the_same_answer() -> None:
    go_on = threading.Event()
    made: list[int] = []

    def look_up() -> int:
        assert go_on.wait(20)
        made.append(len(made))
        return made[-1]

    async def ask() -> list[int]:
        flights = SingleFlight()
        waiting = [asyncio.create_task(flights.run("key", look_up)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        go_on.set()
        together = [await each for each in waiting[1:]]
        return [*together, await flights.run("key", look_up)]

    assert asyncio.run(ask()) == [0, 0, 1]


def test_a_failure_reaches_everybody_and_is_not_kept() -> None:
    answers = [lambda: 1 / 0, lambda: 7]

    async def ask() -> int:
        flights = SingleFlight()
        for each in [asyncio.create_task(flights.run("key", answers[0])) for _ in range(2)]:
            with pytest.raises(ZeroDivisionError):
                await each
        return await flights.run("key", answers[1])

    assert asyncio.run(ask()) == 7


def test_a_look_up_that_nobody_waits_for_is_made_and_may_fail() -> None:
    made: list[str] = []

    def look_up() -> None:
        made.append("once")
        raise ZeroDivisionError

    async def ask() -> None:
        flights = SingleFlight()
        under_way = flights.begin("key", look_up)
        flights.begin("key", look_up)
        await asyncio.wait([under_way])

    asyncio.run(ask())
    assert made == ["once"]
