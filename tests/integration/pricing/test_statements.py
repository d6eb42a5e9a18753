"""Statements of customers over their keys, as keys move and months are dropped, equal to a calculation by hand."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from io import StringIO
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest
import redis

from services.application.billing.usage import Billing, Month, UsageLine
from services.application.logs.retain import DaysOfMonth
from services.bootstrap import Container
from tests.integration.admin.visitors import entries, person, signed_in
from tests.integration.billing.quotes import journalled, store, valkey
from tests.integration.live_transfers import learned
from tests.integration.pricing.test_credits import MET_S, MISSED_S, PRICE, move, publish_with_credit
from tests.integration.pricing.test_customers import as_key, negotiate, new_customer, new_key
from tests.stack import Tenant

__all__ = ["learned", "store", "valkey"]

Json = dict[str, Any]

GB = 10**9
MONTH = f"{datetime.now(UTC):%Y-%m}"
CENT, MICRO = Decimal("0.01"), Decimal("0.000001")


@pytest.fixture
def provider(api: str, learned: Tenant) -> Iterator[httpx.Client]:
    with learned.client(api) as opened:
        yield opened


def price_by_hand(made: Json, factor: str = "1") -> Decimal:
    cost = Decimal(PRICE["base"]) + Decimal(PRICE["per_gb"]) * Decimal(made["total_bytes"]) / GB
    return (cost * Decimal("1.17") * Decimal(factor)).quantize(MICRO)


def list_ids(transfer_ids: list[str]) -> str:
    return "transfer_id IN ({})".format(", ".join(f"'{transfer}'" for transfer in transfer_ids))


def statement_of(provider: httpx.Client, customer: Json) -> Json:
    answer = provider.get(f"/v1/customers/{customer['id']}/statement", params={"month": MONTH})
    made: Json = answer.raise_for_status().json()
    return made


def test_customer_pays_for_what_its_keys_moved_while_they_were_its_own(
    api: str, parts: Container, learned: Tenant, provider: httpx.Client, store: redis.Redis
) -> None:
    book = publish_with_credit(provider)
    north, south = new_key(provider), new_key(provider)
    with as_key(api, north) as one, as_key(api, south) as two:
        before = [move(one, MET_S)]  # belongs to the first customer of the key, at the price of the book
        acme = new_customer(provider, north, south, contact_name="Ann", contact_email="ann@acme.example")
        negotiate(provider, acme, adjustment="-0.125")
        reduced = [move(one, MISSED_S), move(two, MET_S), move(two, MISSED_S)]
        journalled(parts, store, *before, *reduced)
        early = statement_of(provider, acme)
        rule = {"price": {"per_gb": "2", "credit": "0.5"}}
        negotiate(provider, acme, adjustment="3", rules=[rule], currency="EUR")
        fixed = [move(two, MISSED_S)]
        journalled(parts, store, *fixed)
        provider.put(f"/v1/customers/{acme['id']}/keys", json={"key_ids": [south["id"]]}).raise_for_status()
        other = new_customer(provider, north)
        later = [move(one, MET_S)]
        journalled(parts, store, *later)

    amounts = [price_by_hand(before[0]), *(price_by_hand(each, "0.875") for each in reduced)]
    at_rule = (2 * Decimal(fixed[0]["total_bytes"]) / GB).quantize(MICRO)
    credit = (amounts[1] + amounts[3]) * Decimal("0.35") + at_rule * Decimal("0.5")
    total = sum(amounts, at_rule)
    made = statement_of(provider, acme)
    (line,) = made["billed"]
    assert Decimal(line["amount"]) == total
    assert Decimal(line["credit"]) == credit
    assert Decimal(line["payable"]) == (total - credit).quantize(CENT, ROUND_HALF_UP)
    assert (line["transfers"], line["agreements_kept"], line["agreements_missed"]) == (5, 2, 3)
    assert made["number"] == f"{MONTH}-{acme['number']:04}"
    assert made["customer"]["contact_name"] == "Ann"
    assert (made["final"], early["number"]) == (False, made["number"]), "transfers join it until the month is closed"
    assert statement_of(provider, acme)["fingerprint"] == made["fingerprint"] != early["fingerprint"]
    assert {key["billed"][0]["payable"] for key in made["keys"]} == {None}, "its keys pay nothing of their own"
    assert sum(Decimal(key["billed"][0]["amount"]) for key in made["keys"]) == total
    assert {key["key_id"] for key in made["keys"]} == {north["id"], south["id"]}
    assert sum(Decimal(each["amount"]) for each in made["totals"]) == total
    assert sum(each["transfers"] for each in made["totals"]) == 5

    assert_warehouse_agrees(provider, acme, (*before, *reduced, *fixed), total, credit)
    moved = statement_of(provider, other)
    assert Decimal(moved["billed"][0]["amount"]) == price_by_hand(later[0]), "the other customer pays the book's price"
    listed = provider.get("/v1/usage-statements", params={"month": MONTH}).json()
    of_north = {each["customer"]: each for each in listed if each["key_id"] == north["id"]}
    assert of_north.keys() == {acme["name"], other["name"]}
    of_acme_north = of_north[acme["name"]]
    assert (of_acme_north["billed"][0]["payable"], of_acme_north["customer_billed"]) == (None, made["billed"])

    text = provider.get(f"/v1/customers/{acme['id']}/statement", params={"month": MONTH, "format": "csv"}).text
    rows = list(csv.DictReader(StringIO(text)))
    assert {row["customer"] for row in rows} == {acme["name"]}
    assert sum(Decimal(row["amount"]) for row in rows) == total

    replayed = 5 * at_rule + price_by_hand(later[0])  # the fixed price is current for all that Acme moved
    assert_replay_of_a_copy_agrees(provider, book, replayed)
    with signed_in(api, person(parts, learned, "provider")) as visitor:
        assert_pages_agree(visitor, acme, south, line["payable"], listed)
    noted = {action for action, _, _ in entries(parts, learned, "customer")}
    assert noted >= {"customer.created", "customer.keys_set", "customer.prices_negotiated"}


def assert_warehouse_agrees(
    provider: httpx.Client, customer: Json, transfers: Iterable[Json], total: Decimal, credit: Decimal
) -> None:
    """Assert that the sums of both views are those of the statement of five transfers."""
    query = (
        "SELECT sum(amount) AS amount, sum(credit) AS credit FROM transfer_slas "
        f"WHERE {list_ids([each['transfer_id'] for each in transfers])}"
    )
    (found,) = provider.post("/v1/warehouse/query", json={"sql": query}).raise_for_status().json()["rows"]
    assert Decimal(str(found["amount"])) == total
    assert abs(Decimal(str(found["credit"])) - credit) <= 5 * MICRO / 2, "each is rounded to six decimals"

    query = (
        "SELECT c.number, sum(amount) AS amount, sum(credit) AS credit, count(*) AS transfers "
        f"FROM billed_transfers JOIN customers c USING (customer_id) WHERE month = '{MONTH}' GROUP BY c.number"
    )
    rows = provider.post("/v1/warehouse/query", json={"sql": query}).raise_for_status().json()["rows"]
    (billed,) = [row for row in rows if row["number"] == customer["number"]]
    assert (Decimal(str(billed["amount"])), Decimal(str(billed["credit"]))) == (total, credit)
    assert billed["transfers"] == 5


def assert_replay_of_a_copy_agrees(provider: httpx.Client, book: str, revenue: Decimal) -> None:
    draft = provider.post("/v1/price-books", json={"name": f"The same {uuid4()}", "copy_of": book}).json()["id"]
    tried = provider.get(f"/v1/price-books/{draft}/what-if").json()
    assert Decimal(tried["in_force"]["revenue"]) == pytest.approx(revenue, abs=MICRO * 10)
    assert tried["book"]["revenue"] == tried["in_force"]["revenue"]


def assert_pages_agree(
    visitor: httpx.Client, customer: Json, key: Json, payable_of_customer: str, listed: Iterable[Json]
) -> None:
    """Assert what the statement's page, the usage of the month and the revenue show of five transfers."""
    page = visitor.get("/admin/usage/statement", params={"month": MONTH, "customer": customer["id"]}).text
    assert "12.5 % off the price book" in page
    assert "preliminary" in page
    assert f"<strong>{payable_of_customer}</strong>" in page
    assert page.count("/admin/transfers/") == 5
    usage = visitor.get("/admin/usage", params={"month": MONTH}).text
    assert usage.index(customer["name"]) < usage.index(key["name"])
    payable = sum(
        Decimal(line["payable"])
        for each in {each["customer_id"] or each["key_id"]: each for each in listed}.values()
        for line in each["customer_billed"] or each["billed"]
    )
    assert f"<strong>{payable:,.2f} EUR</strong>" in visitor.get("/admin/revenue").text
    assert f"{payable:,.2f}" in usage
    assert visitor.get(f"/admin/usage/statement?month={MONTH}&customer={uuid4()}").status_code == 404


def test_statement_of_a_dropped_month_names_its_customer(
    parts: Container, learned: Tenant, provider: httpx.Client, admin_database_url: str
) -> None:
    acme, key = new_customer(provider), UUID(new_key(provider)["id"])
    month = Month.parse("2020-02")
    line = UsageLine(
        key_id=key,
        key="mover",
        customer_id=UUID(acme["id"]),
        billing=Billing.BILLED,
        currency="EUR",
        transfers=3,
        bytes_moved=3 * GB,
        amount=Decimal("1.234567"),
        met=2,
        missed=1,
        from_log_alone=0,
        credit=Decimal("0.2"),
    )
    own = replace(line, customer_id=None, amount=Decimal(7))
    with parts.store.unit_of_work(learned.id) as uow:
        days = DaysOfMonth(marked=0, to_export=0, versions=1, exported=[])
        uow.month_seals.seal(month, days, [line, own], at=parts.clock.now())
        uow.commit()
    with psycopg.connect(admin_database_url) as admin:
        admin.execute("INSERT INTO closed_months VALUES ('2020-02-01', now(), now())")
    answer = provider.get(f"/v1/customers/{acme['id']}/statement", params={"month": "2020-02"}).json()
    assert [Decimal(each["payable"]) for each in answer["billed"]] == [Decimal("1.03")]
    assert (answer["totals"], answer["final"]) == ([], True)
    listed = provider.get("/v1/usage-statements", params={"month": "2020-02"}).json()
    assert {(each["customer"], each["billed"][0]["amount"]) for each in listed} == {
        (acme["name"], "1.234567"),
        (None, "7"),
    }
