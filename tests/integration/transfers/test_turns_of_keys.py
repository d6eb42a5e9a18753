"""Shares of caps with fewer units than keys, and the weight of a key with several transfers."""

import asyncio
import itertools
from typing import Any
from uuid import UUID

import pytest

from services.application.transfers.sessions import TransferKey
from services.queue.sessions import RedisSessions
from tests.integration.transfers.test_sessions import TENANT, new_transfer, run, streams_of, tick

__all__ = ["run"]


@pytest.mark.parametrize("transfers_a_key", [1, 3])
def test_each_key_beyond_the_units_of_a_cap_has_one_in_some_turn(run: Any, transfers_a_key: int) -> None:
    """Nobody ever ends, and the same names come first in every turn: each transfer gets a unit that another leaves
    idle.
    """

    async def story(sessions: RedisSessions) -> None:
        turn_s, cap, claims = 0.05, 2, streams_of(2)
        turning = RedisSessions(sessions._client, turn_s=turn_s)
        live = {new_transfer(): UUID(int=100 + number // transfers_a_key) for number in range(7 * transfers_a_key)}
        uses = dict.fromkeys(live, 0)
        served: set[TransferKey] = set()
        started = asyncio.get_running_loop().time()
        for sequence in itertools.count():
            for key, owner in live.items():
                claim = {"claims": claims, "requested": (1, 1), "used": (0, uses[key]), "is_idle": sequence > 0}
                uses[key] = (await turning.exchange(key, tick(sequence, owner=owner, **claim))).share.streams or 0
                assert sum(uses.values()) <= cap
                if uses[key]:
                    served.add(key)
            elapsed_turns = (asyncio.get_running_loop().time() - started) / turn_s
            if len(served) == len(live):
                return
            assert elapsed_turns < 60 * len(live) / cap, f"{len(live) - len(served)} never had a unit"

    run(story)


def test_units_that_move_bytes_are_taken_from_nobody_and_the_next_has_them_by_lot(run: Any) -> None:
    """A transfer that runs cannot do with less than one stream: a cap would be exceeded."""

    async def story(sessions: RedisSessions) -> None:
        turn_s, cap, claims = 0.02, 2, streams_of(2)
        turning = RedisSessions(sessions._client, turn_s=turn_s)
        waiting = {new_transfer(): UUID(int=100 + number) for number in range(9)}
        beats = dict.fromkeys(waiting, 0)
        running: dict[TransferKey, int] = {}  # how often it has been heard of since it began
        while waiting:
            for key, owner in tuple(waiting.items()):
                is_running = key in running
                claim = {"claims": claims, "requested": (1, 1), "used": (0, int(is_running)), "is_idle": not is_running}
                share = (await turning.exchange(key, tick(beats[key], owner=owner, **claim))).share
                beats[key] += 1
                assert share.streams == 1 or not is_running
                if share.streams:
                    running[key] = running.get(key, 0) + 1
                assert len(running) <= cap
                if running.get(key, 0) > 8:  # over several turns
                    await turning.end(key)
                    del running[key], waiting[key]
            await asyncio.sleep(turn_s / 4)

    run(story)


def test_units_stay_where_they_are_within_a_turn(run: Any) -> None:
    async def story(sessions: RedisSessions) -> None:
        turning, claims = RedisSessions(sessions._client, turn_s=10 * 365 * 86_400.0), streams_of(3)
        live = dict.fromkeys([new_transfer() for _ in range(9)], 0)
        holders = []
        for sequence in range(8):
            for number, key in enumerate(live):
                wants = tick(
                    sequence, claims=claims, requested=(1, 1), used=(0, live[key]), owner=UUID(int=100 + number)
                )
                live[key] = (await turning.exchange(key, wants)).share.streams or 0
            holders.append({key for key, streams in live.items() if streams})
        assert len(holders[-1]) == 3
        assert all(each == holders[-1] for each in holders[4:])

    run(story)


def test_weight_of_a_key_is_the_largest_of_its_transfers(run: Any) -> None:
    async def story(sessions: RedisSessions) -> None:
        for weights in ((1.0, 3.0, 2.0), (3.0, 2.0, 1.0)):
            claims = streams_of(8)
            for weight in weights:
                await sessions.exchange(new_transfer(), tick(0, claims=claims, requested=(1, 1), weight=weight))
            other = tick(0, claims=claims, requested=(1, 1), weight=0.5, owner=UUID(int=9))
            await sessions.exchange(new_transfer(), other)
            (held,) = await sessions.measure_held(TENANT, [claims[0].scope])
            assert (held.transfers, held.weight, held.streams) == (4, 3.5, 4)

    run(story)
