"""Turns: so many at once, and no waiting without an end."""

import asyncio

import pytest

from services.application.shared.slots import Slots
from tradewind.errors import Unavailable


def test_slots_bound_concurrent_work():
    async def story():
        slots, at_work, most = Slots("uploads", at_once=2), 0, 0

        async def work():
            nonlocal at_work, most
            async with slots.hold():
                at_work += 1
                most = max(most, at_work)
                await asyncio.sleep(0)
                at_work -= 1

        await asyncio.gather(*(work() for _ in range(7)))
        return most

    assert asyncio.run(story()) == 2


def test_one_group_leaves_a_slot_to_others():
    async def story():
        slots, at_work, most = Slots("uploads", at_once=4, of_group=3), 0, 0

        async def work():
            nonlocal at_work, most
            async with slots.hold("greedy"):
                at_work += 1
                most = max(most, at_work)
                await asyncio.sleep(0.01)
                at_work -= 1

        greedy = [asyncio.create_task(work()) for _ in range(20)]
        await asyncio.sleep(0)
        async with asyncio.timeout(5), slots.hold("other"):
            assert at_work == 3
        await asyncio.gather(*greedy)
        return most

    assert asyncio.run(story()) == 3


def test_refusal_names_the_work_that_was_not_done():
    async def story():
        slots = Slots("queues of jobs", done="planned", at_once=1, patience_s=0.01)
        async with slots.hold():
            with pytest.raises(Unavailable, match="queues of jobs come faster than they are planned"):
                async with slots.hold():
                    pass

    asyncio.run(story())


def test_waiting_too_long_is_refused_and_holds_no_slot():
    async def story():
        slots = Slots("uploads", at_once=1, patience_s=0.01)
        async with slots.hold():
            with pytest.raises(Unavailable, match="uploads come faster than they are stored"):
                async with slots.hold():
                    pass
        async with slots.hold():
            pass

    asyncio.run(story())


def test_pieces_of_one_group_wait_behind_the_first_of_another():
    async def story():
        slots, done = Slots("logs", at_once=1), []

        async def work(of):
            async with slots.hold(of):
                await asyncio.sleep(0)
                done.append(of)

        await asyncio.gather(*(work("many") for _ in range(5)), work("one"))
        return done

    assert asyncio.run(story()) == ["many", "one", "many", "many", "many", "many"]


def test_waiting_too_long_behind_the_own_group_holds_no_slot():
    async def story():
        slots = Slots("logs", at_once=1, patience_s=0.01)
        async with slots.hold("many"):
            with pytest.raises(Unavailable):
                async with slots.hold("many"):
                    pass
        for of in ("many", "one"):
            async with slots.hold(of):
                pass

    asyncio.run(story())


def test_one_member_of_a_group_leaves_a_slot_to_the_others():
    async def story():
        slots = Slots("uploads", at_once=4, of_group=3, of_member=2, patience_s=0.05)
        async with slots.hold("tenant", "greedy"), slots.hold("tenant", "greedy"):
            with pytest.raises(Unavailable):
                async with slots.hold("tenant", "greedy"):
                    pass
            async with slots.hold("tenant", "other"), slots.hold("another tenant", "greedy"):
                pass

    asyncio.run(story())


def test_pieces_of_one_member_wait_behind_the_first_of_another():
    async def story():
        slots, done = Slots("logs", at_once=1), []

        async def work(member):
            async with slots.hold("tenant", member):
                await asyncio.sleep(0)
                done.append(member)

        await asyncio.gather(*(work("many") for _ in range(5)), work("one"))
        return done

    assert asyncio.run(story()) == ["many", "one", "many", "many", "many", "many"]
