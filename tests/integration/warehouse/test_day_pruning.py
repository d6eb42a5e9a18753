"""A condition on the day of a view reads the months of that day alone, for the login of an analyst."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from psycopg import sql
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from migrations.day_checks import add_day_checks, drop_day_checks
from services.application.access.authenticate import Scope
from services.bootstrap import Container
from services.persistence.engine import format_sqlalchemy_url
from tests.integration.warehouse.other_facts import beaten, quote
from tests.integration.warehouse.test_readers import credentials, postgres
from tests.records import ndjson, record
from tests.stack import Tenant, new_tenant

__all__ = ["postgres"]

MONTHS = ("2026_01", "2026_02", "2026_03", "2026_04", "2026_05")
TABLE_OF = {
    "whole_transfers": "transfer_logs",
    "transfer_chunks": "transfer_logs",
    "transfers": "transfer_logs",
    "transfer_footprints": "transfer_logs",
    "heartbeats": "transfer_samples",
    "quotes": "quotes",
}
CONDITIONS = {
    "day = DATE '2026-03-31'": {"2026_03"},
    "'2026-03-31' = day": {"2026_03"},
    "day = '2026-04-01'": {"2026_04"},
    "day BETWEEN '2026-02-28' AND '2026-03-01'": {"2026_02", "2026_03"},
    "day >= DATE '2026-04-01'": {"2026_04", "2026_05"},
    "day > DATE '2026-03-31' AND day < DATE '2026-05-01'": {"2026_04"},
    "day < DATE '2026-02-01'": {"2026_01"},
    "day IN ('2026-01-31', '2026-05-01')": {"2026_01", "2026_05"},
    "day = ANY ('{2026-02-01}')": {"2026_02"},
    "day >= DATE '2026-05-08' - 7": {"2026_05"},
    "day >= TIMESTAMP '2026-05-01 00:00'": {"2026_05"},
    "day = '2026-01-01' OR day = '2026-02-28'": {"2026_01", "2026_02"},
}


@pytest.fixture(scope="module")
def provider(api: str, parts: Container, database_url: str) -> Tenant:
    """A tenant with transfers, chunks, heartbeats and quotes at the edges of five months."""
    found = new_tenant(parts, database_url)
    for month in MONTHS:
        last = {"2026_02": 28, "2026_04": 30}.get(month, 31)
        for at in (f"{month}_01T00:00:00", f"{month}_{last}T23:59:59.999999"):
            upload_at(found, api, datetime.fromisoformat(at.replace("_", "-")).replace(tzinfo=UTC))
    return found


def upload_at(tenant: Tenant, api: str, at: datetime) -> None:
    transfer = beaten(tenant, at, sequence=0)
    quote(tenant, at)
    began, ended = at.isoformat(), (at + timedelta(seconds=9)).isoformat()
    rows = [
        record(id=str(uuid4()), transfer_id=str(transfer), chunk=chunk, started_at=began, ended_at=ended)
        for chunk in ("whole", "small", "large")
    ]
    with tenant.client(api) as client:
        receipt = client.post("/v1/logs", content=ndjson(rows))
        assert (receipt.status_code, receipt.json()["accepted"]) == (201, 3), receipt.text


@pytest.fixture(scope="module")
def session(provider: Tenant, api: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(credentials(provider, api), autocommit=True) as opened:
        yield opened


def months_read(session: psycopg.Connection, query: str) -> set[str]:
    plan = "\n".join(line for (line,) in session.execute(sql.SQL("EXPLAIN {}").format(sql.SQL(query))))
    return set(re.findall(r"(?:Scan on|using \w+ on) (?:transfer_logs|transfer_samples|quotes)_(\d{4}_\d\d)", plan))


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("view", TABLE_OF)
def test_condition_on_the_day_reads_its_months_alone(session: psycopg.Connection, view: str, condition: str) -> None:
    assert months_read(session, f"SELECT * FROM {view} WHERE {condition}") == CONDITIONS[condition]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("view", TABLE_OF)
def test_pruned_months_hold_no_row_of_the_condition(session: psycopg.Connection, view: str, condition: str) -> None:
    count = f"SELECT count(*) FROM {view} WHERE {{}}"
    session.execute("SET constraint_exclusion = off")
    rows = session.execute(count.format(condition)).fetchone()
    session.execute("RESET constraint_exclusion")
    assert session.execute(count.format(condition)).fetchone() == rows != (0,)


def test_a_join_reads_one_month_of_either_side(session: psycopg.Connection) -> None:
    query = """
        SELECT * FROM whole_transfers t JOIN heartbeats h USING (transfer_id)
         WHERE t.day = '2026-03-31' AND h.day = '2026-03-31'
    """
    assert months_read(session, query) == {"2026_03"}


def test_a_day_that_is_computed_when_the_query_runs_prunes_by_the_start_alone(session: psycopg.Connection) -> None:
    assert months_read(session, "TABLE transfers") == set(MONTHS)
    assert months_read(session, "SELECT * FROM transfers WHERE day >= current_date - 7") == set(MONTHS)
    assert months_read(session, "SELECT * FROM transfers WHERE started_at >= current_date - 7") == set()


def test_a_parameter_of_the_service_prunes_as_a_constant_does(provider: Tenant, api: str) -> None:
    with provider.client(api, Scope.ANALYST) as client:
        asking = {"sql": "EXPLAIN SELECT * FROM transfers WHERE day = $1", "parameters": ["2026-03-31"]}
        answer = client.post("/v1/warehouse/query", json=asking)
    lines = "\n".join(row["QUERY PLAN"] for row in answer.json()["rows"])
    assert set(re.findall(r"transfer_logs_(\d{4}_\d\d)", lines)) == {"2026_03"}


def test_months_of_an_earlier_schema_get_the_constraint_while_they_are_in_use(
    session: psycopg.Connection, provider: Tenant, admin_database_url: str
) -> None:
    assert provider
    query = "SELECT * FROM transfers WHERE day = DATE '2026-03-31'"
    run_as_migration(admin_database_url, drop_day_checks)
    assert months_read(session, query) == set(MONTHS)
    with psycopg.connect(admin_database_url, autocommit=True) as admin:  # as an interrupted run would leave it
        admin.execute(
            "ALTER TABLE transfer_logs_2026_01 ADD CONSTRAINT days"
            " CHECK ((started_at AT TIME ZONE 'UTC')::date < '2026-02-01'::date) NOT VALID"
        )
    for _ in range(2):  # the second time there is nothing to do
        run_as_migration(admin_database_url, add_day_checks)
    assert months_read(session, query) == {"2026_03"}


def run_as_migration(admin_database_url: str, change: Callable[[str], None]) -> None:
    engine = create_engine(format_sqlalchemy_url(admin_database_url), poolclass=NullPool)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"transaction_per_migration": True})
        with context.begin_transaction(_per_migration=True), Operations.context(context):
            change("transfer_logs")
