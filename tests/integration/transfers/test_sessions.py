"""Sessions of live transfers in a real store: what one heartbeat does in one step."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest
import redis.asyncio

from services.application.transfers.sessions import (
    CapClaim,
    ExchangeOutcome,
    ExchangeResult,
    SessionLimits,
    SessionsUnreachable,
    Share,
    Tick,
    TransferKey,
)
from services.queue.sessions import JOURNAL, SESSION_TTL_S, RedisSessions
from tradewind.units import KIB, MIB

TENANT = UUID(int=7)
OWNER = UUID(int=8)


def tick(sequence: int, *, known: int | None = None, **changes: Any) -> Tick:
    values: dict[str, Any] = {
        "sequence": sequence,
        "known": sequence - 1 if known is None else known,
        "owner": OWNER,
        "state": b'{"sequence": %d}' % sequence,
        "request": b"{}",
        "heartbeat": b"{}",
        "decision": b"{}",
        "claims": (),
        "used": (0, 0),
        "requested": (4, 4),
        "weight": 1.0,
        "silent_after_s": 15.0,
    }
    return Tick(**(values | changes))


def streams_of(cap: int) -> tuple[CapClaim, ...]:
    return (CapClaim(f"test-{uuid4()}", None, cap),)


def new_transfer() -> TransferKey:
    return TransferKey(TENANT, uuid4())


@pytest.fixture
def run(redis_url: str) -> Callable[[Callable[[RedisSessions], Coroutine[Any, Any, Any]]], Any]:
    """Runs a story with the sessions of a store."""

    @asynccontextmanager
    async def sessions(limits: SessionLimits) -> AsyncIterator[RedisSessions]:
        client = redis.asyncio.Redis.from_url(redis_url)
        try:
            yield RedisSessions(client, limits=limits)
        finally:
            await client.aclose()

    def runner(
        story: Callable[[RedisSessions], Coroutine[Any, Any, Any]],
        limits: SessionLimits = SessionLimits(),  # noqa: B008
    ) -> Any:
        async def with_sessions() -> Any:
            async with sessions(limits) as opened:
                return await story(opened)

        return asyncio.run(with_sessions())

    return runner


def test_state_of_another_process_is_returned_instead_of_overwritten(run: Any) -> None:
    async def story(sessions: RedisSessions) -> None:
        key = new_transfer()
        assert (await sessions.exchange(key, tick(0))).outcome is ExchangeOutcome.STORED
        assert (await sessions.exchange(key, tick(1))).outcome is ExchangeOutcome.STORED
        late = await sessions.exchange(key, tick(2, known=0))
        assert late.outcome is ExchangeOutcome.OVERTAKEN
        assert late.state == b'{"sequence": 1}'
        assert (await sessions.exchange(key, tick(2, known=1))).outcome is ExchangeOutcome.STORED

    run(story)


def test_process_with_a_newer_state_than_the_store_continues(run: Any) -> None:
    async def story(sessions: RedisSessions) -> None:
        key = new_transfer()
        await sessions.exchange(key, tick(0))
        assert (await sessions.exchange(key, tick(5, known=4))).outcome is ExchangeOutcome.STORED

    run(story)


def test_no_heartbeat_revives_a_transfer_that_has_ended(run: Any) -> None:
    async def story(sessions: RedisSessions) -> ExchangeResult:
        key = new_transfer()
        await sessions.exchange(key, tick(0))
        await sessions.end(key)
        return await sessions.exchange(key, tick(1))

    assert run(story).outcome is ExchangeOutcome.ENDED


def test_the_tick_is_handed_to_the_journal_as_it_came(run: Any) -> None:
    async def story(sessions: RedisSessions) -> dict[bytes, bytes]:
        key = new_transfer()
        await sessions.exchange(key, tick(0, heartbeat=b'{"sequence":0}', decision=b'{"kind":"hold"}'))
        entries = await sessions._client.xrevrange(JOURNAL, count=50)
        found: dict[bytes, bytes] = next(
            each for _, each in entries if each[b"transfer"] == str(key.transfer_id).encode()
        )
        return found

    entry = run(story)
    assert entry[b"tenant"] == str(TENANT).encode()
    assert (entry[b"sequence"], entry[b"heartbeat"], entry[b"decision"]) == (
        b"0",
        b'{"sequence":0}',
        b'{"kind":"hold"}',
    )


def test_each_journal_entry_has_the_request(run: Any) -> None:
    async def story(sessions: RedisSessions) -> list[bool]:
        key = new_transfer()
        await sessions.exchange(key, tick(0, heartbeat=b"{}"))
        await sessions.exchange(key, tick(1, heartbeat=b"{}"))
        entries = await sessions._client.xrange(JOURNAL)
        own = [each for _, each in entries if each[b"transfer"] == str(key.transfer_id).encode()]
        return [b"enquiry" in each for each in own]

    assert run(story) == [True, True]


def test_heartbeats_that_nobody_takes_stay_within_their_memory(run: Any) -> None:
    async def story(sessions: RedisSessions) -> tuple[int, bytes]:
        key, few = new_transfer(), RedisSessions(sessions._client, journal_bytes=MIB)
        await sessions._client.xtrim(JOURNAL, maxlen=0, approximate=False)  # of small ones as many would weigh little
        for sequence in range(300):
            await few.exchange(key, tick(sequence, heartbeat=b"x" * 16 * KIB))
        (_, last), *_ = await sessions._client.xrevrange(JOURNAL, count=1)
        return await sessions._client.memory_usage(JOURNAL), last[b"sequence"]

    used_bytes, last = run(story)
    assert used_bytes < MIB + 100 * 20 * KIB
    assert last == b"299"


def test_a_transfer_alone_is_granted_what_it_wants(run: Any) -> None:
    async def story(sessions: RedisSessions) -> Share:
        return (await sessions.exchange(new_transfer(), tick(0, claims=streams_of(16), requested=(4, 8)))).share

    assert run(story) == Share(None, 8)


def test_a_newcomer_gets_what_is_free_and_its_fair_part_once_the_other_has_shrunk(run: Any) -> None:
    async def story(sessions: RedisSessions) -> None:
        claims, first, second = streams_of(16), new_transfer(), new_transfer()
        took = await sessions.exchange(first, tick(0, claims=claims, requested=(4, 14)))
        assert took.share.streams == 14
        came = await sessions.exchange(second, tick(0, claims=claims, requested=(4, 14)))
        assert came.share.streams == 2  # all that is free
        told = await sessions.exchange(first, tick(1, claims=claims, requested=(4, 28), used=(4, 14)))
        assert told.share.streams == 8  # its part; it still uses 14, so nothing is free yet
        waits = await sessions.exchange(second, tick(1, claims=claims, requested=(4, 14), used=(1, 2)))
        assert waits.share.streams == 2
        await sessions.exchange(first, tick(2, claims=claims, requested=(4, 16), used=(4, 8)))
        grown = await sessions.exchange(second, tick(2, claims=claims, requested=(4, 14), used=(1, 2)))
        assert grown.share.streams == 8

    run(story)


def test_a_full_cap_grants_nothing_until_someone_ends(run: Any) -> None:
    async def story(sessions: RedisSessions) -> None:
        claims, first, second = streams_of(3), new_transfer(), new_transfer()
        await sessions.exchange(first, tick(0, claims=claims, requested=(3, 3)))
        assert not (await sessions.exchange(second, tick(0, claims=claims))).share.granted
        await sessions.end(first)
        assert (await sessions.exchange(second, tick(0, known=0, claims=claims))).share.streams == 3

    run(story)


def test_the_share_of_a_silent_transfer_goes_to_others(run: Any) -> None:
    async def story(sessions: RedisSessions) -> None:
        claims = streams_of(3)
        await sessions.exchange(new_transfer(), tick(0, claims=claims, requested=(3, 3), silent_after_s=0.0))
        assert (await sessions.exchange(new_transfer(), tick(0, claims=claims))).share.streams == 3

    run(story)


def test_a_weight_of_three_gets_three_times_as_much(run: Any) -> None:
    async def story(sessions: RedisSessions) -> None:
        claims, heavy, light = streams_of(16), new_transfer(), new_transfer()
        for sequence in range(3):
            a = await sessions.exchange(heavy, tick(sequence, claims=claims, requested=(1, 16), weight=3.0))
            b = await sessions.exchange(light, tick(sequence, claims=claims, requested=(1, 16)))
        assert (a.share.streams, b.share.streams) == (12, 4)

    run(story)


@pytest.mark.parametrize("seed", range(5))
def test_granted_shares_never_exceed_a_cap(run: Any, seed: int) -> None:
    async def story(sessions: RedisSessions) -> None:
        rng = random.Random(seed)
        cap = rng.randint(1, 20)
        claims = streams_of(cap)
        live = {new_transfer(): (-1, 0) for _ in range(rng.randint(1, 6))}
        for _ in range(60):
            key = rng.choice(list(live))
            sequence, used = live[key]
            if rng.random() < 0.1:
                await sessions.end(key)
                live[new_transfer()] = (-1, 0)
                del live[key]
                continue
            wanted = (1, rng.randint(1, 2 * cap))
            share = (
                await sessions.exchange(key, tick(sequence + 1, claims=claims, requested=wanted, used=(0, used)))
            ).share.streams
            assert share is not None
            live[key] = (sequence + 1, min(share, wanted[1]))
            assert sum(streams for _, streams in live.values()) <= cap

    run(story)


def test_unreachable_store_is_reported() -> None:
    async def story() -> None:
        client = redis.asyncio.Redis.from_url("redis://127.0.0.1:1", socket_connect_timeout=1)
        try:
            with pytest.raises(SessionsUnreachable):
                await RedisSessions(client).exchange(new_transfer(), tick(0))
        finally:
            await client.aclose()

    asyncio.run(story())


def test_session_belongs_to_the_key_that_started_it(run: Any) -> None:
    async def story(sessions: RedisSessions) -> None:
        key = new_transfer()
        await sessions.exchange(key, tick(0))
        others = await sessions.exchange(key, tick(1, owner=UUID(int=9)))
        assert (others.outcome, others.owner) == (ExchangeOutcome.OTHER_KEY, OWNER)
        assert (await sessions.exchange(key, tick(1))).outcome is ExchangeOutcome.STORED

    run(story)


def test_owner_by_the_database_gets_the_session_of_its_transfer_back(run: Any) -> None:
    async def story(sessions: RedisSessions) -> None:
        key = new_transfer()
        await sessions.exchange(key, tick(5, owner=UUID(int=9)))
        mine = tick(1, is_owner_known=True)
        assert (await sessions.exchange(key, mine)).outcome is ExchangeOutcome.STORED
        assert (await sessions.exchange(key, tick(6, owner=UUID(int=9)))).outcome is ExchangeOutcome.OTHER_KEY

    run(story)


@pytest.mark.parametrize(
    ("limits", "is_of_tenant"), [(SessionLimits(2, 100), False), (SessionLimits(100, 2), True)], ids=["key", "tenant"]
)
def test_session_limit_refuses_new_sessions_and_lets_existing_ones_go_on(
    run: Any, limits: SessionLimits, *, is_of_tenant: bool
) -> None:
    async def story(sessions: RedisSessions) -> None:
        tenant, owner = uuid4(), uuid4()
        first, second, third = (TransferKey(tenant, uuid4()) for _ in range(3))
        for key in (first, second):
            assert (await sessions.exchange(key, tick(0, owner=owner))).outcome is ExchangeOutcome.STORED
        refused = await sessions.exchange(third, tick(0, owner=owner))
        assert (refused.outcome, refused.is_of_tenant) == (ExchangeOutcome.FULL, is_of_tenant)
        assert 0 < refused.retry_after_s <= SESSION_TTL_S
        assert (await sessions.exchange(first, tick(1, owner=owner))).outcome is ExchangeOutcome.STORED
        other = await sessions.exchange(TransferKey(tenant, uuid4()), tick(0, owner=uuid4()))
        assert (other.outcome is ExchangeOutcome.FULL) is is_of_tenant
        await sessions.end(first)
        assert (await sessions.exchange(third, tick(0, owner=owner))).outcome is ExchangeOutcome.STORED

    run(story, limits)


def test_sessions_that_were_forgotten_count_no_longer(run: Any, redis_url: str) -> None:
    async def story(sessions: RedisSessions) -> None:
        tenant, owner = uuid4(), uuid4()
        forgotten = TransferKey(tenant, uuid4())
        await sessions.exchange(forgotten, tick(0, owner=owner))
        client = redis.asyncio.Redis.from_url(redis_url)
        for live in (f"tradewind:live:{tenant}", f"tradewind:live:{tenant}:{owner}"):
            await client.zadd(live, {str(forgotten.transfer_id): 1})
        await client.aclose()
        assert (
            await sessions.exchange(TransferKey(tenant, uuid4()), tick(0, owner=owner))
        ).outcome is ExchangeOutcome.STORED

    run(story, SessionLimits(1, 1))
