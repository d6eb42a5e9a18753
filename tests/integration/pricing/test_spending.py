"""A customer spends up to its limit: what would cost more is refused, whatever its keys. The provider is alerted."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

import httpx
import pytest
import redis

from services.bootstrap import Container
from tests.conditions import eventually
from tests.integration.admin.visitors import person, signed_in
from tests.integration.billing.quotes import SEEN, journalled, publish_book, quoted, store, valkey
from tests.integration.live_transfers import Transfer, learned
from tests.integration.pricing.test_credits import MET_S, SLA, move, publish_with_credit
from tests.integration.pricing.test_customers import as_key, new_customer, new_key
from tests.stack import Tenant
from tradewind.wire.recommendations import RecommendRequest
from tradewind_agent.service.client import Client
from tradewind_agent.session.planning import request_plan

__all__ = ["learned", "store", "valkey"]

PAYMENT_REQUIRED = 402
MONTH = f"{datetime.now(UTC):%Y-%m}"


@pytest.fixture
def provider(api: str, learned: Tenant) -> Iterator[httpx.Client]:
    with learned.client(api) as opened:
        yield opened


def recommend(client: httpx.Client) -> httpx.Response:
    return client.post("/v1/recommend", json=SEEN | {"sla": SLA})


def test_customer_spends_up_to_its_limit(
    api: str, parts: Container, learned: Tenant, provider: httpx.Client, store: redis.Redis
) -> None:
    publish_with_credit(provider)
    one, two = new_key(provider), new_key(provider)
    with as_key(api, one) as first, as_key(api, two) as second:
        price = Decimal(quoted(first, sla=SLA)["sla"]["price"]["amount"])
        limit = {"amount": f"{price * Decimal('2.4'):.6f}", "currency": "EUR"}
        acme = new_customer(provider, one, two, spending_limit=limit)
        moved = [move(client, MET_S) for client in (first, second)]
        journalled(parts, store, *moved)
        eventually(lambda: recommend(first).status_code == PAYMENT_REQUIRED)
        refused = recommend(second)
        assert refused.status_code == PAYMENT_REQUIRED
        problem = refused.json()
        assert problem["title"] == "Spending limit reached"
        for text in (acme["name"], f"{2 * price:f}", f"{price:f}", MONTH):
            assert text in problem["detail"]

        with Client(api, one["secret"]) as agent:
            why_no_plan = request_plan(agent, RecommendRequest.model_validate(SEEN | {"sla": SLA}))
        assert isinstance(why_no_plan, str), "an agent copies by its own rules, without a promise and its price"
        assert acme["name"] in why_no_plan

        free = first.post("/v1/recommend", json=SEEN | {"sla": {"kind": "deadline", "target": 1e-3}})
        assert free.status_code == 200, "what has no price is answered"
        path = f"/v1/customers/{acme['id']}"
        statement = provider.get(f"{path}/statement", params={"month": MONTH}).json()
        assert Decimal(statement["billed"][0]["amount"]) == 2 * price
        with signed_in(api, person(parts, learned, "provider")) as visitor:
            page = visitor.get("/admin/customers").text
            assert "has spent 83 % of its limit" in page
        provider.patch(path, json={"spending_limit": {"amount": "1000", "currency": "EUR"}}).raise_for_status()
        assert recommend(first).status_code == 200, "a limit that is raised counts at once"


def test_transfers_that_run_count(
    api: str, parts: Container, learned: Tenant, provider: httpx.Client, store: redis.Redis
) -> None:
    publish_with_credit(provider)
    key = new_key(provider)
    with as_key(api, key) as client:
        price = Decimal(quoted(client, sla=SLA)["sla"]["price"]["amount"])
        limit = {"amount": f"{price * Decimal('1.5'):.6f}", "currency": "EUR"}
        acme = new_customer(provider, key, spending_limit=limit)
        running = Transfer(client, sla=SLA, dataset=SEEN["dataset"])
        running.beat(0)
        journalled(parts, store, running.recommended)
        with parts.store.unit_of_work(learned.id) as uow:  # as the journal's worker stores the start
            uow.connection.exec_driver_sql(
                "INSERT INTO transfers (tenant_id, id, started_at, source, destination, mover, key_id, silent_at, "
                "file_count, total_bytes, sequence, journalled_sequence, bytes_moved) VALUES "
                "(%s, %s, now(), 'origin', 'amber', 'tradewind', %s, now() + interval '1 minute', 1, 1, 0, 0, 0) "
                "ON CONFLICT DO NOTHING",
                (learned.id, running.id, key["id"]),
            )
            uow.commit()
        eventually(lambda: recommend(client).status_code == PAYMENT_REQUIRED)
        provider.post(f"/v1/customers/{acme['id']}/archive").raise_for_status()
        assert recommend(client).status_code == 200, "an archived customer has no limit"


def test_book_in_another_currency_waits_for_the_limit(provider: httpx.Client) -> None:
    acme = new_customer(provider, spending_limit={"amount": "5", "currency": "CHF"})
    book = provider.post("/v1/price-books", json={"name": "Euros", "currency": "EUR"}).json()["id"]
    provider.put(f"/v1/price-books/{book}/rules", json={"rules": [{"price": {"base": "1"}}]}).raise_for_status()
    refused = provider.post(f"/v1/price-books/{book}/publish")
    assert (refused.status_code, acme["name"] in refused.json()["detail"]) == (409, True)
    provider.patch(f"/v1/customers/{acme['id']}", json={"spending_limit": None}).raise_for_status()
    publish_book(provider)
