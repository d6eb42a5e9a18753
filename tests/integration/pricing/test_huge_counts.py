"""A customer that logs absurd bytes or amounts spoils its own lines alone: all statements are still issued."""

import csv
from datetime import timedelta
from io import StringIO

import psycopg
import pytest

from services.bootstrap import Container
from tests.integration.admin.visitors import person, signed_in
from tests.integration.pricing.past_transfers import FIRST, Billed
from tests.integration.pricing.test_customers import as_key
from tests.records import ndjson, record
from tests.stack import Tenant

MOST_BYTES = 2**63 - 1
"""That one record may state; two of them exceed an integer of the database."""


@pytest.fixture
def acme(tenant: Tenant, api: str, admin_database_url: str) -> Billed:
    return Billed.new(tenant, api, admin_database_url)


def test_statements_add_up_bytes_that_exceed_an_integer_of_the_database(
    api: str, parts: Container, tenant: Tenant, acme: Billed, admin_database_url: str
) -> None:
    billed = [acme.move(FIRST, "1.25") for _ in range(2)]
    with psycopg.connect(admin_database_url) as admin:
        admin.execute("UPDATE transfer_logs SET bytes_moved = %s WHERE transfer_id = ANY(%s)", [MOST_BYTES, billed])
    imported = [
        record(
            started_at=(FIRST.begins_at + timedelta(days=place)).isoformat(),
            ended_at=(FIRST.begins_at + timedelta(days=place, seconds=40)).isoformat(),
            outcome=record()["outcome"] | {"bytes_moved": MOST_BYTES},
        )
        for place in range(3)
    ]
    with as_key(api, acme.key) as agent:
        agent.post("/v1/logs", content=ndjson(imported)).raise_for_status()
    with tenant.client(api) as provider:
        (usage,) = provider.get("/v1/usage-statements", params={"month": str(FIRST)}).raise_for_status().json()
        assert [line["bytes_moved"] for line in usage["billed"]] == [2 * MOST_BYTES]
        assert [line["bytes_moved"] for line in usage["unbilled"]] == [3 * MOST_BYTES]
        assert [total["bytes_moved"] for total in acme.read(provider, FIRST)["totals"]] == [2 * MOST_BYTES]
        issued = acme.issue(provider, FIRST).raise_for_status().json()
        assert [due["payable"] for due in issued["to_pay"]] == ["2.50"]
        assert acme.read(provider, FIRST)["changes"] == []
    with signed_in(api, person(parts, tenant)) as browser:
        for path in ("/admin/usage", "/admin/usage/statement", "/admin/customers"):
            query = {"month": str(FIRST), "customer": acme.customer["id"]} if path.startswith("/admin/usage") else {}
            assert browser.get(path, params=query).status_code == 200, path


def test_statement_is_issued_where_amounts_exceed_the_digits_of_a_usual_sum(
    api: str, tenant: Tenant, acme: Billed
) -> None:
    absurd = "9999999999999999999999999.004500"
    for amount in ("12.000000", absurd, absurd, absurd, absurd):
        acme.move(FIRST, amount)
    exact = 4 * 9999999999999999999999999 + 12
    with tenant.client(api) as provider:
        issued = acme.issue(provider, FIRST)
        assert issued.status_code == 201, issued.text
        (due,) = issued.json()["to_pay"]
        assert (due["amount"], due["payable"]) == (f"{exact}.018000", f"{exact}.02")
        assert acme.read(provider, FIRST)["changes"] == []
        rows = csv.DictReader(StringIO(acme.read_file(provider, FIRST).text))
        assert sorted(row["amount"] for row in rows) == sorted(["12.000000", *[absurd] * 4])
