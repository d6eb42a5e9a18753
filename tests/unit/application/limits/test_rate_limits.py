"""How many calls a key may make, in one process and over several that share a store which may be away."""

import asyncio
import pickle
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.application.access.authenticate import Principal
from services.application.limits.rate_limits import (
    BURST_S,
    OFF,
    USUAL_CALLS_PER_S,
    CallKind,
    CallLimits,
    RateLimits,
    RefusedCalls,
    TakenCalls,
    parse_call_rates,
)
from services.settings import Settings
from tradewind.errors import InvalidValue, TooOften, Unavailable

AGENTS, HEARTBEAT_EVERY_S = 1_000, 5.0
TENANT, KEY = UUID(int=1), UUID(int=2)
HOLDER = Principal(TENANT, KEY, frozenset({"agent"}))


class SharedStore:
    """What ``rates.lua`` does, on a clock that stands where it is put."""

    def __init__(self) -> None:
        self.now_s, self.away = 0.0, False
        self._levels: dict[tuple[UUID, CallKind], tuple[float, float]] = {}

    async def take(self, taken: Sequence[TakenCalls]) -> Sequence[float]:
        if self.away:
            raise Unavailable("away")
        return [self._taken(each) for each in taken]

    def _taken(self, each: TakenCalls) -> float:
        level, at_s = self._levels.get((each.holder_id, each.kind), (each.burst, self.now_s))
        left = min(each.burst, level + (self.now_s - at_s) * each.per_s) - each.calls
        self._levels[each.holder_id, each.kind] = left, self.now_s
        return left


class Process:
    def __init__(self, store: SharedStore, per_s: float, *, of_tenant: float | None = None) -> None:
        self.refused: list[RefusedCalls] = []
        limits = CallLimits({CallKind.QUERY: per_s}, {} if of_tenant is None else {CallKind.QUERY: of_tenant})
        self.limits = RateLimits(limits, store, lambda: store.now_s, self.refused.append, print)

    def calls(self, count: int, holder: Principal = HOLDER) -> int:
        """So many of ``count`` that are permitted."""
        return sum(self.limits.permits(holder, CallKind.QUERY) for _ in range(count))

    def share(self) -> None:
        asyncio.run(self.limits.share())


def test_a_full_bucket_is_spent_and_fills_again() -> None:
    store = SharedStore()
    process = Process(store, per_s=2.0)
    assert process.calls(100) == 2 * BURST_S
    store.now_s = 3.0
    assert process.calls(100) == 6


def test_refusal_says_when_to_call_again() -> None:
    process = Process(SharedStore(), per_s=0.1)
    process.calls(1)
    with pytest.raises(TooOften) as refused:
        process.limits.require(HOLDER, CallKind.QUERY)
    assert (refused.value.calls, refused.value.window_s, refused.value.retry_after_s) == (1, 10, 10)
    process.share()
    assert process.refused == [RefusedCalls(TENANT, KEY, CallKind.QUERY, "key", 1)]


def test_keys_kinds_and_factors_are_counted_apart() -> None:
    process = Process(SharedStore(), per_s=1.0)
    assert process.calls(100) == 10
    assert process.calls(100, Principal(TENANT, UUID(int=3), frozenset())) == 10
    assert process.calls(100, Principal(TENANT, UUID(int=4), frozenset(), rate_factor=3.0)) == 30
    assert process.limits.permits(HOLDER, CallKind.HEARTBEAT), "no limit is set for it"


def test_another_factor_holds_at_once_and_gives_nothing_back() -> None:
    process = Process(SharedStore(), per_s=1.0)
    assert process.calls(7) == 7
    assert process.calls(100, Principal(TENANT, KEY, frozenset(), rate_factor=0.2)) == 2
    assert process.calls(100, Principal(TENANT, KEY, frozenset(), rate_factor=50.0)) == 0


def test_neither_factors_nor_more_keys_lift_what_a_tenant_may() -> None:
    store = SharedStore()
    processes = [Process(store, per_s=1.0, of_tenant=4.0) for _ in range(2)]
    keys = [Principal(TENANT, UUID(int=each), frozenset(), rate_factor=1000.0) for each in range(10, 20)]
    assert sum(processes[0].calls(100, key) for key in keys) == 4 * BURST_S
    with pytest.raises(TooOften, match="all keys of this tenant together may make 40 query calls in 10 s; wait 1 s"):
        processes[0].limits.require(keys[0], CallKind.QUERY)
    for process in processes:
        process.calls(1, keys[0])
        process.share()
    assert processes[0].refused == [RefusedCalls(TENANT, keys[0].key_id, CallKind.QUERY, "tenant", 1)]
    assert processes[1].calls(100, keys[1]) == 0
    assert processes[1].calls(1, Principal(UUID(int=9), UUID(int=30), frozenset())) == 1, "of another tenant"


def test_keys_of_a_customer_share_its_limit_and_others_do_not() -> None:
    process = Process(SharedStore(), per_s=10.0)
    customer = {"customer_id": UUID(int=40), "customer_rate_factor": 1.5}
    keys = [Principal(TENANT, UUID(int=each), frozenset(), **customer) for each in (41, 42)]
    assert [process.calls(1000, key) for key in keys] == [100, 50]
    assert process.calls(1000, Principal(TENANT, UUID(int=43), frozenset())) == 100
    with pytest.raises(TooOften, match="all keys of this customer together may make 150"):
        process.limits.require(keys[1], CallKind.QUERY)
    asyncio.run(process.limits.share())
    assert process.refused[0].limit == "customer"


def test_one_key_that_is_refused_leaves_the_rest_to_the_others() -> None:
    process = Process(SharedStore(), per_s=1.0, of_tenant=4.0)
    assert process.calls(1000) == 10
    assert process.calls(1000, Principal(TENANT, UUID(int=3), frozenset())) == 10


def test_calls_permitted_by_one_process_count_in_the_others() -> None:
    store = SharedStore()
    first, second = Process(store, 1.0), Process(store, 1.0)
    assert (first.calls(9), second.calls(1)) == (9, 1)
    for process in (first, second, first):
        process.share()
    assert second.calls(5) == 0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 40), min_size=3, max_size=3), min_size=1, max_size=40))
def test_in_the_long_run_all_processes_together_permit_what_one_may(asked: list[list[int]]) -> None:
    store, per_s = SharedStore(), 2.0
    processes = [Process(store, per_s) for _ in asked[0]]
    permitted = 0
    for second in asked:
        permitted += sum(process.calls(calls) for process, calls in zip(processes, second, strict=True))
        for process in processes:
            process.share()
        store.now_s += 1.0
    overdrawn = len(processes) * (per_s * BURST_S + per_s)  # what all may take before they know of each other
    assert permitted <= per_s * (store.now_s + BURST_S) + overdrawn


def test_each_process_counts_alone_while_the_store_is_unreachable() -> None:
    store = SharedStore()
    first, second = Process(store, 1.0), Process(store, 1.0)
    store.away = True
    assert first.calls(100) == 10
    with pytest.raises(Unavailable):
        first.share()
    store.away, store.now_s = False, 1.0
    assert first.calls(100) == 1
    first.share()
    assert second.calls(3) == 3


def test_a_thousand_agents_of_one_key_do_not_meet_the_limits() -> None:
    store = SharedStore()
    limits = RateLimits(CallLimits.usual(), store, lambda: store.now_s, print, print)
    begin = (CallKind.RECOMMEND, CallKind.HEARTBEAT, CallKind.UPLOAD)
    assert all(limits.permits(HOLDER, kind) for kind in begin for _ in range(AGENTS)), "all begin and end at once"
    for second in range(1, 61):
        store.now_s = float(second)
        assert all(limits.permits(HOLDER, CallKind.HEARTBEAT) for _ in range(int(AGENTS / HEARTBEAT_EVERY_S)))
        asyncio.run(limits.share())


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("query=5", {"query": 5.0}),
        ("query=0.5  heartbeat=2000", {"query": 0.5, "heartbeat": 2000.0}),
        ("upload=off", {"upload": None}),
    ],
)
def test_an_operator_says_how_many(text: str, changed: dict[str, float | None]) -> None:
    expected = {**USUAL_CALLS_PER_S, **changed}
    assert parse_call_rates(text) == {kind: per_s for kind, per_s in expected.items() if per_s is not None}


def test_an_operator_may_set_no_limit() -> None:
    assert parse_call_rates(OFF) == {}


def test_a_tenant_may_be_limited_where_its_keys_are_not() -> None:
    assert parse_call_rates("query=7", usual={}) == {CallKind.QUERY: 7.0}


def test_call_limit_of_a_tenant_defaults_to_that_of_four_keys(tmp_path: Path) -> None:
    def read(**said: str) -> CallLimits:
        return Settings.from_environment(said, data_folder=tmp_path).call_limits

    assert read().of_tenant[CallKind.HEARTBEAT] == 4 * USUAL_CALLS_PER_S[CallKind.HEARTBEAT]
    assert read(TRADEWIND_CALLS="query=1").of_tenant[CallKind.QUERY] == 4
    assert read(TRADEWIND_CALLS="query=1", TRADEWIND_TENANT_CALLS="query=9").of_tenant[CallKind.QUERY] == 9
    assert read(TRADEWIND_TENANT_CALLS="off") == CallLimits(USUAL_CALLS_PER_S, {})
    with pytest.raises(InvalidValue, match="TRADEWIND_TENANT_CALLS"):
        read(TRADEWIND_TENANT_CALLS="everything")


@pytest.mark.parametrize(
    "text", ["query", "query=", "query=0", "query=-1", "query=inf", "everything=3", "5", "query=1 query=off query=2"]
)
def test_invalid_limit_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_call_rates(text)


def test_fault_ends_one_round_of_sharing_only():
    failed = []

    class Broken:
        turns = 0

        async def take(self, taken):
            self.turns += 1
            if self.turns == 1:
                raise ValueError("not a number")
            raise asyncio.CancelledError

    store = Broken()
    limits = RateLimits(CallLimits({CallKind.QUERY: 1.0}, {}), store, lambda: 0.0, print, failed.append)

    async def follow():
        following = asyncio.create_task(limits.follow(every_s=0.0))
        while not following.done():
            limits.permits(HOLDER, CallKind.QUERY)
            await asyncio.sleep(0)

    asyncio.run(follow())
    assert [str(each) for each in failed] == ["not a number"]
    assert store.turns == 2


def test_limits_can_be_sent_to_another_process():
    usual = CallLimits.usual()
    assert pickle.loads(pickle.dumps(usual)) == usual
