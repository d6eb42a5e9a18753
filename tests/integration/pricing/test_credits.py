"""A missed SLA is credited: in the quote, on the statement, in its file and in a what-if, equal to a calculation by
hand.
"""

import csv
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from io import StringIO
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
import redis
from psycopg.types.json import Jsonb

from services.application.access.authenticate import Scope, make_secret
from services.application.access.keys import create_key
from services.bootstrap import Container
from tests.integration.admin.visitors import person, signed_in
from tests.integration.billing.quotes import SEEN, journalled, statement, store, valkey
from tests.integration.live_transfers import DESTINATION, Transfer, learned
from tests.records import record
from tests.stack import Tenant
from tradewind.wire.inventory import NewKey

__all__ = ["learned", "store", "valkey"]

GB = 10**9
PRICE = {"base": "0.10", "per_gb": "0.333333", "per_kwh": "0", "margin": "0.17", "credit": "0.35"}
SLA = {"kind": "throughput_at_least", "target": 100e6}
START = ({"probability": 0.95, "feasible": True}, {"sla": SLA})
MET_S, MISSED_S = 2, 20
"""How long a transfer takes that meets its SLA, and one that misses it."""


@pytest.fixture
def provider(api: str, learned: Tenant) -> Iterator[httpx.Client]:
    with learned.client(api, Scope.PROVIDER) as opened:
        yield opened


@pytest.fixture
def customer(api: str, learned: Tenant) -> Iterator[tuple[str, httpx.Client]]:
    """The id of a customer's key, and its client."""
    with learned.parts.store.unit_of_work(learned.id) as uow:
        made = create_key(
            NewKey(name=f"customer {uuid4()}", scopes=(Scope.AGENT,)),
            make_secret(),
            uow=uow,
            clock=learned.parts.clock,
        )
    with httpx.Client(base_url=api, headers={"Authorization": f"Bearer {made.secret}"}, timeout=60) as client:
        yield str(made.id), client


def publish_with_credit(provider: httpx.Client, **price: str) -> str:
    book = provider.post("/v1/price-books", json={"name": f"With credit {uuid4()}", "currency": "EUR"}).json()["id"]
    rules = {"rules": [{"price": PRICE | price}]}
    provider.put(f"/v1/price-books/{book}/rules", json=rules).raise_for_status()
    provider.post(f"/v1/price-books/{book}/publish").raise_for_status()
    return str(book)


def move(client: httpx.Client, seconds: int, **changes: Any) -> dict[str, Any]:
    """Move what was recommended within some seconds; return the recommendation."""
    transfer = Transfer(client, sla=SLA, dataset=SEEN["dataset"])
    assert transfer.recommended["sla"]["price"] is not None, transfer.recommended["rationale"]
    transfer.beat(0)
    moved = transfer.enquiry["dataset"]["total_bytes"]
    known = record(transfer_id=transfer.id, source="origin", destination=DESTINATION, chunk="whole")
    now = datetime.now(UTC)
    known |= {"started_at": (now - timedelta(seconds=seconds)).isoformat(), "ended_at": now.isoformat()}
    known["outcome"] |= {"status": "succeeded", "bytes_moved": moved, "throughput_bps": 8 * moved / seconds} | changes
    known |= {"quote": transfer.recommended["sla"]["price"]["quote"], "energy": []}
    ended = {"records": [known], "heartbeats": [{"heartbeat": transfer.body(1)}]}
    client.post(f"/v1/transfers/{transfer.id}/complete", json=ended).raise_for_status()
    return {"total_bytes": moved, **transfer.recommended}


def price_by_hand(made: dict[str, Any]) -> Decimal:
    cost = Decimal("0.10") + Decimal("0.333333") * Decimal(made["total_bytes"]) / GB
    return (cost * Decimal("1.17")).quantize(Decimal("0.000001"))


def test_missed_transfers_are_credited_to_the_cent(
    parts: Container,
    api: str,
    learned: Tenant,
    provider: httpx.Client,
    customer: tuple[str, httpx.Client],
    store: redis.Redis,
    admin_database_url: str,
) -> None:
    book = publish_with_credit(provider)
    key, client = customer
    met = [move(client, MET_S) for _ in range(2)]
    missed = [move(client, MISSED_S) for _ in range(3)]
    failed = move(client, MISSED_S, status="failed")
    journalled(parts, store, *met, *missed, failed)
    assert {each["sla"]["price"]["credit"] for each in met} == {"0.350000"}

    amounts = [price_by_hand(each) for each in (*met, *missed)]
    credit = sum((price_by_hand(each) * Decimal("0.35") for each in missed), Decimal(0))
    payable = (sum(amounts) - credit).quantize(Decimal("0.01"), ROUND_HALF_UP)
    (mine,) = [each for each in statement(provider) if each["key_id"] == key]
    (line,) = mine["billed"]
    assert Decimal(line["amount"]) == sum(amounts)
    assert Decimal(line["credit"]) == credit
    assert Decimal(line["payable"]) == payable
    assert (line["agreements_kept"], line["agreements_missed"]) == (2, 3)
    assert [(each["reason"], each["transfers"]) for each in mine["unbilled"]] == [("not_successful", 1)]

    month = mine["month"]
    with psycopg.connect(admin_database_url) as admin:  # as the journal's worker stores the start of each
        ids = [each["transfer_id"] for each in (*met, *missed)]
        admin.execute("UPDATE transfers SET expected = %s, enquiry = %s WHERE id = ANY(%s)", [*map(Jsonb, START), ids])
    text = provider.get("/v1/usage-statements", params={"month": month, "format": "csv"}).text
    rows = [row for row in csv.DictReader(StringIO(text)) if row["key_id"] == key and row["billing"] == "billed"]
    assert sum(Decimal(row["amount"]) for row in rows) - sum(Decimal(row["credit"] or 0) for row in rows) == (
        sum(amounts) - credit
    )
    assert {(row["target"], row["probability"]) for row in rows} == {("100000000", "0.95")}

    with signed_in(api, person(parts, learned, "provider")) as visitor:
        page = visitor.get("/admin/usage/statement", params={"month": month, "key": key}).text
        assert f"<strong>{payable}</strong>" in page
        assert page.count(">missed<") == 3
        assert all(f"/admin/transfers/{each['transfer_id']}" in page for each in (*met, *missed))
        assert failed["transfer_id"] not in page
        assert "throughput at least 100 Mbit/s" in page
        assert visitor.get("/admin/usage/statement", params={"month": month, "key": str(uuid4())}).status_code == 404
        assert visitor.get("/admin/usage/statement", params={"month": "2026-13", "key": key}).status_code == 422

    draft = provider.post("/v1/price-books", json={"name": f"Generous {uuid4()}", "copy_of": book}).json()["id"]
    generous = {"rules": [{"price": PRICE | {"credit": "1"}}]}
    provider.put(f"/v1/price-books/{draft}/rules", json=generous).raise_for_status()
    tried = provider.get(f"/v1/price-books/{draft}/what-if").json()
    assert tried["requests"] == 5
    assert Decimal(tried["in_force"]["credits"]) == credit.quantize(Decimal("0.000001"))
    assert Decimal(tried["book"]["credits"]) == pytest.approx(sum(amounts[2:]), abs=Decimal("0.00001"))


@pytest.mark.parametrize("credit", ["-0.1", "1.1", "1e30", "NaN", "<script>"])
def test_credit_that_is_no_share_is_refused(provider: httpx.Client, credit: str) -> None:
    book = provider.post("/v1/price-books", json={"name": f"Wrong {uuid4()}", "currency": "EUR"}).json()["id"]
    rules = {"rules": [{"price": PRICE | {"credit": credit}}]}
    assert provider.put(f"/v1/price-books/{book}/rules", json=rules).status_code == 422
    assert provider.get(f"/v1/price-books/{book}/rules").json()["rules"] == []
