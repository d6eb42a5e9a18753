"""What is stored of usage, however it changed, is what is computed of all rows."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from importlib import import_module
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from services.application.logs.retain import DaysOfMonth
from tests.integration.billing.changing_rows import BATCH, FIRST, LOG, MONTHS, QUOTE, Provider
from tests.stack import Tenant, new_tenant

STEPS = 70


@pytest.fixture
def provider(
    tenant: Tenant, database_url: str, admin_database_url: str, request: pytest.FixtureRequest
) -> Iterator[Provider]:
    own = new_tenant(tenant.parts, database_url)
    with closing(psycopg.connect(admin_database_url, autocommit=True)) as admin:
        made = Provider(own, admin, random.Random(request.node.name))
        made.found()
        yield made


def count_rows(provider: Provider) -> int:
    row = provider.admin.execute(
        "SELECT count(*) FROM transfer_logs WHERE tenant_id = %s AND transfer_id IS NULL AND quote IS NULL "
        "AND (chunk IS NULL OR chunk = 'whole')",
        [provider.tenant.id],
    ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("course", range(4))
def test_usage_is_that_of_all_rows_after_every_change(provider: Provider, course: int) -> None:
    for _ in range(STEPS):
        provider.chance.choice(provider.changes)()
        if provider.chance.random() < 0.3:
            assert provider.read() == provider.read(entirely=True)
    provider.refresh()
    stored = provider.read()
    assert stored == provider.read(entirely=True)
    imported = sum(
        "None" in each.partition("transfer_id=")[2][:4] and "billing=<Billing.NOT_QUOTED" in each
        for month in MONTHS
        for each in stored[month, "each"]
    )
    assert imported == count_rows(provider)


def test_change_that_is_committed_while_usage_is_computed_is_computed_next(
    provider: Provider, admin_database_url: str
) -> None:
    batch, earlier, later = uuid4(), FIRST + timedelta(days=1), FIRST + timedelta(days=9)
    provider.execute(BATCH, id=batch, key=provider.keys[0])
    row: dict[str, Any] = {"tenant": provider.tenant.id, "link": provider.link, "batch": batch, "chunk": "whole"}
    row |= {"transfer": provider.transfers[0], "quote": None, "status": "succeeded", "bytes": 5}
    with psycopg.connect(admin_database_url) as other:
        other.execute(LOG, row | {"id": uuid4(), "at": earlier, "received": earlier})
        provider.execute(LOG, **row | {"id": uuid4(), "at": later, "received": later})
        provider.refresh()
        (line,) = provider.read()[MONTHS[0], "sums"]
        assert line.transfers == 1
        other.commit()
    assert provider.read() == provider.read(entirely=True)
    provider.refresh()
    (each,) = provider.read()[MONTHS[0], "each"]
    assert "2026, 5, 2," in each


def test_transfer_of_a_month_that_is_sealed_while_usage_is_computed_is_on_no_later_statement(
    provider: Provider,
) -> None:
    may, june = MONTHS[:2]
    for key, at in zip(provider.keys, (june.begins_at - timedelta(days=1), june.begins_at), strict=False):
        batch = uuid4()
        provider.execute(BATCH, id=batch, key=key)
        logged = {"id": uuid4(), "batch": batch, "received": at, "at": at, "chunk": None, "quote": None}
        provider.execute(LOG, **logged, transfer=provider.transfers[0], status="succeeded", bytes=5)
    open_unit_of_work = provider.tenant.parts.store.unit_of_work

    def seal() -> None:
        with open_unit_of_work(provider.tenant.id) as uow:
            days = DaysOfMonth(marked=0, to_export=0, versions=1, exported=[])
            uow.month_seals.seal(may, days, uow.usage.list_sums(may), at=FIRST)
            uow.commit()

    with open_unit_of_work(provider.tenant.id) as computing, ThreadPoolExecutor(1) as threads:
        computing.usage_refresh.refresh(10)
        sealing = threads.submit(seal)
        wait([sealing], timeout=0.5)
        computing.commit()
        sealing.result()
    assert provider.read() == provider.read(entirely=True)
    assert provider.read()[june, "sums"] == []


def test_stored_transfer_is_billed_as_it_was_quoted(provider: Provider) -> None:
    batch, transfer, at = uuid4(), provider.transfers[0], FIRST + timedelta(days=3)
    provider.execute(BATCH, id=batch, key=provider.keys[0])
    quoted = {"transfer": transfer, "at": at, "key": provider.keys[0], "tier": provider.tiers[0]}
    provider.execute(QUOTE, **quoted, book=provider.books[0], amount="1.25", currency="EUR", credit=None)
    provider.refresh()
    logged = {"id": uuid4(), "batch": batch, "received": at, "at": at, "chunk": None, "transfer": transfer}
    provider.execute(LOG, **logged, quote=None, status="succeeded", bytes=5)
    for _ in range(2):
        (line,) = provider.read()[MONTHS[0], "sums"]
        assert (line.billing, line.amount, line.key_id) == ("billed", Decimal("1.25"), provider.keys[0])
        provider.refresh()


def test_records_of_earlier_versions_are_counted_once(provider: Provider) -> None:
    batch = uuid4()
    provider.execute(BATCH, id=batch, key=provider.keys[0])
    row = {"batch": batch, "received": FIRST, "at": FIRST, "chunk": None, "transfer": None, "quote": None}
    provider.execute(LOG, **row, id=uuid4(), status="succeeded", bytes=5)
    provider.execute("DELETE FROM usage_imports WHERE tenant_id = %(tenant)s")
    provider.execute(LOG, **row, id=uuid4(), status="failed", bytes=7)
    backfill = import_module("migrations.versions.2026_11_29_0750_usage_so_far").COUNT_AND_MARK
    for _ in range(2):
        provider.admin.execute(backfill)
        (line,) = provider.read()[MONTHS[0], "sums"]
        assert (line.transfers, line.bytes_moved) == (2, 12)


def test_nothing_is_left_to_compute_after_a_refresh(provider: Provider) -> None:
    for _ in range(5):
        provider.log()
        provider.quote()
    provider.assign()
    provider.refresh()
    waiting = provider.admin.execute("SELECT count(*) FROM usage_marks WHERE tenant_id = %s", [provider.tenant.id])
    assert waiting.fetchone() == (0,)
