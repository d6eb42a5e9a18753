"""Price books over HTTP: drafted, edited, published, quoted; and what is refused."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from services.application.access.authenticate import Scope
from services.application.shared.jobs import PricesChanged
from services.queue.notices import decode, encode
from tests.conditions import eventually
from tests.integration.live_transfers import ENQUIRY, learned
from tests.stack import Tenant, new_tenant

__all__ = ["learned"]

SMALL = {"file_count": 300, "total_bytes": 30_000_000}
PRICE = {"base": "0.10", "per_gb": "0.02", "per_kwh": "0.30", "margin": "0.2"}


@pytest.fixture
def provider(api: str, learned: Tenant) -> Iterator[httpx.Client]:
    with learned.client(api, Scope.PROVIDER, Scope.AGENT) as opened:
        yield opened


@pytest.fixture
def tier(provider: httpx.Client) -> str:
    return next(each["tier_id"] for each in provider.get("/v1/sla-tiers").json() if each["kind"] == "max_throughput")


def drafted(client: httpx.Client, **changes: Any) -> dict[str, Any]:
    answer = client.post("/v1/price-books", json={"name": f"Winter {uuid4()}", "currency": "EUR"} | changes)
    assert answer.status_code == 201, answer.text
    book: dict[str, Any] = answer.json()
    return book


def priced(client: httpx.Client, tier: str, **price: str) -> dict[str, Any]:
    """A draft with a price for one tier."""
    book = drafted(client)
    answer = client.put(f"/v1/price-books/{book['id']}/tiers/{tier}", json=PRICE | price)
    assert answer.status_code == 200, answer.text
    return book | answer.json()


def published(client: httpx.Client, book: dict[str, Any], at: datetime | None = None) -> httpx.Response:
    asked = {} if at is None else {"effective_from": at.isoformat()}
    return client.post(f"/v1/price-books/{book['id']}/publish", json=asked)


def reason(answer: httpx.Response, status: int = 422) -> str:
    assert answer.status_code == status, answer.text
    detail: str = answer.json()["detail"]
    return detail


def test_a_published_price_is_quoted_in_exact_decimals(provider: httpx.Client) -> None:
    tiers = provider.get("/v1/sla-tiers", params={"limit": 1000}).json()
    book = drafted(provider)
    for each in {each["tier_id"] for each in tiers if each["kind"] == "max_throughput"}:
        provider.put(f"/v1/price-books/{book['id']}/tiers/{each}", json=PRICE).raise_for_status()
    assert published(provider, book).json()["state"] == "published"
    made = provider.post("/v1/recommend", json=ENQUIRY | {"dataset": SMALL}).json()
    assert made["sla"]["price"], (made["rationale"], made["sla"])
    price, kwh = made["sla"]["price"], Decimal(made["predicted"]["energy_j"]["mean"]) / 3_600_000
    expected = (Decimal("0.10") + Decimal("0.02") * Decimal("0.03") + Decimal("0.30") * kwh) * Decimal("1.2")
    assert price["amount"] == str(expected.quantize(Decimal("0.000001")))
    assert (price["currency"], price["basis"], price["book_id"]) == ("EUR", "total", book["id"])
    prices = [each["price"] for each in provider.get("/v1/sla-tiers").json() if each["price"]]
    assert prices[0] == {"book_id": book["id"], "currency": "EUR", "energy_basis": "total"} | {
        name: f"{Decimal(value):.6f}" for name, value in (PRICE | {"credit": "0"}).items()
    }


@pytest.mark.parametrize("name", PRICE)
@pytest.mark.parametrize("value", ["-0.01", "", "1e30", "0.1234567", "NaN", None, "free", "<script>"])
def test_invalid_price_is_refused_with_its_field(provider: httpx.Client, tier: str, name: str, value: Any) -> None:
    book = drafted(provider)
    refused = provider.put(f"/v1/price-books/{book['id']}/tiers/{tier}", json=PRICE | {name: value})
    assert name in reason(refused)
    assert provider.get(f"/v1/price-books/{book['id']}").json() == book


def test_energy_cost_is_stored_exactly_in_a_draft_and_its_copies(
    api: str, learned: Tenant, provider: httpx.Client, tier: str
) -> None:
    book = priced(provider, tier)
    here = f"/v1/price-books/{book['id']}"
    kept = provider.patch(here, json={"energy_cost_per_kwh": "0.180001"}, headers={"If-Match": '"2"'})
    assert (kept.json()["energy_cost_per_kwh"], kept.headers["etag"]) == ("0.180001", '"3"')
    assert kept.json()["prices"] == book["prices"]
    copy = drafted(provider, currency=None, copy_of=book["id"])
    assert copy["energy_cost_per_kwh"] == "0.180001"
    with learned.client(api, Scope.AGENT) as customer:
        assert customer.get(here).status_code == 404
        assert {each["energy_cost_per_kwh"] for each in customer.get("/v1/price-books").json()} <= {None}
    with learned.client(api, Scope.ANALYST) as analyst:
        assert analyst.get(here).json()["energy_cost_per_kwh"] is None
    assert "meanwhile" in reason(
        provider.patch(here, json={"energy_cost_per_kwh": "1"}, headers={"If-Match": '"2"'}), 409
    )
    assert provider.patch(here, json={"energy_cost_per_kwh": None}).json()["energy_cost_per_kwh"] is None
    published(provider, book).raise_for_status()
    assert "never changes" in reason(provider.patch(here, json={"energy_cost_per_kwh": "1"}), 409)


@pytest.mark.parametrize("value", ["-0.01", "", "1e30", "0.1234567", "NaN", "cheap"])
def test_invalid_cost_of_energy_is_refused(provider: httpx.Client, value: str) -> None:
    book = drafted(provider)
    refused = provider.patch(f"/v1/price-books/{book['id']}", json={"energy_cost_per_kwh": value})
    assert "energy_cost_per_kwh" in reason(refused)
    assert provider.get(f"/v1/price-books/{book['id']}").json() == book


@pytest.mark.parametrize("currency", ["DEM", "eur", "EURO", "", "XXX", None])
def test_no_book_is_in_what_is_no_currency(provider: httpx.Client, currency: str | None) -> None:
    before = len(provider.get("/v1/price-books").json())
    refused = provider.post("/v1/price-books", json={"name": "Winter", "currency": currency})
    assert "currency" in reason(refused)
    assert len(provider.get("/v1/price-books").json()) == before


def test_a_copy_stays_in_the_currency_of_its_prices(provider: httpx.Client, tier: str) -> None:
    book = priced(provider, tier)
    assert drafted(provider, currency=None, copy_of=book["id"])["prices"] == book["prices"]
    asked = {"name": "Winter", "currency": "USD", "copy_of": book["id"]}
    assert "are in EUR" in reason(provider.post("/v1/price-books", json=asked))


def test_a_newer_book_ends_the_one_before_and_none_begins_twice(provider: httpx.Client, tier: str) -> None:
    first, second, third = (priced(provider, tier) for _ in range(3))
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).replace(microsecond=0)
    published(provider, first, tomorrow + timedelta(days=1)).raise_for_status()
    published(provider, second, tomorrow).raise_for_status()  # before the one that was published first
    until = provider.get(f"/v1/price-books/{second['id']}").json()["effective_until"]
    assert datetime.fromisoformat(until) == tomorrow + timedelta(days=1)
    assert "same time" in reason(published(provider, third, tomorrow), 409)
    assert provider.get(f"/v1/price-books/{third['id']}").json()["state"] == "draft"


def test_a_book_cannot_hold_from_the_past_on(provider: httpx.Client, tier: str) -> None:
    book = priced(provider, tier)
    assert "has passed" in reason(published(provider, book, datetime.now(UTC) - timedelta(minutes=1)))


def test_an_empty_book_cannot_be_published(provider: httpx.Client) -> None:
    assert "prices no tier" in reason(published(provider, drafted(provider)))


def test_superseded_price_book_is_marked_so(provider: httpx.Client, tier: str) -> None:
    first, second = priced(provider, tier), priced(provider, tier)
    for book in (first, second):
        published(provider, book).raise_for_status()
    states = {each["id"]: (each["state"], each["in_force"]) for each in provider.get("/v1/price-books").json()}
    assert states[first["id"]] == ("superseded", False)
    assert states[second["id"]] == ("published", True)


def test_a_published_book_never_changes(provider: httpx.Client, tier: str, learned: Tenant, database_url: str) -> None:
    book = priced(provider, tier)
    stands = published(provider, book).json()
    here = f"/v1/price-books/{book['id']}"
    assert "never changes" in reason(provider.put(f"{here}/tiers/{tier}", json=PRICE | {"base": "9"}), 409)
    assert "never changes" in reason(provider.delete(f"{here}/tiers/{tier}"), 409)
    assert "never changes" in reason(published(provider, book), 409)
    with psycopg.connect(database_url) as connection:  # nor by a defect of ours
        connection.execute("SELECT set_config('tradewind.tenant', %s, true)", [str(learned.id)])
        for change in (
            "UPDATE prices SET base = 9 WHERE book_id = %s",
            "DELETE FROM prices WHERE book_id = %s",
            "UPDATE price_books SET currency = 'USD' WHERE id = %s",
        ):
            assert connection.execute(change, [book["id"]]).rowcount == 0
    assert provider.get(here).json()["prices"] == stands["prices"]


def test_a_book_is_withdrawn_until_its_date_comes_and_the_one_before_it_goes_on(
    provider: httpx.Client, tier: str, learned: Tenant
) -> None:
    first, second = priced(provider, tier), priced(provider, tier)
    published(provider, first).raise_for_status()
    here = f"/v1/price-books/{second['id']}"
    assert "nothing to withdraw" in reason(provider.post(f"{here}/withdraw"), 409)
    before = provider.get(here).json()
    stands = published(provider, second, datetime.now(UTC) + timedelta(days=400)).json()
    assert "meanwhile" in reason(provider.post(f"{here}/withdraw", headers={"If-Match": '"1"'}), 409)
    assert provider.get(here).json() == stands
    withdrawn = provider.post(f"{here}/withdraw", headers={"If-Match": f'"{stands["version"]}"'}).json()
    assert withdrawn == before | {"version": stands["version"] + 1}
    assert provider.get(f"/v1/price-books/{first['id']}").json()["effective_until"] != stands["effective_from"]
    with learned.parts.store.unit_of_work(learned.id) as uow:
        (entry,) = uow.audit.list_page(limit=1, about="price")
    assert (entry.action, entry.subject) == ("price_book.withdrawn", before["name"])
    assert "is current" in reason(provider.post(f"/v1/price-books/{first['id']}/withdraw"), 409)
    published(provider, second, datetime.now(UTC) + timedelta(seconds=50)).raise_for_status()
    assert "within a minute" in reason(provider.post(f"{here}/withdraw"), 409)


def test_a_draft_is_deleted_with_its_prices_and_nothing_else_is(
    provider: httpx.Client, tier: str, learned: Tenant, database_url: str
) -> None:
    book, other = priced(provider, tier), priced(provider, tier)
    here = f"/v1/price-books/{book['id']}"
    assert "meanwhile" in reason(provider.delete(here, headers={"If-Match": '"1"'}), 409)
    assert provider.delete(here, headers={"If-Match": f'"{book["version"]}"'}).status_code == 204
    assert provider.get(here).status_code == provider.delete(here).status_code == 404
    with learned.parts.store.unit_of_work(learned.id) as uow:
        (entry,) = uow.audit.list_page(limit=1, about="price")
    assert (entry.action, entry.detail["prices"]) == ("price_book.deleted", "1 tier")
    published(provider, other, datetime.now(UTC) + timedelta(days=401)).raise_for_status()
    assert "never changes" in reason(provider.delete(f"/v1/price-books/{other['id']}"), 409)
    with psycopg.connect(database_url) as connection:
        connection.execute("SELECT set_config('tradewind.tenant', %s, true)", [str(learned.id)])
        assert connection.execute("DELETE FROM price_books WHERE id = %s", [other["id"]]).rowcount == 0
        assert connection.execute("SELECT FROM prices WHERE book_id = %s", [book["id"]]).rowcount == 0


def test_second_of_two_users_who_edit_one_price_book_gets_a_conflict(provider: httpx.Client, tier: str) -> None:
    book = drafted(provider)
    here = f"/v1/price-books/{book['id']}"
    tag = {"If-Match": provider.get(here).headers["etag"]}
    first = provider.put(f"{here}/tiers/{tier}", json=PRICE, headers=tag)
    assert first.status_code == 200
    second = provider.put(f"{here}/tiers/{tier}", json=PRICE | {"base": "5"}, headers=tag)
    assert "meanwhile" in reason(second, 409)
    assert "meanwhile" in reason(provider.post(f"{here}/publish", headers=tag), 409)
    assert provider.get(here).json() == first.json()
    assert provider.put(f"{here}/tiers/{tier}", json=PRICE, headers={"If-Match": first.headers["etag"]}).is_success


@pytest.mark.parametrize("tag", ["yesterday", '"x"', '"1', "9" * 30])
def test_a_tag_that_is_none_is_refused(provider: httpx.Client, tier: str, tag: str) -> None:
    book = drafted(provider)
    answer = provider.put(f"/v1/price-books/{book['id']}/tiers/{tier}", json=PRICE, headers={"If-Match": tag})
    assert answer.status_code == 422
    assert provider.get(f"/v1/price-books/{book['id']}").json()["prices"] == []


def test_a_tier_that_is_none_has_no_price(provider: httpx.Client) -> None:
    book = drafted(provider)
    assert "no tier of yours" in reason(provider.put(f"/v1/price-books/{book['id']}/tiers/{uuid4()}", json=PRICE))


def test_the_price_of_a_tier_that_is_gone_is_taken_out_of_a_draft(
    provider: httpx.Client, tier: str, admin_database_url: str
) -> None:
    book = priced(provider, tier)
    here, gone = f"/v1/price-books/{book['id']}", uuid4()
    with psycopg.connect(admin_database_url) as connection:  # as if the last release with it were removed
        connection.execute("UPDATE prices SET tier_id = %s WHERE book_id = %s", [gone, book["id"]])
    assert "no tier of yours" in reason(provider.put(f"{here}/tiers/{gone}", json=PRICE | {"base": "9"}))
    assert provider.delete(f"{here}/tiers/{gone}").json()["prices"] == []


def test_another_tenants_book_is_not_there(api: str, learned: Tenant, provider: httpx.Client, tier: str) -> None:
    book = priced(provider, tier)
    here = f"/v1/price-books/{book['id']}"
    with new_tenant(learned.parts, learned.database_url).client(api) as stranger:
        for answer in (
            stranger.get(here),
            stranger.put(f"{here}/tiers/{tier}", json=PRICE),
            stranger.post(f"{here}/publish"),
            stranger.patch(here, json={"energy_cost_per_kwh": "1"}),
            stranger.get(f"{here}/what-if"),
            stranger.delete(here),
            stranger.post(f"{here}/withdraw"),
            stranger.post("/v1/price-books", json={"name": f"Mine {uuid4()}", "copy_of": book["id"]}),
        ):
            assert "no such price book" in reason(answer, 404)
        own = drafted(stranger)
        assert "no tier of yours" in reason(stranger.put(f"/v1/price-books/{own['id']}/tiers/{tier}", json=PRICE))
        assert stranger.get("/v1/sla-tiers").json() == []
    assert provider.get(here).json() == book


@pytest.mark.parametrize("scope", [Scope.ANALYST, Scope.AGENT])
def test_only_providers_change_prices(
    api: str, learned: Tenant, provider: httpx.Client, tier: str, scope: Scope
) -> None:
    book = priced(provider, tier)
    here = f"/v1/price-books/{book['id']}"
    with learned.client(api, scope) as client:
        for answer in (
            client.post("/v1/price-books", json={"name": f"Mine {uuid4()}", "currency": "EUR"}),
            client.put(f"{here}/tiers/{tier}", json=PRICE),
            client.delete(f"{here}/tiers/{tier}"),
            client.post(f"{here}/publish"),
            client.patch(here, json={"energy_cost_per_kwh": "1"}),
            client.get(f"{here}/what-if"),
            client.delete(here),
            client.post(f"{here}/withdraw"),
        ):
            assert answer.status_code == 403
    assert provider.get(here).json() == book


def test_a_customers_key_sees_what_it_pays_and_no_drafts(
    api: str, learned: Tenant, provider: httpx.Client, tier: str
) -> None:
    book, draft = priced(provider, tier), priced(provider, tier)
    published(provider, book).raise_for_status()
    here, there = (f"/v1/price-books/{each['id']}" for each in (book, draft))
    with learned.client(api, Scope.AGENT) as customer:
        assert "no such price book" in reason(customer.get(there), 404)
        assert {each["state"] for each in customer.get("/v1/price-books").json()} <= {"published", "superseded"}
        current_price = next(each["price"] for each in customer.get("/v1/sla-tiers").json() if each["tier_id"] == tier)
        for price in (*customer.get(here).json()["prices"], current_price):
            parts = {name: Decimal(price[name]) for name in ("base", "per_gb", "per_kwh")}
            assert parts == {"base": Decimal("0.12"), "per_gb": Decimal("0.024"), "per_kwh": Decimal("0.36")}
            assert price["margin"] is None
    with learned.client(api, Scope.ANALYST) as analyst:
        assert analyst.get(there).json() == draft
        assert analyst.get(here).json()["prices"][0]["margin"] == "0.200000"


def test_every_change_of_a_price_is_in_the_log(provider: httpx.Client, tier: str, learned: Tenant) -> None:
    book = priced(provider, tier)
    published(provider, book).raise_for_status()
    with learned.parts.store.unit_of_work(learned.id) as uow:
        newest = list(uow.audit.list_page(limit=3, about="price"))
    assert [each.action for each in newest] == ["price_book.published", "price.set", "price_book.drafted"]
    assert newest[1].detail["after"]["per_gb"] == "0.02"


def test_other_processes_hear_of_new_prices(provider: httpx.Client, tier: str, learned: Tenant) -> None:
    assert decode(encode(PricesChanged(learned.id))) == PricesChanged(learned.id)
    book = priced(provider, tier)
    with learned.parts.client.pubsub() as listener:
        listener.subscribe("tradewind:notices")
        listener.get_message(timeout=5)
        published(provider, book).raise_for_status()
        heard = eventually(lambda: listener.get_message(ignore_subscribe_messages=True, timeout=1))
    assert decode(heard["data"]) == PricesChanged(learned.id)
