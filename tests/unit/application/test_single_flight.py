import asyncio
import threading

import pytest

from services.application.shared.single_flight import SingleFlight


def test_concurrent_callers_share_one_lookup() -> None:
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


def test_failure_reaches_every_caller_and_is_not_cached() -> None:
    answers = [lambda: 1 / 0, lambda: 7]

    async def ask() -> int:
        flights = SingleFlight()
        for each in [asyncio.create_task(flights.run("key", answers[0])) for _ in range(2)]:
            with pytest.raises(ZeroDivisionError):
                await each
        return await flights.run("key", answers[1])

    assert asyncio.run(ask()) == 7


def test_lookup_without_waiting_callers_runs_and_may_fail() -> None:
    made: list[str] = []

    def look_up() -> None:
        made.append("once")
        raise ZeroDivisionError

    async def ask() -> None:
        flights = SingleFlight()
        under_way = flights.start("key", look_up)
        flights.start("key", look_up)
        await asyncio.wait([under_way])

    asyncio.run(ask())
    assert made == ["once"]


def test_cached_answer_or_failure_serves_callers_until_it_expires() -> None:
    made: list[int] = []

    def look_up() -> int:
        made.append(len(made))
        return 1 // made[-1]

    async def ask(flights: SingleFlight) -> None:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await flights.start("key", look_up, keep_s=60)
        assert made == [0]

    asyncio.run(ask(SingleFlight()))


def test_cached_answer_expires() -> None:
    made: list[int] = []

    def look_up() -> int:
        made.append(len(made))
        return made[-1]

    async def ask() -> None:
        flights, is_over = SingleFlight(), asyncio.Event()
        assert await flights.start("key", look_up, keep_s=0.001) == 0
        asyncio.get_running_loop().call_later(0.002, is_over.set)
        await is_over.wait()
        assert await flights.start("key", look_up, keep_s=0.001) == 1

    asyncio.run(ask())
