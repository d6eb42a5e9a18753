"""A customer spends up to its limit: what would cost more is refused, whatever its keys. The provider is alerted."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from threading import Event
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest
import redis

from services.application.billing.price_list import SpendingLimit
from services.application.billing.spending import NOTHING, SpendingLimits
from services.application.billing.usage import Month
from services.application.shared.single_flight import SingleFlight
from services.application.shared.unit_of_work import UnitOfWork
from services.bootstrap import Container
from tests.conditions import eventually
from tests.integration.admin.visitors import person, signed_in
from tests.integration.billing.quotes import SEEN, journalled, publish_book, quoted, store, valkey
from tests.integration.live_transfers import Transfer, learned
from tests.integration.pricing.test_credits import MET_S, SLA, move, publish_with_credit
from tests.integration.pricing.test_customers import as_key, new_customer, new_key
from tests.stack import Tenant
from tradewind.errors import SpendingLimitReached
from tradewind.sla.kinds import EnergyBasis
from tradewind.sla.pricing import Price
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
    api: str,
    parts: Container,
    learned: Tenant,
    provider: httpx.Client,
    store: redis.Redis,
) -> None:
    publish_with_credit(provider)
    one, two, other = new_key(provider), new_key(provider), new_key(provider)
    with as_key(api, one) as first, as_key(api, two) as second, as_key(api, other) as curious:
        price = Decimal(quoted(curious, sla=SLA)["sla"]["price"]["amount"])
        limit = {"amount": f"{price * Decimal('2.4'):.6f}", "currency": "EUR"}
        acme = new_customer(provider, one, two, spending_limit=limit)
        moved = [move(client, MET_S) for client in (first, second)]
        journalled(parts, store, *moved)
        assert recommend(first).status_code == PAYMENT_REQUIRED
        eventually(lambda: f"spent {2 * price:f}" in recommend(second).json()["detail"])  # read after the logs came
        refused = recommend(second)
        assert refused.status_code == PAYMENT_REQUIRED
        problem = refused.json()
        assert problem["title"] == "Spending limit reached"
        for text in (acme["name"], f"spent {2 * price:f}", f"would cost {price:f}", MONTH):
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
            unreadable = visitor.get("/admin/customers?page=abc")
            assert (unreadable.status_code, "/admin/usage/statement?" in unreadable.text) == (200, False)
            page = visitor.get("/admin/customers").text
            assert "has spent 83 % of its limit" in page
            overview = visitor.get("/admin").text
            assert (
                f'<li><a href="/admin{path.removeprefix("/v1")}"><strong>{acme["name"]}</strong> is near its'
                in overview
            )
        with signed_in(api, person(parts, learned, "analyst")) as visitor:
            assert acme["name"] not in visitor.get("/admin").text, "an analyst has no page of customers"
        provider.patch(path, json={"spending_limit": {"amount": "1000", "currency": "EUR"}}).raise_for_status()
        assert recommend(first).status_code == 200, "a limit that is raised counts at once"
        with signed_in(api, person(parts, learned, "provider")) as visitor:
            assert acme["name"] not in visitor.get("/admin").text, "it is far from its limit"


def sum_reserved(learned: Tenant, customer: dict[str, Any]) -> Decimal:
    """Return what another process that reads the sum now finds reserved."""
    with learned.parts.store.unit_of_work(learned.id) as uow:
        found = uow.usage.list_spent(Month.parse(MONTH), customer_id=UUID(customer["id"]))
    (spending,) = found.values() or [NOTHING]
    assert spending.billed == 0
    return spending.reserved


def test_quotes_count_from_the_moment_that_they_are_given(
    api: str,
    parts: Container,
    learned: Tenant,
    provider: httpx.Client,
    store: redis.Redis,
    admin_database_url: str,
) -> None:
    publish_with_credit(provider)
    key, usual = new_key(provider), new_key(provider)
    with as_key(api, usual) as client:
        price = Decimal(quoted(client, sla=SLA)["sla"]["price"]["amount"])
    limit = {"amount": f"{price * Decimal('1.5'):.6f}", "currency": "EUR"}
    acme = new_customer(provider, key, spending_limit=limit)
    with as_key(api, key) as client:
        answers = [recommend(client) for _ in range(6)]
        statuses = [answer.status_code for answer in answers]
        assert statuses == [200, *[PAYMENT_REQUIRED] * 5], "no transfer runs, and nothing is journalled"
    journalled(parts, store, answers[0].json())
    assert sum_reserved(learned, acme) == price

    with psycopg.connect(admin_database_url) as admin:
        of_key = "SELECT transfer_id FROM quotes WHERE key_id = %s"
        (transfer,) = admin.execute(of_key, [key["id"]]).fetchone() or ()
        month = "SELECT ensure_quote_partitions(ARRAY[date_trunc('month', now() - interval '3 hours')::date])"
        admin.execute(month)  # the one before may be of last month
        admin.execute("UPDATE quotes SET at = at - interval '2 hours' WHERE transfer_id = %s", [transfer])
    assert sum_reserved(learned, acme) == 0, "a quote that nobody used expires"
    with psycopg.connect(admin_database_url) as admin:
        ended = (
            "INSERT INTO transfers (tenant_id, id, started_at, ended_at, status, source, destination, mover, key_id, "
            "file_count, total_bytes, sequence, journalled_sequence, bytes_moved) VALUES "
            "(%s, %s, now(), now(), 'succeeded', 'origin', 'amber', 'tradewind', %s, 1, 1, 0, 0, 1)"
        )
        admin.execute(ended, [learned.id, transfer, key["id"]])
    assert sum_reserved(learned, acme) == price, "its log is on the way"
    with psycopg.connect(admin_database_url) as admin:
        admin.execute("UPDATE transfers SET status = 'failed' WHERE id = %s", [transfer])
    assert sum_reserved(learned, acme) == 0


def test_no_request_waits_for_a_sum_while_an_older_one_is_known(learned: Tenant, provider: httpx.Client) -> None:
    acme = new_customer(provider, spending_limit={"amount": "1", "currency": "EUR"})
    limit = SpendingLimit(UUID(acme["id"]), acme["name"], Decimal(1), "EUR")
    price = Price(Decimal("0.4"), "EUR", EnergyBasis.TOTAL, uuid4())
    may_read, now_s, reads = Event(), [0.0], []

    def open_unit(tenant_id: UUID) -> UnitOfWork:
        reads.append(now_s[0])
        assert may_read.wait(60)
        return learned.parts.store.unit_of_work(tenant_id)

    async def spend_over_time() -> None:
        lookups, now = SingleFlight(), datetime.now(UTC)
        limits = SpendingLimits(open_unit, lookups, lambda *_: None, monotonic=lambda: now_s[0])
        spend = partial(limits.spend, learned.id, limit, price, now=now)
        may_read.set()
        await spend(transfer_id=uuid4())
        may_read.clear()
        now_s[0] = 100.0
        await spend(transfer_id=uuid4())  # the sum is old, and reading it is blocked
        with pytest.raises(SpendingLimitReached):
            await spend(transfer_id=uuid4())
        may_read.set()
        await lookups.run(("spent", limit.customer_id, Month.of(now)), lambda: None)  # waits for the one that runs
        with pytest.raises(SpendingLimitReached):
            await spend(transfer_id=uuid4())  # the journal has stored neither, and the new sum is without them
        now_s[0] = 3_650.0
        await spend(transfer_id=uuid4())  # the first has expired
        with pytest.raises(SpendingLimitReached):
            await spend(transfer_id=uuid4())

    asyncio.run(spend_over_time())
    assert reads == [0.0, 100.0, 3_650.0]


def test_transfers_that_run_count(
    api: str, parts: Container, learned: Tenant, provider: httpx.Client, store: redis.Redis
) -> None:
    publish_with_credit(provider)
    key = new_key(provider)
    with as_key(api, key) as client:
        price = Decimal(quoted(client, sla=SLA)["sla"]["price"]["amount"])
        limit = {"amount": f"{price * Decimal('2.5'):.6f}", "currency": "EUR"}
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


def state_limit_in_francs(admin_database_url: str, customer: dict[str, Any]) -> None:
    """Have a limit in another currency than the book, as it was once accepted."""
    with psycopg.connect(admin_database_url) as admin:
        stated = "UPDATE customers SET spending_limit = 5, spending_currency = 'CHF' WHERE id = %s"
        admin.execute(stated, [customer["id"]])


def wait_for_blocked(admin_database_url: str, transactions: int) -> None:
    """Wait until so many transactions wait for a lock that the test holds."""
    waiting = (
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted "
        "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        eventually(lambda: admin.execute(waiting).fetchone() == (transactions,))


def draft_in_euros(provider: httpx.Client) -> str:
    book: str = provider.post("/v1/price-books", json={"name": f"Euros {uuid4()}", "currency": "EUR"}).json()["id"]
    provider.put(f"/v1/price-books/{book}/rules", json={"rules": [{"price": {"base": "1"}}]}).raise_for_status()
    return book


def test_book_in_another_currency_waits_for_the_limit(provider: httpx.Client, admin_database_url: str) -> None:
    acme = new_customer(provider)
    state_limit_in_francs(admin_database_url, acme)
    book = draft_in_euros(provider)
    refused = provider.post(f"/v1/price-books/{book}/publish")
    assert (refused.status_code, acme["name"] in refused.json()["detail"]) == (409, True)
    provider.patch(f"/v1/customers/{acme['id']}", json={"spending_limit": None}).raise_for_status()
    publish_book(provider)


def test_limit_in_another_currency_than_the_book_is_refused(provider: httpx.Client, admin_database_url: str) -> None:
    publish_book(provider)
    dollars = {"spending_limit": {"amount": "0.000001", "currency": "USD"}}
    acme = new_customer(provider)
    path = f"/v1/customers/{acme['id']}"
    for refused in (
        provider.post("/v1/customers", json={"name": f"Dollars {uuid4()}"} | dollars),
        provider.patch(path, json=dollars),
    ):
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "spending_currency")
        assert "the price book is in EUR" in refused.json()["detail"]

    provider.post(f"{path}/archive").raise_for_status()
    state_limit_in_francs(admin_database_url, acme)
    refused = provider.post(f"{path}/restore")
    assert (refused.status_code, "CHF" in refused.json()["detail"]) == (409, True)
    assert provider.get(path).json()["archived_at"] is not None
    restored = provider.post(f"{path}/restore", params={"without_limit": True}).raise_for_status().json()
    assert (restored["archived_at"], restored["spending_limit"]) == (None, None)


def test_book_is_not_published_while_a_customer_gets_another_currency(
    provider: httpx.Client, learned: Tenant, admin_database_url: str
) -> None:
    acme = new_customer(provider)
    book = draft_in_euros(provider)
    with ThreadPoolExecutor() as pool, learned.parts.store.unit_of_work(learned.id) as uow:
        uow.customers.lock()
        publishing = pool.submit(provider.post, f"/v1/price-books/{book}/publish")
        wait_for_blocked(admin_database_url, 1)
        state_limit_in_francs(admin_database_url, acme)
        uow.commit()
        refused = publishing.result()
    assert (refused.status_code, acme["name"] in refused.json()["detail"]) == (409, True)
    provider.patch(f"/v1/customers/{acme['id']}", json={"spending_limit": None}).raise_for_status()


def test_two_editors_of_different_fields_do_not_undo_each_other(
    provider: httpx.Client, learned: Tenant, admin_database_url: str
) -> None:
    acme = new_customer(provider, spending_limit={"amount": "100", "currency": "EUR"}, note="before")
    path = f"/v1/customers/{acme['id']}"
    with ThreadPoolExecutor() as pool, learned.parts.store.unit_of_work(learned.id) as uow:
        uow.customers.lock()
        changes = ({"spending_limit": {"amount": "5", "currency": "EUR"}}, {"note": "call Ann"})
        sent = [pool.submit(provider.patch, path, json=change) for change in changes]
        wait_for_blocked(admin_database_url, 2)
        uow.commit()
        assert [answer.result().status_code for answer in sent] == [200, 200]
    after = provider.get(path).json()
    assert (after["note"], Decimal(after["spending_limit"]["amount"])) == ("call Ann", 5)
