"""Quotes that come after the month of their transfer: the clock of its host is behind the service's."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

import httpx
import pytest

from tests.integration.pricing.past_transfers import FIRST, SECOND, Billed
from tests.stack import Tenant


@pytest.fixture
def acme(tenant: Tenant, api: str, admin_database_url: str) -> Billed:
    return Billed.new(tenant, api, admin_database_url)


@pytest.fixture
def provider(api: str, tenant: Tenant) -> Iterator[httpx.Client]:
    with tenant.client(api) as opened:
        yield opened


def list_amounts(provider: httpx.Client, acme: Billed) -> list[Decimal]:
    return [Decimal(line["amount"]) for month in (FIRST, SECOND) for line in acme.read(provider, month)["billed"]]


def test_transfer_that_started_in_the_month_before_its_quote_by_its_own_clock_is_billed_once(
    provider: httpx.Client, acme: Billed
) -> None:
    acme.move(FIRST, "3", day=28, quoted_at=FIRST.ends_at + timedelta(seconds=5))
    assert list_amounts(provider, acme) == [Decimal(3)]
    assert len(acme.read(provider, FIRST)["billed"]) == 1
    with acme.tenant.parts.store.unit_of_work(acme.tenant.id) as uow:
        in_view = uow.connection.exec_driver_sql("SELECT month, amount FROM warehouse.billed_transfers").all()
    assert [tuple(row) for row in in_view] == [(str(FIRST), Decimal(3))]


def test_quote_of_more_than_a_day_after_the_month_of_its_transfer_bills_nothing(
    provider: httpx.Client, acme: Billed
) -> None:
    acme.move(FIRST, "3", day=28, quoted_at=FIRST.ends_at + timedelta(days=1, seconds=5))
    assert list_amounts(provider, acme) == []
    assert [each["reason"] for each in acme.read(provider, FIRST)["unbilled"]] == ["not_quoted"]
