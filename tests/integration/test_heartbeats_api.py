"""Heartbeats over HTTP, on a release that a real refresh made and sessions in a real store."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from uuid import UUID

import httpx
import pytest
import redis
import redis.asyncio

from benchmarks.api_cases import SOURCE
from services.api.middleware import MAX_HEARTBEAT_BYTES
from services.application.authenticate import Scope
from services.application.silence import LONGEST_SILENCE_S
from services.application.tune_transfer import LATE_TICKS
from services.application.tuning_sessions import TransferKey
from services.bootstrap import Container, container
from services.queue.sessions import RedisSessions
from tests.integration.live_transfers import DESTINATION, Transfer, client, learned, transfer
from tests.stack import Tenant, new_tenant, serving
from tradewind.wire.heartbeats import MAX_SEQUENCE, HeartbeatAnswer

__all__ = ["client", "learned", "transfer"]


@contextmanager
def another_process(tenant: Tenant, database_url: str, redis_url: str) -> Iterator[httpx.Client]:
    """A client of an API process that knows nothing of the transfers so far."""
    with ExitStack() as stack:
        other = stack.enter_context(container(database_url=database_url, redis_url=redis_url))
        yield stack.enter_context(tenant.client(stack.enter_context(serving(other)), Scope.AGENT))


def test_before_the_first_byte_the_recommended_plan_is_granted(transfer: Transfer) -> None:
    told = transfer.beat(0)
    assert told["granted"] is True
    assert told["changed"] is False
    assert told["parameters"] == transfer.recommended["parameters"]
    assert told["next_heartbeat_s"] == 5.0


def test_the_answer_reads_back(transfer: Transfer) -> None:
    assert HeartbeatAnswer.model_validate(transfer.beat(0)).sequence == 0


def test_a_rate_far_below_what_was_learned_changes_the_parameters_and_says_why(transfer: Transfer) -> None:
    told = [transfer.beat(sequence, 5e6) for sequence in range(8)]
    changed = [each for each in told if each["changed"]]
    assert changed
    assert all(each["reason"] for each in changed)


def test_the_same_heartbeat_twice_gets_the_same_answer(transfer: Transfer) -> None:
    transfer.beat(0)
    body = transfer.body(1, 5e6)
    first, second = transfer.send(body).json(), transfer.send(body).json()
    assert first == second


def test_an_older_heartbeat_gets_the_last_answer(transfer: Transfer) -> None:
    transfer.beat(0)
    late = transfer.body(1)
    last = transfer.beat(2)
    assert transfer.send(late).json() == last


def test_a_beginning_that_comes_again_late_begins_nothing(
    transfer: Transfer, database_url: str, redis_url: str, learned: Tenant
) -> None:
    beginning = transfer.body(0)
    transfer.send(beginning).raise_for_status()
    last = [transfer.beat(sequence, 5e6) for sequence in range(1, LATE_TICKS + 4)][-1]
    with another_process(learned, database_url, redis_url) as client:
        for each in (None, client):
            repeated = transfer.send(beginning, each).json()
            assert (repeated["sequence"], repeated["chunks"]) == (last["sequence"], last["chunks"])


def test_a_number_far_ahead_of_all_others_locks_no_transfer(
    transfer: Transfer, database_url: str, redis_url: str, learned: Tenant
) -> None:
    transfer.beat(0)
    transfer.beat(MAX_SEQUENCE)
    assert [transfer.beat(sequence)["sequence"] for sequence in (1, 2)] == [1, 2]
    transfer.beat(MAX_SEQUENCE)
    with another_process(learned, database_url, redis_url) as client:
        assert [transfer.beat(sequence, client=client)["sequence"] for sequence in (3, 4)] == [3, 4]


def test_another_process_goes_on_where_the_first_was(
    transfer: Transfer, database_url: str, redis_url: str, learned: Tenant
) -> None:
    first = [transfer.beat(sequence, 5e6) for sequence in range(5)][-1]
    with another_process(learned, database_url, redis_url) as client:
        repeated = transfer.send(transfer.body(4, 5e6), client).json()
        told = transfer.beat(5, 5e6, client=client, enquiry=None)
    assert repeated["chunks"] == first["chunks"]
    assert repeated["reason"] == first["reason"]
    assert told["sequence"] == 5


def test_a_session_that_was_lost_is_made_again_from_the_heartbeat(
    transfer: Transfer, database_url: str, redis_url: str, learned: Tenant
) -> None:
    for sequence in range(3):
        transfer.beat(sequence)
    with redis.Redis.from_url(redis_url) as store:
        store.delete(f"tradewind:session:{learned.id}:{transfer.id}")
    with another_process(learned, database_url, redis_url) as client:
        assert transfer.beat(3, client=client)["granted"] is True


def test_a_transfer_that_nobody_knows_is_asked_for_its_enquiry(transfer: Transfer) -> None:
    answer = transfer.send(transfer.body(4, enquiry=None))
    assert answer.status_code == 409
    assert "enquiry" in answer.json()["detail"]


def test_another_tenants_transfer_is_not_known(
    transfer: Transfer, api: str, parts: Container, database_url: str
) -> None:
    transfer.beat(0)
    stranger = new_tenant(parts, database_url)
    with stranger.client(api, Scope.AGENT) as client:
        assert transfer.send(transfer.body(1, enquiry=None), client).status_code == 409


def end_session(tenant: Tenant, transfer: Transfer, redis_url: str) -> None:
    """As the completion of a transfer does."""

    async def end() -> None:
        store = redis.asyncio.Redis.from_url(redis_url)
        await RedisSessions(store).end(TransferKey(tenant.id, UUID(transfer.id)))
        await store.aclose()

    asyncio.run(end())


def test_no_heartbeat_revives_an_ended_transfer(transfer: Transfer, learned: Tenant, redis_url: str) -> None:
    transfer.beat(0)

    end_session(learned, transfer, redis_url)
    answer = transfer.send(transfer.body(1))
    assert answer.status_code == 409
    assert "over" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"throughput_bps": -1.0}, "throughput_bps"),
        ({"sequence": -1}, "sequence"),
        ({"sequence": MAX_SEQUENCE + 1}, "sequence"),
        ({"throughput_bps": 1e30}, "throughput_bps"),
        ({"sent_bytes": 10, "retransmitted_bytes": 20}, "retransmitted_bytes"),
        ({"interval_s": 1e12}, "interval_s"),
        ({"at": "yesterday"}, "at"),
        ({"chunks": "none"}, "chunks"),
        ({"surprise": 1}, "surprise"),
    ],
    ids=str,
)
def test_impossible_values_are_refused_by_name(transfer: Transfer, changes: dict[str, Any], field: str) -> None:
    answer = transfer.send(transfer.body(1) | changes)
    assert answer.status_code == 422
    assert field in str(answer.json()["errors"])


def test_a_clock_that_jumps_back_changes_nothing(transfer: Transfer) -> None:
    transfer.beat(0)
    transfer.beat(1)
    assert transfer.beat(2, at="2001-01-01T00:00:00Z")["sequence"] == 2


def test_a_store_of_sessions_that_is_away_stops_no_transfer(
    transfer: Transfer, database_url: str, learned: Tenant
) -> None:
    with another_process(learned, database_url, "redis://127.0.0.1:1") as client:
        told = [transfer.beat(sequence, 5e6, client=client) for sequence in range(8)]
    assert all(each["granted"] for each in told)
    assert any(each["changed"] for each in told)
    assert all(each["journalled_sequence"] == -1 for each in told)


@pytest.fixture
def limited(client: httpx.Client, learned: Tenant, api: str, redis_url: str) -> Iterator[httpx.Client]:
    """A provider's client; the limits that it sets are removed again, and the shares that transfers held of them."""
    with learned.client(api) as provider:
        yield provider
        for limit in provider.get("/v1/limits").json():
            provider.put("/v1/limits", json={**limit, "concurrency": None, "streams": None}).raise_for_status()
        assert provider.get("/v1/limits").json() == []
    with redis.Redis.from_url(redis_url) as store:
        for scope in store.scan_iter(f"tradewind:shares:{learned.id}:*"):
            store.delete(scope)


def cap(provider: httpx.Client, **limit: Any) -> list[dict[str, Any]]:
    answer = provider.put("/v1/limits", json=limit)
    assert answer.status_code == 200, answer.text
    stand: list[dict[str, Any]] = answer.json()
    return stand


def streams_of(told: dict[str, Any]) -> int:
    return sum(
        each["parameters"].get("concurrency", 1) * each["parameters"].get("parallelism", 1) for each in told["chunks"]
    )


@pytest.mark.parametrize(
    "place",
    [{"scope": "tenant"}, {"scope": "endpoint", "endpoint": SOURCE}, {"scope": "endpoint", "endpoint": DESTINATION}],
    ids=str,
)
def test_a_limit_holds_for_what_is_recommended(
    limited: httpx.Client, client: httpx.Client, place: dict[str, Any]
) -> None:
    free = streams_of(Transfer(client).recommended)
    cap(limited, **place, streams=free - 1)
    assert streams_of(Transfer(client).recommended) <= free - 1


def test_two_transfers_share_a_limit_and_it_is_never_exceeded(limited: httpx.Client, client: httpx.Client) -> None:
    cap(limited, scope="link", source=SOURCE, destination=DESTINATION, streams=6)
    first, second = Transfer(client), Transfer(client)
    assert first.beat(0)["granted"] is True
    told: dict[str, Any] = {"granted": False}
    for sequence in range(1, 5):
        told = second.beat(sequence if told["granted"] else 0)
        shrunk = first.beat(sequence)
        assert streams_of(shrunk) <= 6
        if told["granted"]:
            assert streams_of(shrunk) + streams_of(told) <= 6
    assert told["granted"] is True


def test_a_transfer_without_a_share_waits_and_is_told_why(limited: httpx.Client, client: httpx.Client) -> None:
    cap(limited, scope="tenant", concurrency=1)
    first, second = Transfer(client), Transfer(client)
    first.beat(0)
    told = second.beat(0)
    assert told["granted"] is False
    assert told["next_heartbeat_s"] < 5
    assert "other transfers" in told["reason"]


def test_who_has_waited_for_a_share_begins_as_it_would_have_at_once(
    limited: httpx.Client, client: httpx.Client, learned: Tenant, redis_url: str
) -> None:
    first, second, third = Transfer(client), Transfer(client), Transfer(client)
    cap(limited, scope="tenant", streams=streams_of(first.recommended))
    first.beat(0)
    assert second.beat(0)["granted"] is False
    end_session(learned, first, redis_url)
    waited = second.beat(0)
    end_session(learned, second, redis_url)
    assert third.beat(0)["chunks"] == waited["chunks"]
    assert streams_of(waited) == streams_of(first.recommended)


def test_a_beginning_that_comes_again_frees_nothing_of_who_runs_without_a_share(
    limited: httpx.Client, client: httpx.Client
) -> None:
    """Under a cap of one stream the first of two names is granted it, and the other goes on until it hears so."""
    cap(limited, scope="tenant", streams=1)
    early, late = sorted((Transfer(client), Transfer(client)), key=lambda each: each.id)
    beginning = late.body(0)
    late.send(beginning).raise_for_status()
    late.beat(1)
    assert early.beat(0)["granted"] is False
    assert late.beat(2)["share"]["streams"] == 0
    late.send(beginning).raise_for_status()
    assert early.beat(0)["granted"] is False


def test_what_a_user_has_set_is_claimed_and_cut_to_what_is_left(limited: httpx.Client, client: httpx.Client) -> None:
    cap(limited, scope="tenant", concurrency=6)
    wanted: dict[str, Any] = {"wanted": {"concurrency": 9, "streams": 18}, "chunks": []}
    first, second = Transfer(client), Transfer(client)
    assert first.beat(0, **wanted)["share"] == {"concurrency": 6, "streams": None}
    assert second.beat(0, **wanted)["granted"] is False
    assert first.beat(1, **wanted, parameters={"concurrency": 6})["share"]["concurrency"] == 3
    assert second.beat(0, **wanted)["granted"] is False
    assert first.beat(2, **wanted, parameters={"concurrency": 3})["share"]["concurrency"] == 3
    assert second.beat(0, **wanted)["share"]["concurrency"] == 3


def test_no_more_is_claimed_than_the_caps_of_the_enquiry_allow(limited: httpx.Client, client: httpx.Client) -> None:
    cap(limited, scope="endpoint", endpoint=DESTINATION, concurrency=6)
    small = Transfer(client, limits={"concurrency": 3})
    small.beat(0)
    small.beat(1)
    assert Transfer(client).beat(0)["share"]["concurrency"] == 3


def test_a_share_is_not_held_for_ever_by_a_tick_that_is_told_to_be_long(
    limited: httpx.Client, transfer: Transfer, learned: Tenant, redis_url: str
) -> None:
    cap(limited, scope="tenant", concurrency=6)
    transfer.beat(0)
    transfer.beat(1, interval_s=1e7)
    with redis.Redis.from_url(redis_url) as store:
        entry = store.hget(f"tradewind:shares:{learned.id}:tenant\t\t", transfer.id)
        seconds, _ = store.time()
    assert isinstance(entry, bytes)
    expires_ms = int(entry.split()[-1])
    assert expires_ms <= 1000 * (seconds + 1 + LONGEST_SILENCE_S)


def test_a_heartbeat_of_more_bytes_than_one_can_have_is_refused(transfer: Transfer) -> None:
    body = json.dumps(transfer.body(0)) + " " * MAX_HEARTBEAT_BYTES
    answer = transfer.client.post(f"/v1/transfers/{transfer.id}/heartbeats", content=body)
    assert answer.status_code == 413


def test_a_transfer_without_a_share_gets_none_by_asking_another_process(
    limited: httpx.Client, client: httpx.Client, learned: Tenant, database_url: str, redis_url: str
) -> None:
    cap(limited, scope="tenant", concurrency=1)
    first, second = Transfer(client), Transfer(client)
    first.beat(0)
    assert second.beat(0)["granted"] is False
    with another_process(learned, database_url, redis_url) as elsewhere:
        assert second.beat(0, client=elsewhere)["granted"] is False


def test_a_running_transfer_obeys_a_limit_set_meanwhile(
    limited: httpx.Client, client: httpx.Client, transfer: Transfer
) -> None:
    transfer.beat(0)
    transfer.beat(1)
    cap(limited, scope="endpoint", endpoint=SOURCE, streams=2)
    assert streams_of(transfer.beat(2)) <= 2


@pytest.mark.parametrize(
    ("limit", "field"),
    [
        ({"scope": "tenant", "streams": 0}, "streams"),
        ({"scope": "link", "source": SOURCE, "streams": 4}, "destination"),
        ({"scope": "endpoint", "streams": 4}, "endpoint"),
        ({"scope": "tenant", "endpoint": SOURCE, "streams": 4}, "endpoint"),
        ({"scope": "planet", "streams": 4}, "scope"),
    ],
    ids=str,
)
def test_an_impossible_limit_is_refused_by_name(limited: httpx.Client, limit: dict[str, Any], field: str) -> None:
    answer = limited.put("/v1/limits", json=limit)
    assert answer.status_code == 422
    assert field in str(answer.json()["errors"])


def test_an_agents_key_sets_no_limits(client: httpx.Client) -> None:
    assert client.put("/v1/limits", json={"scope": "tenant", "streams": 4}).status_code == 403
