"""Answers of too many bytes, and the turns and connections of the queries that ask for them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
import pyarrow as pa
import pytest
from psycopg import sql

from services.application.access.authenticate import Scope
from services.application.warehouse.query import LoginKind, QueryLimits
from services.bootstrap import Container
from tests.conditions import eventually
from tests.integration.limited_queries import api, parts, provider
from tests.stack import Tenant, new_tenant
from tradewind.units import MIB

__all__ = ["api", "parts", "provider"]

LIMITS = QueryLimits(row_bytes=MIB, answer_bytes=8 * MIB, seconds=30.0)
FORMATS = ("json", "csv", "arrow")
HUGE = 40_000_000


@pytest.fixture
def analyst(provider: Tenant, api: str) -> Iterator[httpx.Client]:
    with provider.client(api, Scope.ANALYST) as client:
        yield client


def ask(client: httpx.Client, statement: str, format_: str) -> httpx.Response:
    return client.post("/v1/warehouse/query", json={"sql": statement, "format": format_})


def peak_bytes() -> int:
    """Of this process, which is the API's too, since it was last forgotten."""
    told = Path("/proc/self/status").read_text(encoding="ascii").partition("VmHWM:")[2]
    return int(told.split()[0]) * 1024


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(
    "statement",
    [
        f"SELECT 1 AS one, repeat('x', {HUGE}) AS long",
        f"SELECT convert_to(repeat('x', {HUGE}), 'UTF8') AS long",
        f"SELECT jsonb_build_object('long', repeat('x', {HUGE})) AS long",
        "SELECT array_agg(10::numeric ^ 100000) AS few_bytes_that_are_many_digits FROM generate_series(1, 400)",
    ],
)
def test_a_huge_row_is_refused_and_never_reaches_the_service(
    analyst: httpx.Client, statement: str, format_: str
) -> None:
    ask(analyst, "SELECT 1", format_)  # loads what the format needs
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = peak_bytes()
    answer = ask(analyst, statement, format_)
    assert answer.status_code == 413, answer.text[:1000]
    assert "bytes, more than the 1048576 that are sent" in answer.json()["detail"]
    assert peak_bytes() - before < HUGE / 3


@pytest.mark.parametrize("format_", FORMATS)
def test_rows_within_the_limit_come_as_they_are(analyst: httpx.Client, format_: str) -> None:
    statement = """
        SELECT 1 AS a, 'x' AS b, repeat('y', 1000000) AS "long one", NULL::text AS none, ARRAY[1.5, 2] AS "%",
               '{"k": 1}'::jsonb AS j, pg_sleep(0) AS nothing FROM generate_series(1, 2)
    """
    answer = ask(analyst, statement, format_)
    assert answer.status_code == 200, answer.text[:1000]
    if format_ == "arrow":
        table = pa.ipc.open_stream(answer.content).read_all()
        assert table.column_names == ["a", "b", "long one", "none", "%", "j", "nothing"]
        assert (table.num_rows, len(table.column(2)[1].as_py())) == (2, 1_000_000)
    elif format_ == "csv":
        assert answer.text.startswith("a,b,long one,none,%,j,nothing\n1,x,yyy")
        assert answer.text.endswith('y,,"{1.5,2}","{""k"": 1}",""\n')
    else:
        (row, again) = answer.json()["rows"]
        assert row == again
        assert (len(row["long one"]), row["none"], row["%"], row["j"]) == (1_000_000, None, [1.5, 2], {"k": 1})


@pytest.mark.parametrize("format_", FORMATS)
def test_an_answer_of_too_many_bytes_is_broken_off(analyst: httpx.Client, format_: str) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        ask(analyst, "SELECT repeat('x', 1000) AS x FROM generate_series(1, 20000)", format_)
    assert ask(analyst, "SELECT repeat('x', 1000) AS x FROM generate_series(1, 5000)", format_).status_code == 200


def test_account_with_too_large_a_query_keeps_its_password(
    analyst: httpx.Client, provider: Tenant, parts: Container, admin_database_url: str
) -> None:
    def password() -> str:
        with parts.store.unit_of_work(provider.id) as uow:
            found = uow.warehouse_logins.find(LoginKind.QUERY)
        assert found is not None
        return found.password

    assert ask(analyst, "SELECT 1", "json").status_code == 200
    before = password()
    limited = sql.SQL("ALTER ROLE {} CONNECTION LIMIT {}")
    login = sql.Identifier(f"tradewind_query_{provider.id.hex}")
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        admin.execute(limited.format(login, 0))
        try:
            refused = ask(analyst, "SELECT 1", "json")
            assert (refused.status_code, "asked too much" in refused.text) == (503, True)
        finally:
            admin.execute(limited.format(login, 20))
    assert password() == before
    assert ask(analyst, "SELECT 1", "json").status_code == 200


def test_each_query_has_one_connection_and_other_tenants_get_slots(
    analyst: httpx.Client, provider: Tenant, parts: Container, api: str, admin_database_url: str, database_url: str
) -> None:
    other = new_tenant(parts, database_url)
    count = "SELECT count(*) FROM pg_stat_activity WHERE usename = %s"
    with (
        other.client(api, Scope.ANALYST) as somebody,
        psycopg.connect(admin_database_url, autocommit=True) as admin,
        ThreadPoolExecutor(LIMITS.at_once) as threads,
    ):
        asked = [threads.submit(ask, analyst, "SELECT pg_sleep(60)", "arrow") for _ in range(LIMITS.at_once)]
        login = f"tradewind_query_{provider.id.hex}"
        asleep = f"{count} AND query LIKE '%%pg_sleep%%' AND state = 'active'"
        eventually(lambda: admin.execute(asleep, [login]).fetchone() == (LIMITS.at_once,))
        eventually(lambda: admin.execute(count, [login]).fetchone() == (LIMITS.at_once,))
        refused = ask(analyst, "SELECT 1", "json")
        assert (refused.status_code, "queries are running already" in refused.text) == (503, True)
        assert ask(somebody, "SELECT 1", "json").status_code == 200
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [login])
        assert {each.result().status_code for each in asked} <= {422, 503}
