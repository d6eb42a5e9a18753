"""Turns: so many at once, and no waiting without an end."""

import asyncio

import pytest

from services.application.shared.slots import Slots
from tradewind.errors import Unavailable


def test_so_many_at_once_and_the_next_when_one_is_done():
    async def story():
        turns, at_work, most = Slots("uploads", at_once=2), 0, 0

        async def work():
            nonlocal at_work, most
            async with turns.turn():
                at_work += 1
                most = max(most, at_work)
                await asyncio.sleep(0)
                at_work -= 1

        await asyncio.gather(*(work() for _ in range(7)))
        return most

    assert asyncio.run(story()) == 2


def test_what_is_not_stored_says_what_becomes_of_it():
    async def story():
        turns = Slots("queues of jobs", done="planned", at_once=1, patience_s=0.01)
        async with turns.turn():
            with pytest.raises(Unavailable, match="queues of jobs come faster than they are planned"):
                async with turns.turn():
                    pass

    asyncio.run(story())


def test_whoever_would_wait_too_long_is_told_to_come_again_and_holds_nothing():
    async def story():
        turns = Slots("uploads", at_once=1, patience_s=0.01)
        async with turns.turn():
            with pytest.raises(Unavailable, match="uploads come faster than they are stored"):
                async with turns.turn():
                    pass
        async with turns.turn():
            pass

    asyncio.run(story())


def test_the_many_pieces_of_one_wait_behind_the_first_of_another():
    async def story():
        turns, done = Slots("logs", at_once=1), []

        async def work(of):
            async with turns.turn(of):
                await asyncio.sleep(0)
                done.append(of)

        await asyncio.gather(*(work("many") for _ in range(5)), work("one"))
        return done

    assert asyncio.run(story()) == ["many", "one", "many", "many", "many", "many"]


def test_whoever_waits_too_long_behind_pieces_of_its_own_holds_nothing():
    async def story():
        turns = Slots("logs", at_once=1, patience_s=0.01)
        async with turns.turn("many"):
            with pytest.raises(Unavailable):
                async with turns.turn("many"):
                    pass
        for of in ("many", "one"):
            async with turns.turn(of):
                pass

    asyncio.run(story())
