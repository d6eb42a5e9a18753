"""A statement that needs too much memory ends in an error of its own; the server and all other sessions go on."""

import httpx
import psycopg
import pytest

from services.application.access.authenticate import Scope
from services.embedded.postgres import SESSION_MEMORY_BYTES, EmbeddedPostgres
from tests.integration.warehouse.test_readers import dsn, postgres, provider
from tests.stack import Tenant
from tradewind.units import MIB

__all__ = ["dsn", "postgres", "provider"]

LARGE = {
    "a value": "SELECT length(repeat('x', 1000000000))",
    "values put together": "SELECT length(repeat('x', 200000000) || repeat('y', 200000000))",
    "texts aggregated": "SELECT length(string_agg(repeat('x', 10000), '')) FROM generate_series(1, 90000)",
    "an array": "SELECT array_length(array_agg(n), 1) FROM generate_series(1, 60000000) n",
    "a document": "SELECT length(jsonb_agg(n)::text) FROM generate_series(1, 9000000) n",
    "a pattern": "SELECT count(*) FROM regexp_split_to_table(repeat('a,', 50000000), ',')",
    "the rows of another query": "SELECT query_to_xml('SELECT n FROM generate_series(1, 9000000) n', true, true, '')",
    "a format": "SELECT length(format('%500000000s', 'x'))",
}
WITH_MORE_FOR_WORK = {
    "a sort": "SELECT n FROM generate_series(1, 20000000) n ORDER BY n DESC OFFSET 19999999",
    "groups": "SELECT count(*) FROM (SELECT n FROM generate_series(1, 20000000) n GROUP BY n) g",
    "a recursion": "WITH RECURSIVE r(n, t) AS "
    "(SELECT 1, repeat('x', 10000) UNION ALL SELECT n + 1, t FROM r WHERE n < 90000)"
    " SELECT count(*) FROM r a, r b WHERE a.n = b.n",
}


@pytest.fixture(autouse=True)
def the_server_goes_on(admin_database_url: str):  # type: ignore[no-untyped-def]
    """Fail where PostgreSQL has ended its sessions and begun again, as after a process that was killed."""
    with psycopg.connect(admin_database_url, autocommit=True) as bystander:
        yield
        assert bystander.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    ("what", "format_"),
    [*((what, "json") for what in LARGE), ("a value", "csv"), ("a value", "arrow"), ("a format", "arrow")],
)
def test_a_query_of_the_service_that_needs_too_much_is_refused(
    provider: Tenant, api: str, what: str, format_: str
) -> None:
    with provider.client(api, Scope.ANALYST) as client:
        answer: httpx.Response = client.post("/v1/warehouse/query", json={"sql": LARGE[what], "format": format_})
        assert (answer.status_code, answer.json()["sqlstate"]) == (422, "53200"), answer.text
        assert "needs more memory" in answer.json()["detail"]
        assert client.post("/v1/warehouse/query", json={"sql": "SELECT 1"}).status_code == 200


@pytest.mark.parametrize("what", LARGE | WITH_MORE_FOR_WORK)
def test_a_statement_of_a_login_that_needs_too_much_fails_whatever_it_sets(dsn: str, what: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as session:
        for setting in ("work_mem = '64GB'", "hash_mem_multiplier = 1000"):
            session.execute(f"SET {setting}")  # type: ignore[call-overload]
        with pytest.raises(psycopg.errors.OutOfMemory):
            session.execute((LARGE | WITH_MORE_FOR_WORK)[what])  # type: ignore[call-overload]
        assert session.execute("SELECT count(*) FROM transfers").fetchone() == (3,)  # the session itself goes on


def test_the_limit_is_that_of_every_process_and_can_be_another() -> None:
    with (
        EmbeddedPostgres.temporary(durable=False, memory_bytes=64 * MIB) as server,
        psycopg.connect(server.url(), autocommit=True) as session,
    ):
        assert 64 * MIB < SESSION_MEMORY_BYTES
        with pytest.raises(psycopg.errors.OutOfMemory):
            session.execute(f"SELECT length(repeat('x', {64 * MIB}))")  # type: ignore[call-overload]
        assert session.execute(f"SELECT length(repeat('x', {16 * MIB}))").fetchone() == (16 * MIB,)  # type: ignore[call-overload]
