"""Customers hold keys, have prices of their own, and are refused what cannot be, with a sentence about the field."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import httpx
import pytest

from services.application.access.authenticate import Scope
from tests.conditions import eventually
from tests.integration.billing.quotes import publish_book, quoted
from tests.integration.live_transfers import learned
from tests.stack import Tenant, new_tenant

__all__ = ["learned"]

GB = 10**9
CREATED, CONFLICT, INVALID, NOT_FOUND = 201, 409, 422, 404


@pytest.fixture
def provider(api: str, learned: Tenant) -> Iterator[httpx.Client]:
    with learned.client(api) as opened:
        yield opened


def new_key(provider: httpx.Client, *scopes: str) -> dict[str, Any]:
    answer = provider.post("/v1/keys", json={"name": f"mover {uuid4()}", "scopes": list(scopes) or ["agent"]})
    answer.raise_for_status()
    made: dict[str, Any] = answer.json()
    return made


def new_customer(provider: httpx.Client, *keys: dict[str, Any], **fields: Any) -> dict[str, Any]:
    new = {"name": f"Acme {uuid4()}", "key_ids": [key["id"] for key in keys]} | fields
    answer = provider.post("/v1/customers", json=new)
    assert answer.status_code == CREATED, answer.text
    made: dict[str, Any] = answer.json()
    return made


def negotiate(provider: httpx.Client, customer: dict[str, Any], **terms: Any) -> dict[str, Any]:
    answer = provider.post(f"/v1/customers/{customer['id']}/negotiated-prices", json=terms)
    assert answer.status_code == CREATED, answer.text
    made: dict[str, Any] = answer.json()
    return made


def as_key(api: str, key: dict[str, Any]) -> httpx.Client:
    return httpx.Client(base_url=api, headers={"Authorization": f"Bearer {key['secret']}"}, timeout=60)


def price_of(client: httpx.Client, **changes: Any) -> dict[str, Any]:
    price: dict[str, Any] = quoted(client, **changes)["sla"]["price"]
    return price


def test_customer_holds_keys_and_is_numbered_for_good(provider: httpx.Client) -> None:
    first, second = new_key(provider), new_key(provider)
    acme = new_customer(provider, first, contact_name="Ann", contact_email="ann@example.org", note="two\nlines")
    assert acme["key_ids"] == [first["id"]]
    assert (acme["contact_name"], acme["contact_email"], acme["note"]) == ("Ann", "ann@example.org", "two\nlines")
    path = f"/v1/customers/{acme['id']}"
    both = provider.put(f"{path}/keys", json={"key_ids": [first["id"], second["id"]]}).raise_for_status().json()
    assert set(both["key_ids"]) == {first["id"], second["id"]}
    other = new_customer(provider)
    assert other["number"] == acme["number"] + 1

    taken = provider.put(f"/v1/customers/{other['id']}/keys", json={"key_ids": [first["id"]]})
    assert taken.status_code == INVALID
    assert taken.json()["errors"][0]["field"] == "key_ids"
    assert f"belongs to {acme['name']}" in taken.json()["detail"]

    stale = provider.patch(path, json={"note": "mine"}, headers={"If-Match": '"1"'})
    assert stale.status_code == CONFLICT
    changed = provider.patch(path, json={"note": "mine", "spending_limit": {"amount": "100", "currency": "EUR"}})
    assert Decimal(changed.json()["spending_limit"]["amount"]) == 100
    assert changed.json()["contact_name"] == "Ann"
    assert provider.patch(path, json={"spending_limit": None}).json()["spending_limit"] is None

    archived = provider.post(f"{path}/archive").raise_for_status().json()
    assert (archived["key_ids"], archived["archived_at"] is None) == ([], False)
    assert provider.patch(path, json={"note": "late"}).status_code == CONFLICT
    assert acme["id"] not in {each["id"] for each in provider.get("/v1/customers").json()}
    assert acme["id"] in {each["id"] for each in provider.get("/v1/customers?archived=true").json()}
    again = provider.post("/v1/customers", json={"name": acme["name"]})
    assert "archived customer" in again.json()["detail"]
    assert provider.post(f"{path}/restore").json()["archived_at"] is None
    assert provider.put(f"/v1/customers/{other['id']}/keys", json={"key_ids": [first["id"]]}).status_code == 200


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "  "}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "Acme \u202egnirts"}, "name"),
        ({"contact_name": "Ann\u200b"}, "contact_name"),
        ({"contact_name": "a" * 240}, "contact_name"),
        ({"contact_email": "nobody"}, "contact_email"),
        ({"contact_email": "<script>@x"}, "contact_email"),
        ({"note": "\u0000"}, "note"),
        ({"spending_limit": {"amount": "0", "currency": "EUR"}}, "spending_limit.amount"),
        ({"spending_limit": {"amount": "1e30", "currency": "EUR"}}, "spending_limit.amount"),
        ({"spending_limit": {"amount": "5", "currency": "XXX"}}, "spending_currency"),
        ({"rate_factor": -1}, "rate_factor"),
        ({"key_ids": [str(uuid4())]}, "key_ids"),
    ],
)
def test_impossible_customer_is_refused_with_its_field(
    provider: httpx.Client, wrong: dict[str, Any], field: str
) -> None:
    before = provider.get("/v1/customers").json()
    answer = provider.post("/v1/customers", json={"name": f"Wrong {uuid4()}"} | wrong)
    assert answer.status_code == INVALID
    assert answer.json()["errors"][0]["field"] == field
    assert provider.get("/v1/customers").json() == before


def test_a_name_is_given_once_also_in_other_letters_and_when_sent_twice(provider: httpx.Client) -> None:
    name = f"Besançon {uuid4()}"
    sent = [provider.post("/v1/customers", json={"name": name}, headers={"Idempotency-Key": name.encode().hex()})]
    sent += [provider.post("/v1/customers", json={"name": name}, headers={"Idempotency-Key": name.encode().hex()})]
    assert [answer.status_code for answer in sent] == [CREATED, CREATED]
    assert sent[0].json() == sent[1].json()
    for same in (name, name.upper(), f" {name} "):
        answer = provider.post("/v1/customers", json={"name": same})
        assert answer.status_code == CONFLICT
        assert answer.json()["errors"][0]["field"] == "name"


def test_keys_of_another_tenant_are_no_keys(api: str, provider: httpx.Client, learned: Tenant) -> None:
    with new_tenant(learned.parts, learned.database_url).client(api) as neighbour:
        foreign = new_key(neighbour)
    answer = provider.post("/v1/customers", json={"name": f"Thief {uuid4()}", "key_ids": [foreign["id"]]})
    assert answer.status_code == INVALID


def test_discount_and_fixed_prices_are_quoted_to_the_keys_of_the_customer(
    api: str, learned: Tenant, provider: httpx.Client
) -> None:
    publish_book(provider)
    one, two, other = new_key(provider), new_key(provider), new_key(provider)
    acme = new_customer(provider, one, two)
    with as_key(api, one) as first, as_key(api, two) as second, as_key(api, other) as stranger:
        usual = price_of(first)
        made = negotiate(provider, acme, adjustment="-0.1")
        assert made["is_current"]
        # What was predicted may differ in the last digit of a double; the price follows from what is quoted.
        expected = (Decimal(usual["amount"]) * Decimal("0.9")).quantize(Decimal("0.000001"))
        for client in (first, second):
            reduced = price_of(client)
            assert abs(Decimal(reduced["amount"]) - expected) <= Decimal("0.000001")
            assert reduced["book_id"] == usual["book_id"]
        assert price_of(stranger)["amount"] == usual["amount"]

        tiers = {each["tier_id"]: each["price"] for each in first.get("/v1/sla-tiers?limit=1000").json()}
        listed = {each["tier_id"]: each["price"] for each in stranger.get("/v1/sla-tiers?limit=1000").json()}
        priced = [tier for tier, price in listed.items() if price is not None]
        assert priced
        for tier in priced:
            assert Decimal(tiers[tier]["per_gb"]) == Decimal(listed[tier]["per_gb"]) * Decimal("0.9")

        rule = {"kind": "max_throughput", "price": {"base": "0.05", "per_gb": "0.01", "credit": "0.5"}}
        wrong = {"rules": [rule], "currency": "USD"}
        refused = provider.post(f"/v1/customers/{acme['id']}/negotiated-prices", json=wrong)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (INVALID, "currency")
        negotiate(provider, acme, rules=[rule], currency="EUR")
        fixed = price_of(first)
        moved = Decimal(quoted(first)["sla"]["price"]["amount"])
        assert moved == Decimal("0.05") + Decimal("0.01") * Decimal(30_000_000) / GB
        assert Decimal(fixed["credit"]) == Decimal("0.5")
        before, now = provider.get(f"/v1/customers/{acme['id']}/negotiated-prices").json()
        assert before["effective_until"] == now["starts_at"], "the next begin where the ones before end"

        dollars = provider.post("/v1/price-books", json={"name": f"Dollars {uuid4()}", "currency": "USD"}).json()["id"]
        provider.put(f"/v1/price-books/{dollars}/rules", json={"rules": [{"price": {"base": "1"}}]}).raise_for_status()
        stopped = provider.post(f"/v1/price-books/{dollars}/publish")
        assert (stopped.status_code, acme["name"] in stopped.json()["detail"]) == (CONFLICT, True)

        ended = f"/v1/negotiated-prices/{now['id']}/end"
        assert provider.post(ended).status_code == 204
        assert provider.post(ended).status_code == CONFLICT
        assert price_of(first)["amount"] == usual["amount"]


def test_staff_key_of_a_customer_lists_the_prices_that_it_is_quoted(
    api: str, learned: Tenant, provider: httpx.Client
) -> None:
    publish_book(provider)
    agent, staff = new_key(provider), new_key(provider, "agent", "provider")
    acme = new_customer(provider, agent, staff)
    negotiate(provider, acme, adjustment="-0.25")
    with as_key(api, agent) as one, as_key(api, staff) as other:
        assert price_of(one)["amount"] == price_of(other)["amount"]
        listed = [client.get("/v1/sla-tiers?limit=1000").json() for client in (one, other)]
        prices = [{each["tier_id"]: each["price"] for each in tiers} for tiers in listed]
    assert any(prices[0].values())
    assert prices[0] == prices[1]


def test_prices_begin_and_end_on_time_in_every_process(api: str, learned: Tenant, provider: httpx.Client) -> None:
    publish_book(provider)
    key = new_key(provider)
    acme = new_customer(provider, key)
    soon = datetime.now(UTC) + timedelta(seconds=2)
    period = {"starts_at": soon.isoformat(), "ends_at": (soon + timedelta(seconds=2)).isoformat()}
    with as_key(api, key) as client:
        usual = price_of(client)["amount"]
        negotiate(provider, acme, adjustment="0.5", **period)
        assert price_of(client)["amount"] == usual
        eventually(lambda: price_of(client)["amount"] != usual)
        assert datetime.now(UTC) >= soon
        eventually(lambda: price_of(client)["amount"] == usual)
        assert datetime.now(UTC) >= soon + timedelta(seconds=2)
    past = provider.post(
        f"/v1/customers/{acme['id']}/negotiated-prices",
        json={"adjustment": "-0.1", "starts_at": "2026-01-01T00:00:00Z"},
    )
    assert (past.status_code, past.json()["errors"][0]["field"]) == (INVALID, "starts_at")
    later = negotiate(provider, acme, adjustment="-1", starts_at="2099-01-01T00:00:00Z")
    provider.post(f"/v1/negotiated-prices/{later['id']}/end").raise_for_status()
    left = provider.get(f"/v1/customers/{acme['id']}/negotiated-prices").json()
    assert [each["id"] for each in left if each["id"] == later["id"]] == [], "what has not started is removed"


def test_negotiated_prices_are_ended_and_never_extended(learned: Tenant, provider: httpx.Client) -> None:
    acme = new_customer(provider)
    tomorrow, later = (datetime.now(UTC) + timedelta(days=days) for days in (1, 2))
    made = negotiate(provider, acme, adjustment="-0.5", ends_at=tomorrow.isoformat())
    path = f"/v1/negotiated-prices/{made['id']}/end"
    for beyond in (later.isoformat(), "2090-01-01T00:00:00Z"):
        refused = provider.post(path, json={"ends_at": beyond})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (INVALID, "ends_at")
    (left,) = provider.get(f"/v1/customers/{acme['id']}/negotiated-prices").json()
    assert left["ends_at"] == made["ends_at"]
    assert provider.post(path, json={"ends_at": (tomorrow - timedelta(hours=1)).isoformat()}).status_code == 204


@pytest.mark.parametrize("adjustment", ["0", "-1.1", "11", "1e30", "NaN", "0.1234567", "<b>"])
def test_adjustment_that_is_none_is_refused(provider: httpx.Client, adjustment: str) -> None:
    acme = new_customer(provider)
    path = f"/v1/customers/{acme['id']}/negotiated-prices"
    answer = provider.post(path, json={"adjustment": adjustment})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (INVALID, "adjustment")
    assert provider.get(path).json() == []


def test_an_agent_sees_no_customers(api: str, learned: Tenant) -> None:
    with learned.client(api, Scope.AGENT) as agent:
        assert agent.get("/v1/customers").status_code == 403


def test_keys_of_a_customer_share_its_rate_of_calls(api: str, provider: httpx.Client) -> None:
    one, two = new_key(provider), new_key(provider)
    acme = new_customer(provider, one, two, rate_factor=0.01)  # of 100 a second: ten at once
    with as_key(api, one) as first, as_key(api, two) as second:
        statuses = [client.get("/v1/sla-tiers?limit=1").status_code for _ in range(12) for client in (first, second)]
        assert 429 in statuses
        refused = next(answer for answer in iter(lambda: second.get("/v1/sla-tiers?limit=1"), None) if answer.is_error)
        assert "all keys of this customer together" in refused.json()["detail"]
        provider.patch(f"/v1/customers/{acme['id']}", json={"rate_factor": None}).raise_for_status()
        eventually(lambda: second.get("/v1/sla-tiers?limit=1").status_code == 200)
