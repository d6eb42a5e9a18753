"""A provider sets its name and address; statements have them as a page, in JSON and in CSV."""

import csv
from collections.abc import Iterator
from io import StringIO

import httpx
import pytest
import redis

from services.bootstrap import Container
from tests.integration.admin.visitors import entries, person, signed_in
from tests.integration.billing.quotes import journalled, store, valkey
from tests.integration.live_transfers import learned
from tests.integration.pricing.test_credits import MET_S, move, publish_with_credit
from tests.integration.pricing.test_customers import as_key, new_customer, new_key
from tests.integration.pricing.test_statements import MONTH, statement_of
from tests.stack import Tenant

__all__ = ["learned", "store", "valkey"]

ISSUER = "/admin/usage/issuer"
NAME = "Nordkabel <Netz> GmbH"
LINES = ("Kaistraße 1", "20457 Hamburg", "=1+1")


@pytest.fixture
def provider(api: str, learned: Tenant) -> Iterator[httpx.Client]:
    with learned.client(api) as opened:
        yield opened


def test_statement_has_name_and_address_of_its_provider(
    api: str, parts: Container, learned: Tenant, provider: httpx.Client, store: redis.Redis
) -> None:
    publish_with_credit(provider)
    key = new_key(provider)
    acme = new_customer(provider, key)
    with as_key(api, key) as client:
        journalled(parts, store, move(client, MET_S))
    before = statement_of(provider, acme)
    assert (before["provider"], before["provider_address"]) == (f"tenant {learned.id}", [])
    query = f"month={MONTH}&customer={acme['id']}"
    with signed_in(api, person(parts, learned, "provider")) as visitor:
        sent = visitor.submit(ISSUER, name=f"  {NAME} ", address="\r\n".join(["", *LINES, " "]))
        assert sent.status_code == 303, sent.text
        page = visitor.get(f"/admin/usage/statement?{query}").text
        file = visitor.get(f"/admin/usage/transfers.csv?{query}").text
        every = visitor.get(f"/admin/usage/transfers.csv?month={MONTH}").text
        form = visitor.get("/admin/usage").text
    assert "<strong>Nordkabel &lt;Netz&gt; GmbH</strong><br>Kaistraße 1<br>20457 Hamburg<br>=1+1</dd>" in page
    assert "Kaistraße 1\n20457 Hamburg\n=1+1</textarea>" in form
    after = statement_of(provider, acme)
    assert (after["provider"], after["provider_address"]) == (NAME, list(LINES))
    assert after["fingerprint"] == before["fingerprint"], "sums are the same"
    assert NAME in file
    path, params = f"/v1/customers/{acme['id']}/statement", {"month": MONTH, "format": "csv"}
    answer = provider.get(path, params=params)
    assert answer.headers["content-type"].startswith("text/csv"), answer.text
    for text in (file, answer.text):
        (row,) = csv.DictReader(StringIO(text))
        assert (row["provider"], row["provider_address"]) == (NAME, "Kaistraße 1, 20457 Hamburg, =1+1")
    assert "provider_address" not in every, "it is no statement"
    assert entries(parts, learned, "statements")[0][0] == "statements.issuer_set"


@pytest.mark.parametrize(
    ("name", "address", "words"),
    [
        ("", "", "Name"),
        ("\u200b", "", "Name is blank"),
        ("\u202eabc", "", "invisible"),
        ("a" * 201, "", "201 characters"),
        ("a", "\n".join("123456789"), "has 9 lines"),
        ("a", "b" * 101, "101 characters"),
        ("a", "b\x00c", "control"),
        ("a", "b\u202ec", "invisible"),
    ],
)
def test_name_or_address_that_cannot_be_printed_changes_nothing(
    api: str, parts: Container, learned: Tenant, name: str, address: str, words: str
) -> None:
    with signed_in(api, person(parts, learned, "provider")) as visitor:
        visitor.submit(ISSUER, name="Before", address="here")
        refused = visitor.submit(ISSUER, name=name, address=address)
        assert (refused.status_code, words in refused.text) == (422, True), refused.text
        assert ">here</textarea>" in visitor.get("/admin/usage").text


def test_analyst_does_not_name_the_provider(api: str, parts: Container, learned: Tenant) -> None:
    with signed_in(api, person(parts, learned, "analyst")) as visitor:
        assert visitor.submit(ISSUER, name="Mine").status_code == 403
