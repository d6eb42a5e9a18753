"""Limits over HTTP: what live transfers are granted of them, by the same release and store as their heartbeats."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import redis

from benchmarks.api.cases import SOURCE
from services.application.transfers.silence import LONGEST_SILENCE_S
from tests.integration.live_transfers import (
    DESTINATION,
    Transfer,
    another_process,
    client,
    end_session,
    end_sessions,
    learned,
    transfer,
)
from tests.stack import Tenant

__all__ = ["client", "learned", "transfer"]


@pytest.fixture
def limited(client: httpx.Client, learned: Tenant, api: str, redis_url: str) -> Iterator[httpx.Client]:
    """A provider's client; the limits that it sets are removed again, and what transfers held of them."""
    end_sessions(learned, redis_url)
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


def test_transfer_without_a_share_waits_and_learns_why(limited: httpx.Client, client: httpx.Client) -> None:
    cap(limited, scope="tenant", concurrency=1)
    first, second = Transfer(client), Transfer(client)
    first.beat(0)
    told = second.beat(0)
    assert told["granted"] is False
    assert told["next_heartbeat_s"] < 5
    assert "other transfers" in told["reason"]


def test_transfer_that_waited_for_a_share_starts_with_its_usual_plan(
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


def test_a_beginning_that_comes_again_frees_nothing_of_who_runs(limited: httpx.Client, client: httpx.Client) -> None:
    """A cap of one stream stays with who moves bytes, whichever name comes first."""
    cap(limited, scope="tenant", streams=1)
    early, late = sorted((Transfer(client), Transfer(client)), key=lambda each: each.id)
    beginning = late.body(0)
    late.send(beginning).raise_for_status()
    late.beat(1)
    assert early.beat(0)["granted"] is False
    assert late.beat(2)["share"]["streams"] == 1
    late.send(beginning).raise_for_status()
    assert early.beat(0)["granted"] is False


def test_settings_by_hand_are_claimed_and_cut_to_the_free_share(limited: httpx.Client, client: httpx.Client) -> None:
    cap(limited, scope="tenant", concurrency=6)
    wanted: dict[str, Any] = {"wanted": {"concurrency": 9, "streams": 18}, "chunks": []}
    first, second = Transfer(client), Transfer(client)
    assert first.beat(0, **wanted)["share"] == {"concurrency": 6, "streams": None}
    assert second.beat(0, **wanted)["granted"] is False
    assert first.beat(1, **wanted, parameters={"concurrency": 6})["share"]["concurrency"] == 3
    assert second.beat(0, **wanted)["granted"] is False
    assert first.beat(2, **wanted, parameters={"concurrency": 3})["share"]["concurrency"] == 3
    assert second.beat(0, **wanted)["share"]["concurrency"] == 3


def test_claims_stay_within_the_caps_of_the_request(limited: httpx.Client, client: httpx.Client) -> None:
    cap(limited, scope="endpoint", endpoint=DESTINATION, concurrency=6)
    small = Transfer(client, limits={"concurrency": 3})
    small.beat(0)
    small.beat(1)
    assert Transfer(client).beat(0)["share"]["concurrency"] == 3


def test_long_tick_does_not_hold_a_share_for_ever(
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


def test_transfer_without_a_share_gets_none_from_another_process(
    limited: httpx.Client, client: httpx.Client, learned: Tenant, database_url: str, redis_url: str
) -> None:
    cap(limited, scope="tenant", concurrency=1)
    first, second = Transfer(client), Transfer(client)
    first.beat(0)
    assert second.beat(0)["granted"] is False
    with another_process(client, database_url, redis_url) as elsewhere:
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
