"""A database of every schema so far, with rows in each table that it had, is brought to today's and answered from."""

from collections.abc import Iterable
from typing import Any

import httpx
import psycopg

from services.app import build_openapi_document
from services.bootstrap import build_container
from services.persistence import migrate
from services.persistence.roles import build_app_url, prepare_roles
from tests.integration.database.every_table import every_row, fill_empty_tables, store, tables
from tests.integration.models.test_releases import refresh
from tests.records import ndjson, record
from tests.stack import Tenant, serving

ASKED = {
    "source": "alpha",
    "destination": "omega",
    "mover": "tradewind",
    "dataset": {"file_count": 100, "total_bytes": 10**9},
    "sla": {"kind": "max_throughput"},
}
PARAMETERS = {
    "/v1/usage-statements": {"month": "2026-03"},
    "/v1/grid": {"source": "alpha", "destination": "omega", "begin": "2026-03-01T00:00:00Z"},
}
OBJECTS = """
    SELECT relname::text FROM pg_class
     WHERE relnamespace IN ('public'::regnamespace, to_regnamespace('warehouse')) AND NOT relispartition
       AND relname NOT LIKE 'alembic%'
    UNION ALL SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1
"""


def learn(api: str, tenant: Tenant) -> None:
    """Give the tenant logs, a row in quarantine and a release."""
    with tenant.client(api) as client:
        answer = client.post("/v1/logs", content=ndjson([record(n) for n in range(3)]) + b"broken\n")
        assert answer.status_code == 201
    refresh(tenant)


def answers(address: str, tenant: Tenant) -> dict[str, Any]:
    """What the service says of the tenant's data, and what it recommends."""
    paths = build_openapi_document()["paths"]
    lists = [path for path, calls in paths.items() if path.startswith("/v1/") and "get" in calls and "{" not in path]
    lists.remove("/v1/warehouse/credentials")  # a login is the server's, and this server has another of that name
    with tenant.client(address) as client:
        found = {path: client.get(path, params=PARAMETERS.get(path)) for path in lists}
        found["/v1/recommend"] = client.post("/v1/recommend", json=ASKED)
    refused = {path: answer.text for path, answer in found.items() if answer.status_code != httpx.codes.OK}
    assert refused == {}
    told = {path: answer.json() for path, answer in found.items()}
    told["/v1/recommend"]["transfer_id"] = None
    told["/v1/links/gain"]["made_at"] = None
    for key in told["/v1/keys"]:
        key["last_used_at"] = None  # a minute later these requests are noted
    del told["/v1/usage-statements"]  # by the key of a batch, which was not noted from the beginning
    return told


def rows_lost(
    before: Iterable[dict[str, Any]], after: Iterable[dict[str, Any]], columns: Iterable[str]
) -> list[dict[str, Any]]:
    """Rows that are no longer there, with those of their columns that were stored."""
    left = [{name: row[name] for name in columns if name in row} for row in after]
    return [row for row in ({name: row[name] for name in columns} for row in before) if row not in left]


def objects(admin: psycopg.Connection) -> list[str]:
    return [name for (name,) in admin.execute(OBJECTS)]


def test_rows_of_every_schema_so_far_survive_and_give_the_same_answers(
    empty_database: str, admin_database_url: str, redis_url: str, api: str, tenant: Tenant
) -> None:
    learn(api, tenant)
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        fill_empty_tables(admin)
        wanted = every_row(admin)
    expected = answers(api, tenant)

    stored: dict[str, list[str]] = {}
    prepare_roles(empty_database)
    with psycopg.connect(empty_database, autocommit=True) as admin:
        admin.execute("SET session_replication_role = replica")  # what triggers would leave is among the rows
        for revision in migrate.list_steps():
            migrate.upgrade(empty_database, revision)
            for table in set(tables(admin)) - set(stored):
                stored[table] = store(admin, table, wanted[table])
        found = every_row(admin)
        assert {
            table: lost for table in wanted if (lost := rows_lost(wanted[table], found[table], stored[table]))
        } == {}

        with (
            build_container(database_url=build_app_url(empty_database), redis_url=redis_url) as parts,
            serving(parts) as upgraded,
        ):
            assert answers(upgraded, tenant) == expected

        whole = objects(admin)
        migrate.downgrade(empty_database, migrate.BASE)
        assert objects(admin) == []
        migrate.upgrade(empty_database)
        assert objects(admin) == [name for name in whole if "2026_03" not in name]
