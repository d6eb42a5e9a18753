"""What is billed of transfers whose hosts have wrong clocks, and of records that claim the ID of a transfer."""

import random
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.integration.billing.changing_rows import BATCH, FIRST, LOG, MONTHS, QUOTE, Provider
from tests.stack import Tenant, new_tenant

MAY, _, JULY = MONTHS
IN_MAY, IN_JULY = FIRST + timedelta(days=3), JULY.begins_at + timedelta(days=9)
QUOTED = Decimal("1.25")


@pytest.fixture
def provider(tenant: Tenant, database_url: str, admin_database_url: str) -> Iterator[Provider]:
    own = new_tenant(tenant.parts, database_url)
    with closing(psycopg.connect(admin_database_url, autocommit=True)) as admin:
        made = Provider(own, admin, random.Random(1))
        made.found()
        admin.execute(
            "UPDATE price_books SET published_at = now(), effective_from = now() WHERE id = %s", [made.books[0]]
        )
        yield made


def quote_in_july(provider: Provider, start: datetime = IN_JULY) -> None:
    quoted = {"transfer": provider.transfers[0], "at": start - timedelta(minutes=1), "key": provider.keys[0]}
    priced: dict[str, Any] = {"book": provider.books[0], "amount": QUOTED, "currency": "EUR", "credit": None}
    provider.execute(QUOTE, tier=provider.tiers[0], **quoted, **priced)


def log(provider: Provider, at: datetime, *, key: UUID | None = None, amount: str = "1.250000", **changes: Any) -> None:
    """Log the transfer, with its quote, as one that began then."""
    batch = uuid4()
    provider.execute(BATCH, id=batch, key=key or provider.keys[0])
    logged = {"chunk": "whole", "status": "succeeded", "bytes": 5, "transfer": provider.transfers[0]}
    logged |= {"quote": f"{amount} EUR total {provider.books[0]}", "received": IN_JULY, "id": uuid4()}
    provider.execute(LOG, batch=batch, at=at, **logged | changes)


def list_billed(provider: Provider) -> list[tuple[str, UUID | None, Decimal | None, int]]:
    """Return what is billed of each month, after comparing what is stored with all rows and with the analysts' view."""
    provider.refresh()
    read = provider.read()
    assert read == provider.read(entirely=True)
    billed = [
        (str(month), line.key_id, line.amount, line.from_log_alone)
        for month in MONTHS
        for line in read[month, "sums"]
        if line.billing == "billed"
    ]
    with provider.tenant.parts.store.unit_of_work(provider.tenant.id) as uow:
        rows = uow.connection.exec_driver_sql("SELECT month, key_id, amount FROM warehouse.billed_transfers ORDER BY 1")
        assert [tuple(row) for row in rows] == [each[:3] for each in billed]
    return billed


@pytest.mark.parametrize("behind", [timedelta(days=3), timedelta(days=10), timedelta(days=20)])
def test_transfer_whose_other_end_has_a_clock_behind_is_billed_once(provider: Provider, behind: timedelta) -> None:
    in_july = JULY.begins_at + timedelta(days=1)
    quote_in_july(provider, in_july)
    log(provider, in_july, received=in_july)
    log(provider, in_july - behind, received=in_july)
    [(_, key, amount, _)] = list_billed(provider)
    assert (key, amount) == (provider.keys[0], QUOTED)


def test_two_customers_with_records_of_one_transfer_are_billed_apart(provider: Provider) -> None:
    quote_in_july(provider)
    log(provider, IN_JULY)
    log(provider, IN_MAY, key=provider.keys[1], amount="0.500000")
    assert list_billed(provider) == [
        (str(MAY), provider.keys[1], Decimal("0.5"), 1),
        (str(JULY), provider.keys[0], QUOTED, 0),
    ]


def test_record_of_a_wrong_clock_alone_is_billed_by_its_quote(provider: Provider) -> None:
    quote_in_july(provider)
    log(provider, IN_MAY)
    assert list_billed(provider) == [(str(MAY), provider.keys[0], QUOTED, 1)]


def test_failed_record_of_a_wrong_clock_takes_nothing_off_the_bill(provider: Provider) -> None:
    log(provider, IN_MAY, status="failed")
    log(provider, IN_JULY)
    assert list_billed(provider) == [(str(JULY), provider.keys[0], QUOTED, 1)]


def test_record_whose_id_is_that_of_a_transfer_does_not_replace_it(provider: Provider) -> None:
    quote_in_july(provider)
    early = IN_JULY - timedelta(hours=1)
    log(provider, early, id=provider.transfers[0], transfer=None, amount="0.000001", received=early)
    log(provider, IN_JULY)
    assert list_billed(provider) == [(str(JULY), provider.keys[0], QUOTED, 0)]
