"""The schema on real PostgreSQL: up and down, in step with the tables, and each tenant its own rows."""

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import date
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from psycopg import sql
from psycopg.types.json import Jsonb
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from services.persistence import migrate
from services.persistence.engine import format_sqlalchemy_url
from services.persistence.migrate import prepare_database
from services.persistence.patience import Patience
from services.persistence.roles import APP, build_app_url, prepare_roles
from services.persistence.schema import read_head_revision
from services.persistence.tables import METADATA
from tests.conditions import eventually
from tests.integration.database.every_table import fill_empty_tables
from tests.integration.database.test_upgrades import learn
from tests.records import ndjson, record
from tests.stack import Tenant, new_tenant
from tradewind.errors import Conflict, Unavailable

TENANTS_TABLES = """
    SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE a.attname = 'tenant_id' AND c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace ORDER BY 1
"""

COMMENT = "SELECT obj_description('alembic_version'::regclass, 'pg_class')"


def names(connection: psycopg.Connection, query: str) -> list[str]:
    return [row[0] for row in connection.execute(query)]


def test_several_processes_may_migrate_at_once(empty_database: str) -> None:
    prepare_roles(empty_database)
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(migrate.upgrade, [empty_database] * 3))
    with psycopg.connect(empty_database) as admin:
        assert names(admin, "SELECT version_num FROM alembic_version") == [read_head_revision()]


WAITING = """
    SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND (query LIKE '%advisory_lock%' OR query = 'COMMIT')
"""


def test_a_process_that_waits_to_migrate_holds_up_no_index(empty_database: str) -> None:
    prepare_roles(empty_database)
    with (
        psycopg.connect(empty_database, autocommit=True) as first,
        ThreadPoolExecutor(1) as threads,
    ):
        first.execute("SELECT pg_advisory_lock(hashtext('tradewind migrations'))")
        second = threads.submit(migrate.upgrade, empty_database)
        eventually(lambda: names(first, WAITING))
        first.execute("CREATE TABLE of_first (id bigint)")
        first.execute("CREATE INDEX CONCURRENTLY ON of_first (id)")
        first.execute("SELECT pg_advisory_unlock(hashtext('tradewind migrations'))")
        second.result()
        assert names(first, "SELECT version_num FROM alembic_version") == [read_head_revision()]


def test_a_lock_that_is_not_had_ends_a_migration_in_one_line(empty_database: str) -> None:
    prepare_database(empty_database)
    migrate.downgrade(empty_database, "2026_11_22_2400")  # what comes after it changes batches
    hasty = Patience(lock_s=0.1, statement_s=60)
    with psycopg.connect(empty_database) as rival:
        rival.execute("LOCK TABLE batches")
        before = names(rival, "SELECT version_num FROM alembic_version")
        with pytest.raises(Unavailable) as told:
            prepare_database(empty_database, patience=hasty)
        assert names(rival, "SELECT version_num FROM alembic_version") == before
    assert re.fullmatch(
        r"somebody held a lock that a migration needs for more than 0\.1 s \(.+\): what was not done whole was undone; "
        r"try again, or with a greater TRADEWIND_MIGRATION_LOCK_TIMEOUT_S",
        str(told.value),
    )
    prepare_database(empty_database, patience=hasty)


def test_a_rival_that_migrates_for_ever_is_not_waited_for_for_ever(empty_database: str) -> None:
    prepare_roles(empty_database)
    with psycopg.connect(empty_database) as rival:
        rival.execute("SELECT pg_advisory_lock(hashtext('tradewind migrations'))")
        with pytest.raises(Unavailable, match=r"took more than 0\.1 s .* TRADEWIND_MIGRATION_STATEMENT_TIMEOUT_S"):
            migrate.upgrade(empty_database, patience=Patience(lock_s=5, statement_s=0.1))


def test_a_database_of_a_newer_version_is_left_as_it_is(empty_database: str) -> None:
    prepare_roles(empty_database)
    with psycopg.connect(empty_database, autocommit=True) as admin:
        admin.execute("CREATE TABLE alembic_version (version_num text)")
        admin.execute("GRANT SELECT ON alembic_version TO tradewind_owner")
        admin.execute("INSERT INTO alembic_version VALUES ('2999_01_01_0000')")
        with pytest.raises(Conflict, match=r"^the database's schema 2999_01_01_0000 is not known to this version"):
            migrate.upgrade(empty_database)
        assert names(admin, "SELECT relname FROM pg_class WHERE relname = 'tenants'") == []


def test_the_version_before_prepares_a_later_database_that_serves_it_by_leaving_it_as_it_is(
    empty_database: str,
) -> None:
    prepare_database(empty_database)
    newest = read_head_revision()
    with psycopg.connect(empty_database, autocommit=True) as admin:
        admin.execute("UPDATE alembic_version SET version_num = '2999_01_01_0000'")
        for oldest, served in ((newest, True), ("2999_01_01_0000", False)):
            admin.execute(f"COMMENT ON TABLE alembic_version IS '2999_01_01_0000 serves {oldest}'")
            with nullcontext() if served else pytest.raises(Conflict, match="is not known to this version"):
                prepare_database(empty_database)
            assert names(admin, "SELECT version_num FROM alembic_version") == ["2999_01_01_0000"]
            assert names(admin, COMMENT) == [f"2999_01_01_0000 serves {oldest}"]


def test_the_schema_is_that_of_the_tables(admin_database_url: str) -> None:
    def relevant(thing: Any, name: str | None, kind: str, reflected: bool, compared: Any) -> bool:
        table = name if kind == "table" else getattr(getattr(thing, "table", None), "name", "")
        return not str(table).startswith(("transfer_logs_", "transfer_samples_", "quotes_"))  # partitions

    engine = create_engine(format_sqlalchemy_url(admin_database_url), poolclass=NullPool)
    with engine.connect() as connection:
        options = {"compare_type": True, "include_object": relevant}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), METADATA) == []


def test_the_application_is_an_ordinary_role(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        row = connection.execute(
            "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        assert row == (False, False, False, False)
        assert connection.execute("SELECT current_user").fetchone() == (APP,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("ALTER TABLE transfer_logs DISABLE ROW LEVEL SECURITY")


def test_row_level_security_is_forced_on_every_table_with_a_tenant(
    api: str, tenant: Tenant, admin_database_url: str
) -> None:
    upload(api, tenant)
    with psycopg.connect(admin_database_url) as admin:
        tables = names(admin, TENANTS_TABLES)
        protected = names(admin, "SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity")
    assert "transfer_logs_2026_03" in tables
    assert set(tables) >= {table.name for table in METADATA.sorted_tables} - {
        "tenants",
        "closed_months",
        "database_copies",
    }
    assert set(tables) <= set(protected)


def upload(api: str, tenant: Tenant) -> None:
    with tenant.client(api) as client:
        answer = client.post("/v1/logs", content=ndjson([record()]) + b"broken\n")
        assert answer.status_code == 201


def test_a_hostile_tenant_sees_nothing_and_changes_nothing_of_another(
    api: str, tenant: Tenant, database_url: str, admin_database_url: str
) -> None:
    upload(api, tenant)
    hostile = new_tenant(tenant.parts, database_url)
    with psycopg.connect(admin_database_url) as admin:
        tables = [*names(admin, TENANTS_TABLES), "tenants"]
    for identity in (str(hostile.id), ""):
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("SELECT set_config('tradewind.tenant', %s, false)", [identity])
            for table in tables:
                owner = "id" if table == "tenants" else "tenant_id"
                theirs = sql.SQL(" {} WHERE {} = {}").format(
                    sql.Identifier(table), sql.Identifier(owner), sql.Literal(str(tenant.id))
                )
                for command in ("SELECT count(*) FROM", "DELETE FROM"):
                    try:
                        cursor = connection.execute(sql.SQL(command) + theirs)
                    except psycopg.errors.InsufficientPrivilege:
                        continue
                    assert (cursor.fetchone() == (0,)) if command[0] == "S" else (cursor.rowcount == 0), table


def test_no_row_of_any_table_is_taken_from_or_planted_with_another_tenant(
    api: str, tenant: Tenant, database_url: str, admin_database_url: str
) -> None:
    learn(api, tenant)
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        fill_empty_tables(admin)
        hostile = str(new_tenant(tenant.parts, database_url).id)
        rows = {table: one_row(admin, table, but_of=hostile) for table in names(admin, TENANTS_TABLES)}
    assert {table for table, row in rows.items() if row} >= {
        table.name for table in METADATA.sorted_tables if "tenant_id" in table.columns
    }
    for table, row in rows.items():
        if row is None:  # the partition of a month that nobody has rows of
            continue
        name, victim = sql.Identifier(table), row["tenant_id"]
        move = sql.SQL("UPDATE {} SET tenant_id = %s WHERE tenant_id = %s").format(name)
        plant = sql.SQL("INSERT INTO {0} OVERRIDING SYSTEM VALUE SELECT * FROM jsonb_populate_record(NULL::{0}, %s)")
        assert changed_as(hostile, database_url, move, hostile, victim) in (0, REFUSED), table
        assert changed_as(hostile, database_url, move, victim, victim) in (0, REFUSED), table
        assert changed_as(hostile, database_url, plant.format(name), Jsonb(row)) == REFUSED, table
        assert changed_as(victim, database_url, move, hostile, victim) == REFUSED, table


REFUSED = -1


def one_row(admin: psycopg.Connection, table: str, *, but_of: str) -> dict[str, Any] | None:
    query = sql.SQL("SELECT to_jsonb(t) FROM {} t WHERE tenant_id <> %s LIMIT 1").format(sql.Identifier(table))
    found = admin.execute(query, [but_of]).fetchone()
    return None if found is None else found[0]


def changed_as(tenant_id: str, database_url: str, command: sql.Composed, *values: Any) -> int:
    """The rows that a command of the application's role changes in the name of a tenant."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SELECT set_config('tradewind.tenant', %s, false)", [tenant_id])
        try:
            return connection.execute(command, values).rowcount
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ObjectNotInPrerequisiteState):
            return REFUSED  # the latter by what refuses additions to issued statements


def test_partitions_of_a_month_are_made_once_however_many_ask(database_url: str) -> None:
    months = [date(2020, month, 1) for month in range(1, 7)]

    def ensure(order: list[date]) -> None:
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("SELECT ensure_log_partitions(%s)", [order])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(ensure, [months, months[::-1], months, months[::-1]]))
    with psycopg.connect(database_url) as connection:
        found = names(connection, "SELECT relname FROM pg_class WHERE relname LIKE 'transfer_logs_2020___'")
    assert len(found) == 6


@pytest.mark.parametrize("month", ["2020-01-02", "1989-12-01", "2199-01-01"])
def test_no_partition_is_made_for_a_month_that_cannot_be(database_url: str, month: str) -> None:
    with psycopg.connect(database_url) as connection, pytest.raises(psycopg.errors.InvalidParameterValue):
        connection.execute("SELECT ensure_log_partitions(ARRAY[%s]::date[])", [month])


def test_the_applications_url_differs_in_its_role_alone() -> None:
    assert build_app_url("postgresql://boss:secret@db:5432/t?sslmode=require", password="p/w") == (
        "postgresql://tradewind_app:p%2Fw@db:5432/t?sslmode=require"
    )
    assert build_app_url("postgresql://postgres@/t?host=/run") == "postgresql://tradewind_app@/t?host=/run"
