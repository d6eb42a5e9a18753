"""Caps that agents learn from servers: whom they bind, who sees them, and how they end."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from benchmarks.api.cases import SOURCE
from tests.integration.live_transfers import DESTINATION, ENQUIRY, client, learned
from tests.stack import Tenant

__all__ = ["client", "learned"]

PLACE = {"scope": "endpoint", "endpoint": SOURCE}


@pytest.fixture
def provider(learned: Tenant, api: str) -> Iterator[httpx.Client]:
    with learned.client(api) as opened:
        yield opened
        opened.put("/v1/limits", json=PLACE).raise_for_status()


@pytest.fixture
def other(provider: httpx.Client, api: str) -> Iterator[httpx.Client]:
    """An agent of another customer."""
    created = provider.post("/v1/keys", json={"name": "another customer", "scopes": ["agent"]})
    assert created.status_code == 201, created.text
    headers = {"Authorization": f"Bearer {created.json()['secret']}"}
    with ExitStack() as stack:
        yield stack.enter_context(httpx.Client(base_url=api, headers=headers, timeout=60))


def count_streams(client: httpx.Client) -> int:
    answer = client.post("/v1/recommend", json=ENQUIRY).raise_for_status().json()
    settings = [chunk["parameters"] for chunk in answer["chunks"]]
    return sum(each.get("concurrency", 1) * each.get("parallelism", 1) for each in settings)


def report(client: httpx.Client, streams: Any, *, ago: timedelta = timedelta(0)) -> httpx.Response:
    at = (datetime.now(UTC) - ago).isoformat()
    return client.post("/v1/limits/learned", json={"endpoint": SOURCE, "streams": streams, "refused_at": at})


def test_a_learned_cap_bounds_the_agent_that_met_it_and_then_all(
    provider: httpx.Client, client: httpx.Client, other: httpx.Client
) -> None:
    free = count_streams(client)
    assert free > 2
    report(client, 2).raise_for_status()
    assert count_streams(client) <= 2
    assert count_streams(other) == free
    assert other.get("/v1/limits").json() == []
    (shown,) = client.get("/v1/limits").json()
    assert shown["learned_at"]
    assert (shown["endpoint"], shown["streams"], shown["concurrency"]) == (SOURCE, 2, None)
    report(other, 1).raise_for_status()
    assert count_streams(provider) <= 2
    why = client.post("/v1/recommend", json=ENQUIRY).json()["rationale"]
    assert "its server has refused more than 2 connections" in why


def test_an_old_report_is_refused_and_replaces_no_newer_one(provider: httpx.Client, client: httpx.Client) -> None:
    assert report(client, 3, ago=timedelta(days=2)).status_code == 422
    assert report(client, 3, ago=-timedelta(hours=1)).status_code == 422
    assert report(client, 0).status_code == 422
    assert report(client, 4).status_code == 204
    assert report(client, 3, ago=timedelta(hours=1)).status_code == 204
    assert [limit["streams"] for limit in provider.get("/v1/limits").json()] == [4]


def test_removing_the_limit_of_an_endpoint_forgets_what_was_learned(
    provider: httpx.Client, client: httpx.Client
) -> None:
    free = count_streams(client)
    report(client, 1).raise_for_status()
    (shown,) = provider.get("/v1/limits").json()
    assert provider.put("/v1/limits", json=shown).status_code == 422  # only agents learn
    assert provider.put("/v1/limits", json=PLACE).json() == []
    assert count_streams(client) == free


def test_a_set_cap_and_a_learned_one_both_apply(provider: httpx.Client, client: httpx.Client) -> None:
    report(client, 3).raise_for_status()
    stand = provider.put("/v1/limits", json=PLACE | {"streams": 2}).json()
    assert [(each["streams"], each["learned_at"] is None) for each in stand] == [(2, True), (3, False)]
    assert count_streams(client) <= 2
    link = {"scope": "link", "source": SOURCE, "destination": DESTINATION}
    provider.put("/v1/limits", json=link).raise_for_status()


def test_two_keys_of_one_customer_do_not_bind_others(provider: httpx.Client, client: httpx.Client, api: str) -> None:
    """Whatever the keys of a customer are called."""
    names = {"name": "first of its keys"}, {"name": "second of its keys"}
    keys = [provider.post("/v1/keys", json=each | {"scopes": ["agent"]}).raise_for_status().json() for each in names]
    free = count_streams(client)
    report_with(keys, api)
    assert count_streams(client) <= 1, "two customers confirm it"
    sent = {"name": "Greedy", "key_ids": [each["id"] for each in keys]}
    provider.post("/v1/customers", json=sent).raise_for_status()
    report_with(keys, api)
    assert count_streams(client) == free


def report_with(keys: Sequence[dict[str, Any]], api: str) -> None:
    for key in keys:
        headers = {"Authorization": f"Bearer {key['secret']}"}
        with httpx.Client(base_url=api, headers=headers, timeout=60) as agent:
            report(agent, 1).raise_for_status()
