"""Usage statements: what is billed to whom, from logs and quotes, and what is not."""

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest
import redis

from services.application.access.authenticate import Scope, make_secret
from services.application.access.keys import create_key
from services.application.billing.customers import CustomerDetails
from services.application.billing.usage import Month
from services.application.models.sla_tiers import list_distinct_names, list_link_tiers
from services.bootstrap import Container
from services.queue.quote_recorder import QUOTES
from tests.integration.admin.visitors import person, signed_in
from tests.integration.agent.support.command import environment, run
from tests.integration.billing.quotes import (
    journalled,
    logged,
    outcome,
    publish_book,
    quoted,
    statement,
    store,
    valkey,
)
from tests.integration.live_transfers import learned
from tests.records import ndjson, record
from tests.stack import Tenant, new_tenant
from tradewind.wire.inventory import NewKey

__all__ = ["learned", "store", "valkey"]

MONTH = f"{datetime.now(UTC) - timedelta(minutes=2):%Y-%m}"


@pytest.fixture(scope="module")
def provider(api: str, learned: Tenant) -> Iterator[httpx.Client]:
    with learned.client(api, Scope.PROVIDER) as opened:
        publish_book(opened)
        yield opened


@dataclass(frozen=True)
class Customer:
    """A key of a customer, and what its statement says."""

    name: str
    client: httpx.Client
    provider: httpx.Client

    def billed(self) -> list[dict[str, object]]:
        return [line for each in statement(self.provider) if each["key"] == self.name for line in each["billed"]]

    def unbilled(self) -> list[tuple[str, int]]:
        mine = [each for each in statement(self.provider) if each["key"] == self.name]
        return [(line["reason"], line["transfers"]) for each in mine for line in each["unbilled"]]


@pytest.fixture
def customer(api: str, learned: Tenant, provider: httpx.Client) -> Iterator[Customer]:
    name = f"=customer {uuid4()} <script>alert(1)</script>"
    with learned.parts.store.unit_of_work(learned.id) as uow:
        new = NewKey(name=name, scopes=(Scope.AGENT,))
        secret = create_key(new, make_secret(), uow=uow, clock=learned.parts.clock).secret
    with httpx.Client(base_url=api, headers={"Authorization": f"Bearer {secret}"}, timeout=60) as client:
        yield Customer(name, client, provider)


def test_a_row_that_is_changed_changes_the_page_of_usage(
    api: str, customer: Customer, learned: Tenant, admin_database_url: str
) -> None:
    made = quoted(customer.client)
    logged(customer.client, made)
    with signed_in(api, person(learned.parts, learned, "provider")) as visitor:
        before = visitor.get("/admin/usage", params={"month": MONTH}).text
        with psycopg.connect(admin_database_url) as admin:
            changed = admin.execute(
                "UPDATE transfer_logs SET bytes_moved = 8123e9 WHERE transfer_id = %s", [made["transfer_id"]]
            ).rowcount
        after = visitor.get("/admin/usage", params={"month": MONTH}).text
    assert changed == 1
    assert "8.12 TB" not in before
    assert "8.12 TB" in after


def test_successful_transfers_are_billed_as_quoted_and_rounded_once(customer: Customer) -> None:
    made = [quoted(customer.client) for _ in range(3)]
    for each in made:
        logged(customer.client, each)
    (line,) = customer.billed()
    exact = sum(Decimal(each["sla"]["price"]["amount"]) for each in made)
    assert (line["transfers"], line["bytes_moved"], line["currency"]) == (3, 3 * 10**9, "EUR")
    assert (line["amount"], line["payable"]) == (f"{exact:f}", f"{exact.quantize(Decimal('0.01')):f}")
    assert customer.unbilled() == []


def test_each_further_row_is_on_the_statement(customer: Customer) -> None:
    logged(customer.client, quoted(customer.client))
    before = customer.billed()[0]["transfers"]
    logged(customer.client, quoted(customer.client))
    assert customer.billed()[0]["transfers"] == before + 1


def test_a_transfer_that_is_logged_twice_is_billed_once(customer: Customer) -> None:
    made = quoted(customer.client)
    logged(customer.client, made)
    logged(customer.client, made)
    logged(customer.client, made, quote=None, chunk="small")
    assert [line["transfers"] for line in customer.billed()] == [1]


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_failed_transfers_are_listed_apart(customer: Customer, status: str) -> None:
    logged(customer.client, quoted(customer.client), **outcome(status))
    assert (customer.billed(), customer.unbilled()) == ([], [("not_successful", 1)])


def test_transfers_without_a_quote_are_listed_apart(customer: Customer) -> None:
    logged(customer.client)
    assert (customer.billed(), customer.unbilled()) == ([], [("not_quoted", 1)])


def test_imported_rows_and_transfers_without_a_quote_are_one_line(customer: Customer) -> None:
    logged(customer.client)
    logged(customer.client, transfer_id=str(uuid4()))
    assert customer.unbilled() == [("not_quoted", 2)]


def test_imported_rows_belong_to_the_customer_that_had_the_key_at_the_end_of_their_day(
    customer: Customer, learned: Tenant
) -> None:
    noons = [datetime(2026, 3, day, 12, tzinfo=UTC) for day in range(3, 8)]
    rows = [
        record(number, started_at=at.isoformat(), ended_at=(at + timedelta(seconds=30)).isoformat())
        for number, at in enumerate(noons)
    ]
    assert customer.client.post("/v1/logs", content=ndjson(rows)).json()["accepted"] == len(rows)
    evening = timedelta(hours=6)
    with learned.parts.store.unit_of_work(learned.id) as uow:
        key_id = next(key.id for key in uow.keys.list_all() if key.name == customer.name)
        first, second = (
            uow.customers.add(CustomerDetails(name=f"{name} {uuid4()}"), noons[0]) for name in ("first", "second")
        )
        for holder, at in ((first, noons[0] + evening), (second, noons[3] + evening), (None, noons[4] + evening)):
            uow.customers.assign([key_id], holder, at)
        month = Month.of(noons[0])
        sums, each = uow.usage.list_sums(month), list(uow.usage.iterate_transfers(month))
    lines = [line for line in sums if line.key_id == key_id]
    found = {line.customer_id: (line.billing, line.transfers, line.bytes_moved) for line in lines}
    one = rows[0]["outcome"]["bytes_moved"]
    assert found == {
        first: ("not_quoted", 3, 3 * one),
        second: ("not_quoted", 1, one),
        None: ("not_quoted", 1, one),
    }
    names = [transfer.customer for transfer in each if transfer.key_id == key_id]
    assert [(name or "nobody").split()[0] for name in names] == ["first"] * 3 + ["second", "nobody"]


@pytest.mark.parametrize(
    "quote",
    [
        "free",
        "0.000001 EUR total",
        "0.000001 EUR total 5d0e2b0c-6f6e-4d58-9a43-4f0f0a3a9b11",
        "-1.000000 EUR total {book}",
        "1 EUR total {book}",
        "0.100000 USD total {book}",
        "0.100000 EUR dynamic {book}",
        "0.100000 EUR total ------------------------------------",
    ],
)
def test_unknown_quote_is_not_billed(customer: Customer, quote: str) -> None:
    made = quoted(customer.client)
    logged(customer.client, made, quote=quote.format(book=made["sla"]["price"]["book_id"]), transfer_id=str(uuid4()))
    assert (customer.billed(), customer.unbilled()) == ([], [("unknown_quote", 1)])


def test_journalled_quote_counts_over_the_one_in_a_log(
    customer: Customer, parts: Container, store: redis.Redis
) -> None:
    cheaper, silent = quoted(customer.client), quoted(customer.client)
    journalled(parts, store, cheaper, silent)
    for made, quote in ((cheaper, "0.000001 EUR total " + cheaper["sla"]["price"]["book_id"]), (silent, None)):
        logged(customer.client, made, quote=quote)
    (line,) = customer.billed()
    exact = sum(Decimal(each["sla"]["price"]["amount"]) for each in (cheaper, silent))
    assert (line["amount"], line["from_log_alone"]) == (f"{exact:f}", 0)


def test_no_bill_is_lost_with_the_journal(customer: Customer, store: redis.Redis) -> None:
    made = quoted(customer.client)
    store.delete(QUOTES)
    logged(customer.client, made)
    (line,) = customer.billed()
    assert (line["amount"], line["from_log_alone"]) == (made["sla"]["price"]["amount"], 1)


def test_quoted_customer_is_billed_when_a_provider_key_uploads_the_log(
    customer: Customer, api: str, learned: Tenant, parts: Container, store: redis.Redis
) -> None:
    made = quoted(customer.client)
    journalled(parts, store, made)
    with learned.client(api, Scope.AGENT, Scope.PROVIDER) as collector:
        logged(collector, made)
    assert [line["transfers"] for line in customer.billed()] == [1]


def test_missed_sla_is_shown_with_the_bill(customer: Customer, learned: Tenant) -> None:
    made = quoted(customer.client)
    whole = logged(customer.client, made)
    with psycopg.connect(learned.database_url) as connection:
        connection.execute("SELECT set_config('tradewind.tenant', %s, false)", [str(learned.id)])
        connection.execute(
            "INSERT INTO transfers (tenant_id, id, started_at, source, destination, mover, file_count, total_bytes, "
            "sequence, journalled_sequence, bytes_moved, agreement_kept) "
            "VALUES (%s, %s, %s, 'a', 'b', 'c', 1, 1, 0, 0, 1, false)",
            [learned.id, made["transfer_id"], whole["started_at"]],
        )
    (line,) = customer.billed()
    assert (line["agreements_kept"], line["agreements_missed"]) == (0, 1)


def test_transfer_is_billed_in_the_month_in_which_it_started(customer: Customer) -> None:
    logged(customer.client, started_at="2026-02-28T23:59:50+00:00", ended_at="2026-03-01T00:10:00+00:00")
    told = {month: [each["key"] for each in statement(customer.provider, month)] for month in ("2026-02", "2026-03")}
    assert (customer.name in told["2026-02"], customer.name in told["2026-03"]) == (True, False)


@pytest.mark.parametrize(
    "month", ["", "2026-13", "2026-00", "202611", "26-11", "2026-1", "9999-01", "month", "２０２６-11"]
)
def test_invalid_month_is_refused(provider: httpx.Client, month: str) -> None:
    answer = provider.get("/v1/usage-statements", params={"month": month})
    assert answer.status_code == 422, answer.text
    assert "month" in answer.json()["detail"]


@pytest.mark.parametrize("scope", [Scope.AGENT, Scope.ANALYST])
def test_only_providers_see_statements(api: str, learned: Tenant, scope: Scope) -> None:
    with learned.client(api, scope) as client:
        assert client.get("/v1/usage-statements", params={"month": MONTH}).status_code == 403


def test_another_tenant_sees_nothing_of_it(api: str, customer: Customer, parts: Container, learned: Tenant) -> None:
    logged(customer.client, quoted(customer.client))
    stranger = new_tenant(parts, learned.database_url)
    with stranger.client(api) as client:
        assert statement(client) == []
        whole = client.get("/v1/usage-statements", params={"month": MONTH, "format": "csv"}).text
    assert len(whole.splitlines()) == 1


def test_a_file_has_a_line_a_transfer_and_no_formula(customer: Customer) -> None:
    made = quoted(customer.client)
    logged(customer.client, made)
    logged(customer.client)
    answer = customer.provider.get("/v1/usage-statements", params={"month": MONTH, "format": "csv"})
    assert answer.headers["content-type"].startswith("text/csv")
    mine = [row for row in csv.DictReader(answer.text.splitlines()) if row["key"] == f"'{customer.name}"]
    assert sorted((row["billing"], row["amount"]) for row in mine) == [
        ("billed", made["sla"]["price"]["amount"]),
        ("not_quoted", ""),
    ]


def test_the_page_shows_the_statement_and_hands_out_the_file(
    customer: Customer, api: str, learned: Tenant, parts: Container
) -> None:
    logged(customer.client, quoted(customer.client))
    (line,) = customer.billed()
    with signed_in(api, person(parts, learned, "provider")) as visitor:
        shown = visitor.get("/admin/usage").text
        assert f"{line['payable']} EUR" in shown
        assert "<script>alert" not in shown
        assert "billed" in visitor.get("/admin/usage/transfers.csv", params={"month": MONTH}).text
        assert "Nothing was used" in visitor.get("/admin/usage", params={"month": "2020-01"}).text
        refused = visitor.get("/admin/usage", params={"month": "2020-99"})
        assert (refused.status_code, "Month" in refused.text) == (422, True)
    with signed_in(api, person(parts, learned, "analyst")) as analyst:
        assert analyst.get("/admin/usage").status_code == 403
        assert analyst.get("/admin/usage/transfers.csv", params={"month": MONTH}).status_code == 403


def test_usage_prints_statements_as_table_and_json_and_transfers_as_csv(
    api: str, customer: Customer, learned: Tenant, tmp_path: Path
) -> None:
    logged(customer.client, quoted(customer.client))
    (line,) = customer.billed()
    user = environment(tmp_path)
    assert run("login", api, "--key", learned.key(Scope.PROVIDER), "--unchecked", env=user).code == 0
    table = run("usage", "--month", MONTH, env=user)
    assert (table.code, table.err) == (0, "")
    (told,) = (each for each in table.out.splitlines() if each.startswith(customer.name))
    assert told.split()[-2:] == [line["payable"], "EUR"]
    document = run("usage", "--month", MONTH, "--json", env=user).document
    (mine,) = (each for each in document["statements"] if each["key"] == customer.name)
    assert mine["billed"] == [line]
    rows = list(csv.DictReader(run("usage", "--month", MONTH, "--csv", env=user).out.splitlines()))
    assert [row["amount"] for row in rows if row["key"] == f"'{customer.name}"] == [line["amount"]]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--month", "2026-13"), 2, "2026-13"),
        (("--month", "2026-01", "--csv", "--json"), 2, "--csv"),
        ((), 2, "--month"),
    ],
)
def test_the_command_says_in_a_line_what_is_wrong(
    api: str, learned: Tenant, tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    user = environment(tmp_path)
    run("login", api, "--key", learned.key(Scope.PROVIDER), "--unchecked", env=user)
    outcome = run("usage", *arguments, env=user)
    assert outcome.code == code
    assert said in outcome.error


def test_tiers_that_share_a_name_are_distinguished_by_their_data_sets(learned: Tenant) -> None:
    with learned.parts.store.unit_of_work(learned.id) as uow:
        [link, *_] = [link for link in uow.links.list_all() if list_link_tiers(link.id, uow)]
        tiers = list_link_tiers(link.id, uow)
        names = list_distinct_names({each.tier.id for each in tiers}, uow)
    counts = Counter(each.name for each in tiers)
    assert max(counts.values()) > 1
    assert names == {
        each.tier.id: f"{each.name}, {each.cluster}" if counts[each.name] > 1 else each.name for each in tiers
    }
