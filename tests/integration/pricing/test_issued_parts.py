"""What an issued statement is made of is stored with it, and nothing is added later, by the service's role either."""

from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy.exc import DBAPIError

from tests.integration.pricing.past_transfers import FIRST, SECOND, Billed
from tests.stack import Tenant

PARTS = {
    "issued_sums": "SELECT tenant_id, statement_id, 'JPY', transfers, amount, credit, adjustment, payable "
    "FROM issued_sums",
    "issued_adjustments": "SELECT tenant_id, statement_id, corrected_id, 'JPY', transfers, amount, credit "
    "FROM issued_adjustments",
    "issued_transfers": "SELECT tenant_id, statement_id, started_at, ordinal + 1000, ended_at, key_id, key, "
    "transfer_id, source, destination, mover, tier_id, sla, status, bytes_moved, amount, currency, energy_basis, "
    "book_id, kept, credit, target, probability FROM issued_transfers",
}
"""A row of each part of the statements that are issued, as one more."""


@pytest.fixture
def acme(tenant: Tenant, api: str, admin_database_url: str) -> Billed:
    return Billed.new(tenant, api, admin_database_url)


@pytest.fixture
def provider(api: str, tenant: Tenant, acme: Billed) -> Iterator[httpx.Client]:
    """Somebody who has issued two statements, of which the second has an adjustment."""
    with tenant.client(api) as opened:
        acme.move(FIRST, "5")
        acme.issue(opened, FIRST).raise_for_status()
        acme.move(FIRST, "1")
        acme.move(SECOND, "1")
        acme.issue(opened, SECOND).raise_for_status()
        yield opened


@pytest.mark.parametrize("table", PARTS)
def test_role_of_the_service_cannot_add_to_an_issued_statement(
    parts: Any, tenant: Tenant, provider: httpx.Client, table: str
) -> None:
    before = provider.get("/v1/issued-statements").json()
    with parts.store.unit_of_work(tenant.id) as uow:
        counted = uow.connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one()
        assert counted > 0
        with pytest.raises(DBAPIError, match="an issued statement never changes"):
            uow.connection.exec_driver_sql(f"INSERT INTO {table} {PARTS[table]}")
    assert provider.get("/v1/issued-statements").json() == before


@pytest.mark.parametrize("table", PARTS)
def test_administrator_of_the_database_cannot_add_to_an_issued_statement(
    admin_database_url: str, tenant: Tenant, provider: httpx.Client, table: str
) -> None:
    with (
        psycopg.connect(admin_database_url) as admin,
        pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="an issued statement never changes"),
    ):
        admin.execute(f"INSERT INTO {table} {PARTS[table]} WHERE tenant_id = %s", [tenant.id])
