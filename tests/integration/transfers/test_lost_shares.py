"""Shares that the store has lost, or that ran out while it was away: caps hold until all who still run have told so."""

import random
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
import redis

from services.application.transfers.sessions import CapClaim, Share, TransferKey
from services.application.transfers.silence import COMING_BACK_S, LONGEST_GAP_S
from services.embedded.valkey import EmbeddedValkey
from services.queue.sessions import WATCH, RedisSessions
from tests.integration.transfers.test_sessions import TENANT, new_transfer, run, streams_of, tick

__all__ = ["run"]

CAP = 16


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedValkey]:
    """A store that may be emptied."""
    with EmbeddedValkey.temporary() as server:
        yield server


class Watch:
    """The mark of the watch, by which a test lets time pass for the store."""

    def __init__(self, store: redis.Redis) -> None:
        self.store = store

    def passes(self, seconds: float) -> None:
        """So much time with the store there."""
        self.store.hincrby(WATCH, "since", -round(1000 * seconds))

    def breaks(self) -> None:
        """A time without the store in which shares may have run out."""
        self.store.hincrby(WATCH, "last", -round(1000 * LONGEST_GAP_S) - 1)

    def sets_its_clock_back(self, seconds: float) -> None:
        """All that it noted lies so much later than it was."""
        for name in ("since", "last"):
            self.store.hincrby(WATCH, name, round(1000 * seconds))

    def loses_everything(self) -> None:
        self.store.flushall()


@pytest.fixture
def watch(redis_url: str) -> Iterator[Watch]:
    with redis.Redis.from_url(redis_url) as store:
        store.flushall()
        yield Watch(store)


async def beat(
    sessions: RedisSessions, key: TransferKey, sequence: int, claims: tuple[CapClaim, ...], *, used: int, **changes: Any
) -> int | None:
    """Streams that are granted to a transfer which would take the whole cap."""
    asked = tick(sequence, **({"claims": claims, "used": (1, used), "requested": (1, CAP)} | changes))
    return (await sessions.exchange(key, asked)).share.streams


async def two_with_half_each(
    sessions: RedisSessions, claims: tuple[CapClaim, ...], *, silent_after_s: float
) -> list[TransferKey]:
    pair = [new_transfer(), new_transfer()]
    for sequence, used in enumerate((0, CAP // 2)):
        for key in pair:
            wants = {"requested": (1, CAP // 2), "silent_after_s": silent_after_s}
            assert await beat(sessions, key, sequence, claims, used=used, **wants) == CAP // 2
    return pair


@pytest.mark.parametrize("how", ["lost", "ran out"])
def test_the_first_that_comes_back_takes_no_more_than_it_has(run: Any, watch: Watch, how: str) -> None:
    async def story(sessions: RedisSessions) -> None:
        claims = streams_of(CAP)
        await sessions.watch()
        watch.passes(COMING_BACK_S)
        one, other = await two_with_half_each(sessions, claims, silent_after_s=15.0 if how == "lost" else 0.0)
        watch.loses_everything() if how == "lost" else watch.breaks()
        assert await beat(sessions, one, 2, claims, used=CAP // 2) == CAP // 2
        newcomer = new_transfer()
        assert await beat(sessions, newcomer, 0, claims, used=0) == 0
        shrunk = await beat(sessions, other, 2, claims, used=CAP // 2)
        assert shrunk is not None
        assert 0 < shrunk < CAP // 2  # its part, so that the newcomer gets its own
        await sessions.end(other)
        watch.passes(COMING_BACK_S)
        assert await beat(sessions, newcomer, 0, claims, used=0, known=0) == CAP // 2

    run(story)


def test_a_store_that_was_there_all_the_time_holds_nobody_up(run: Any, watch: Watch) -> None:
    async def story(sessions: RedisSessions) -> Share:
        await sessions.watch()
        watch.passes(COMING_BACK_S)
        await sessions.watch()
        return (await sessions.exchange(new_transfer(), tick(0, claims=streams_of(CAP), requested=(1, CAP)))).share

    assert run(story).streams == CAP


def test_a_clock_that_was_set_back_holds_nobody_up_for_longer_than_all_need_to_come_back(
    run: Any, watch: Watch
) -> None:
    async def story(sessions: RedisSessions) -> None:
        claims, newcomer = streams_of(CAP), new_transfer()
        await sessions.watch()
        watch.sets_its_clock_back(7200)
        assert await beat(sessions, newcomer, 0, claims, used=0) == 0
        watch.passes(COMING_BACK_S)
        assert await beat(sessions, newcomer, 0, claims, used=0, known=0) == CAP

    run(story)


def test_a_share_claimed_before_the_clock_was_set_back_runs_out(run: Any, watch: Watch) -> None:
    async def story(sessions: RedisSessions) -> None:
        claims = streams_of(CAP)
        await sessions.watch()
        watch.passes(COMING_BACK_S)
        two_hours_later = {"silent_after_s": 7200.0}
        assert await beat(sessions, new_transfer(), 0, claims, used=0, **two_hours_later) == CAP
        (held,) = await sessions.measure_held(TENANT, [claims[0].scope])
        assert held.transfers == 0
        assert await beat(sessions, new_transfer(), 0, claims, used=0) == CAP

    run(story)


def test_transfers_without_caps_are_held_up_by_nothing(run: Any, watch: Watch) -> None:
    async def story(sessions: RedisSessions) -> Share:
        return (await sessions.exchange(new_transfer(), tick(0))).share

    assert run(story).granted


@pytest.mark.parametrize("seed", range(5))
def test_shares_in_use_never_exceed_a_cap_after_the_store_forgets(run: Any, watch: Watch, seed: int) -> None:
    async def story(sessions: RedisSessions) -> None:
        rng = random.Random(seed)
        cap = rng.randint(2, 20)
        claims = streams_of(cap)
        live: dict[TransferKey, tuple[int, int]] = {TransferKey(UUID(int=7), UUID(int=n)): (-1, 0) for n in range(5)}
        heard: set[TransferKey] = set()
        for _ in range(150):
            if rng.random() < 0.05:
                watch.loses_everything() if rng.random() < 0.5 else watch.breaks()
                heard.clear()
            key = rng.choice(list(live))
            sequence, used = live[key]
            if rng.random() < 0.1:
                await sessions.end(key)
                del live[key]
                live[new_transfer()] = (-1, 0)
                continue
            sequence = sequence + 1 if used else 0
            request = tick(sequence, known=10**6, claims=claims, used=(0, used), requested=(1, rng.randint(1, 2 * cap)))
            share = (await sessions.exchange(key, request)).share.streams
            assert share is not None
            live[key] = (sequence, min(share, request.requested[1]))
            heard.add(key)
            if heard >= {name for name, (_, streams) in live.items() if streams}:
                watch.passes(COMING_BACK_S)
            assert sum(streams for _, streams in live.values()) <= cap

    run(story)
