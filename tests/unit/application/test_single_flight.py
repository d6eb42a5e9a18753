import asyncio
import threading

import pytest

from services.application.shared.single_flight import SingleFlight


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


def test_an_answer_or_a_failure_that_is_kept_serves_whoever_asks_within_that_time() -> None:
    made: list[int] = []

    def look_up() -> int:
        made.append(len(made))
        return 1 // made[-1]

    async def ask(flights: SingleFlight) -> None:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await flights.begin("key", look_up, kept_s=60)
        assert made == [0]

    asyncio.run(ask(SingleFlight()))


def test_an_answer_is_kept_no_longer() -> None:
    made: list[int] = []

    def look_up() -> int:
        made.append(len(made))
        return made[-1]

    async def ask() -> None:
        flights, is_over = SingleFlight(), asyncio.Event()
        assert await flights.begin("key", look_up, kept_s=0.001) == 0
        asyncio.get_running_loop().call_later(0.002, is_over.set)
        await is_over.wait()
        assert await flights.begin("key", look_up, kept_s=0.001) == 1

    asyncio.run(ask())
