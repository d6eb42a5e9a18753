"""Analysts' SQL through the API: rows in three formats, and what is refused with nothing changed."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pyarrow as pa
import pytest

from services.application.access.authenticate import Scope
from services.application.shared.audit import SERVICE
from services.application.warehouse.query import Format, Query, QueryLimits
from services.bootstrap import Container, Options, build_container
from tests.conditions import eventually
from tests.integration.limited_queries import api, parts, provider
from tests.stack import Tenant, new_tenant, serving

__all__ = ["api", "parts", "provider"]

LIMITS = QueryLimits(rows=1_000, seconds=2.0, at_once=2)


@pytest.fixture(scope="module")
def patient(database_url: str, redis_url: str) -> Iterator[str]:
    """An API on the same data that lets queries run for long."""
    limits = QueryLimits(rows=10**7, seconds=200.0, at_once=LIMITS.at_once)
    with (
        build_container(database_url=database_url, redis_url=redis_url, options=Options(query_limits=limits)) as built,
        serving(built) as url,
    ):
        yield url


@pytest.fixture
def analyst(provider: Tenant, api: str) -> Iterator[httpx.Client]:
    with provider.client(api, Scope.ANALYST) as client:
        yield client


def ask(client: httpx.Client, sql: str, *parameters: Any, **more: Any) -> httpx.Response:
    return client.post("/v1/warehouse/query", json={"sql": sql, "parameters": parameters, **more})


def rows(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["rows"]
    return found


def test_rows_come_as_json(analyst: httpx.Client) -> None:
    answer = ask(analyst, "SELECT count(*) AS transfers, sum(bytes_moved) > 0 AS moved FROM transfers;  -- all")
    assert answer.json() == {"rows": [{"transfers": 5, "moved": True}], "row_count": 1, "cut": False}
    assert answer.headers["Tradewind-Row-Limit"] == "1000"
    assert answer.headers["Tradewind-Time-Limit-S"] == "2"


def test_rows_come_as_csv(analyst: httpx.Client) -> None:
    answer = ask(analyst, """SELECT 1 AS a, 'x,"y' AS b UNION ALL SELECT 2, E'two\\nlines' ORDER BY 1""", format="csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.text == 'a,b\n1,"x,""y"\n2,"two\nlines"\n'


def test_rows_come_as_arrow(analyst: httpx.Client) -> None:
    answer = ask(analyst, "SELECT id, throughput_bps, started_at, energy_j FROM transfers", format="arrow")
    assert answer.headers["Content-Type"] == "application/vnd.apache.arrow.stream"
    table = pa.ipc.open_stream(answer.content).read_all()
    assert table.num_rows == 5
    assert table.schema.field("throughput_bps").type == pa.float64()


def test_values_are_bound_with_the_types_that_the_statement_gives_them(analyst: httpx.Client) -> None:
    hostile = "'; DROP TABLE x; -- $2 \\"
    answer = ask(
        analyst,
        """SELECT $1::text AS a, 'a $1 in a string' AS b, $2 + 1 AS c, "$1" AS d, $tag$ $2 $tag$ AS e, $3::bool AS f
             FROM (SELECT 7 AS "$1") t /* $1 /* $2 */ $3 */ WHERE E'\\'$1' <> $1 -- $4""",
        hostile, 41, True,
    )  # fmt: skip
    expected = {"a": hostile, "b": "a $1 in a string", "c": 42, "d": 7, "e": " $2 ", "f": True}
    assert rows(answer) == [expected]
    assert rows(ask(analyst, "SELECT count(*) FROM transfers WHERE throughput_bps > $1", 1e18)) == [{"count": 0}]
    assert rows(ask(analyst, "SELECT $1::float8 AS nothing", None)) == [{"nothing": None}]


@pytest.mark.parametrize(
    ("parameters", "told"), [([], "has 1 parameters"), ([1, 2], "has 1 parameters"), (["x"], "invalid input syntax")]
)
def test_values_that_do_not_fit_are_refused(analyst: httpx.Client, parameters: list[Any], told: str) -> None:
    answer = ask(analyst, "SELECT $1 + 1", *parameters)
    assert answer.status_code == 422
    assert told in answer.json()["detail"]


def test_a_value_with_a_zero_byte_is_refused_by_its_name(analyst: httpx.Client) -> None:
    answer = ask(analyst, "SELECT $1::int + length($2)", 1, "abc\0def")
    assert answer.status_code == 422
    assert answer.json()["errors"] == [{"field": "parameters.1", "reason": "cannot hold a zero byte"}]


@pytest.mark.parametrize("format_", ["json", "csv", "arrow"])
def test_answer_ends_at_the_requested_limit(analyst: httpx.Client, format_: str) -> None:
    answer = ask(analyst, "SELECT * FROM generate_series(1, 2000) n", limit=10, format=format_)
    if format_ == "json":
        assert (answer.json()["row_count"], answer.json()["cut"]) == (10, True)
    elif format_ == "csv":
        assert answer.text.count("\n") == 11
    else:
        assert pa.ipc.open_stream(answer.content).read_all().num_rows == 10
    assert answer.headers["Tradewind-Row-Limit"] == "10"


@pytest.mark.parametrize("format_", ["json", "csv", "arrow"])
def test_too_many_rows_are_refused(analyst: httpx.Client, format_: str) -> None:
    answer = ask(analyst, "SELECT * FROM generate_series(1, 1001)", format=format_)
    assert answer.status_code == 413
    assert "more than 1000 rows" in answer.json()["detail"]
    assert ask(analyst, "SELECT * FROM generate_series(1, 1000)", format=format_).status_code == 200


@pytest.mark.parametrize("format_", ["json", "csv", "arrow"])
def test_endless_query_is_stopped_at_the_time_limit(analyst: httpx.Client, format_: str) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT max(i) FROM n"
    answer = ask(analyst, endless, format=format_)
    assert answer.status_code == 422
    assert answer.json()["detail"] == "the query was stopped after 2 s, the limit"


REFUSED = {
    "DELETE FROM transfers": (None, "no rows"),
    "DELETE FROM transfers RETURNING id": (None, "only rows can be asked for"),
    "INSERT INTO public.tenants (name) VALUES ('mine') RETURNING id": ("42501", "permission denied"),
    "UPDATE links SET source = 'x'": ("42501|55000", None),
    "WITH gone AS (DELETE FROM public.links RETURNING id) SELECT * FROM gone": ("42501", "permission denied"),
    "CREATE TABLE warehouse.mine AS SELECT 1": (None, None),
    "CREATE TEMP TABLE mine (a int)": (None, None),
    "SELECT 1 INTO TEMP mine": (None, None),
    "SELECT 1; DELETE FROM transfers": ("42601", "multiple commands"),
    "SELECT 1; SELECT 2": ("42601", "multiple commands"),
    "SET ROLE tradewind_app": (None, "no rows"),
    "RESET ROLE": (None, "no rows"),
    "SET SESSION AUTHORIZATION tradewind_app": (None, "no rows"),
    "BEGIN": (None, "no rows"),
    "": (None, None),
    "SELECT FROM nowhere": ("42P01", "does not exist"),
    "SELEC 1": ("42601", "syntax error"),
    "SELECT 1) TO PROGRAM 'id' --": ("42601", "syntax error"),
    "COPY (SELECT 1) TO PROGRAM 'id'": (None, None),
    "COPY transfers TO '/tmp/stolen'": (None, None),
    "SELECT rolpassword FROM pg_authid": ("42501", "pg_authid"),
    "SELECT passwd FROM pg_shadow": ("42501", "pg_shadow"),
    "SELECT umoptions FROM pg_user_mapping": ("42501", None),
    "SELECT subconninfo FROM pg_subscription": ("42501", None),
    "SELECT pg_read_file('/etc/passwd')": ("42501", "pg_read_file"),
    "SELECT pg_ls_dir('/')": ("42501", "pg_ls_dir"),
    "SELECT lo_import('/etc/passwd')": ("42501", None),
    "SELECT lo_create(0)": ("42501|25006", None),
    "SELECT * FROM pg_hba_file_rules": ("42501", None),
    "SELECT * FROM dblink('dbname=tradewind', 'SELECT 1') t(a int)": ("42883", "dblink"),
    "CREATE EXTENSION dblink": (None, "no rows"),
    "SELECT * FROM public.transfer_logs": ("42501", "schema public"),
    "SELECT * FROM public.api_keys": ("42501", "schema public"),
    "SELECT query_to_xml('SELECT secret_sha256 FROM public.api_keys', true, true, '')": ("42501", "schema public"),
    "SELECT public.open_warehouse_login('reader', 'x')": ("42501", "schema public"),
    "SELECT set_config('role', 'tradewind_app', false)": ("42501", "set_config"),
    "SELECT set_config('session_authorization', 'postgres', false)": ("42501", "set_config"),
    "SELECT set_config('transaction_read_only', 'off', false)": ("42501", "set_config"),
    "SELECT set_config('statement_timeout', '0', false), pg_sleep(60)": ("42501", "set_config"),
    "WITH s AS MATERIALIZED (SELECT set_config('work_mem', '2GB', false) v) SELECT * FROM s": ("42501", "set_config"),
    "SELECT query_to_xml('SELECT set_config(''work_mem'', ''2GB'', false)', true, true, '')": ("42501", "set_config"),
    "UPDATE pg_settings SET setting = '2GB' WHERE name = 'work_mem'": (None, None),
    "WITH s AS (UPDATE pg_settings SET setting = '2GB' WHERE name = 'work_mem' RETURNING 1) TABLE s": (None, None),
    "SELECT 1/0": ("22012", "division by zero"),
    "SHOW work_mem": (None, "only rows can be asked for"),
    "SELECT '\0'": (None, "zero byte"),
}  # fmt: skip


@pytest.mark.parametrize("sql", REFUSED)
@pytest.mark.parametrize("format_", ["json", "csv", "arrow"])
def test_forbidden_query_is_refused_with_postgresqls_message(
    analyst: httpx.Client, sql: str, format_: str, admin_database_url: str
) -> None:
    sqlstates, words = REFUSED[sql]
    answer = ask(analyst, sql, format=format_)
    assert answer.status_code == 422, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem = answer.json()
    if sqlstates and (format_ != "arrow" or "sqlstate" in problem):  # the columnar driver keeps some to itself
        assert problem["sqlstate"] in sqlstates.split("|"), problem
    if words:
        assert words in problem["detail"], problem
    assert rows(ask(analyst, "SELECT count(*) FROM transfers")) == [{"count": 5}]


LONG = "n" * 63
TWICE = f"""SELECT count(*), count(*) + 1, 3 AS count_2, 'x' AS {LONG}, 5 AS {LONG} FROM transfers"""
NAMES = ["count", "?column?", "count_2", LONG, f"{LONG[:61]}_2"]


def test_columns_of_one_name_are_distinguished_in_every_format(analyst: httpx.Client) -> None:
    assert list(rows(ask(analyst, TWICE))[0].items()) == list(zip(NAMES, [5, 6, 3, "x", 5], strict=True))
    header, line = ask(analyst, TWICE, format="csv").text.splitlines()
    assert (header.split(","), line) == (NAMES, "5,6,3,x,5")
    with pa.ipc.open_stream(ask(analyst, TWICE, format="arrow").content) as stream:
        assert stream.schema.names == NAMES
    assert rows(ask(analyst, "SELECT 1 AS a, 2 AS a, 3 AS a_2")) == [{"a": 1, "a_2": 2, "a_2_2": 3}]


def test_an_error_names_its_place_in_the_text_as_it_was_written(analyst: httpx.Client) -> None:
    problem = ask(analyst, "SELECT 1,\n  missing\nFROM transfers").json()
    assert (problem["sqlstate"], problem["position"]) == ("42703", 13)
    assert 'column "missing" does not exist at character 13' in problem["detail"]


def test_another_tenant_is_not_read_whatever_is_set(provider: Tenant, api: str, parts: Container) -> None:
    stranger = new_tenant(parts, provider.database_url)
    with stranger.client(api, Scope.ANALYST) as client:
        assert rows(ask(client, "SELECT 1 FROM transfers")) == []
        setting_put = f"(SELECT set_config('tradewind.tenant', '{provider.id}', false) AS s OFFSET 0)"
        crafty = f"SELECT t.id FROM {setting_put} x, LATERAL (SELECT id FROM transfers WHERE x.s <> '') t"
        inner = f"SELECT query_to_xml('SELECT id FROM transfers', true, true, '')::text AS found FROM {setting_put} x"
        for sql in (crafty, inner, f"SELECT set_config('role', 'tradewind_query_{provider.id.hex}', false)"):
            assert ask(client, sql).status_code == 422


def test_query_requires_the_scope(provider: Tenant, api: str) -> None:
    with provider.client(api, Scope.AGENT, Scope.PROVIDER) as client:
        assert ask(client, "SELECT 1").status_code == 403
        assert client.get("/v1/warehouse/schema").status_code == 403
        assert client.get("/v1/warehouse/credentials").status_code == 403
    with provider.client(api, Scope.OPERATOR) as client:
        assert ask(client, "SELECT 1").status_code == 200


def running(admin: psycopg.Connection, mark: str) -> int:
    """How many statements with ``mark`` in their text are being executed."""
    found = admin.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE %s AND state = 'active' AND pid <> pg_backend_pid()",
        [f"%{mark}%"],
    ).fetchone()
    return int(found[0]) if found else 0


@pytest.mark.parametrize("format_", ["json", "csv", "arrow"])
def test_the_query_ends_in_the_database_when_the_client_leaves(
    patient: str, provider: Tenant, admin_database_url: str, format_: str
) -> None:
    with provider.client(patient) as client, psycopg.connect(admin_database_url, autocommit=True) as admin:
        body = {"sql": "SELECT pg_sleep(300) AS left_alone", "format": format_}
        with ThreadPoolExecutor(1) as threads:
            asking = threads.submit(client.post, "/v1/warehouse/query", json=body, timeout=3.0)
            eventually(lambda: running(admin, "left_alone") == 1)
            assert isinstance(asking.exception(), httpx.ReadTimeout)
        eventually(lambda: running(admin, "left_alone") == 0)


def test_other_requests_are_answered_while_queries_run(patient: str, provider: Tenant, admin_database_url: str) -> None:
    def sleep() -> int:
        body = {"sql": "SELECT pg_sleep(4) AS occupied"}
        return analyst.post("/v1/warehouse/query", json=body, timeout=60).status_code

    with provider.client(patient, Scope.ANALYST) as analyst, ThreadPoolExecutor(LIMITS.at_once) as threads:
        sleeping = [threads.submit(sleep) for _ in range(LIMITS.at_once)]
        with psycopg.connect(admin_database_url, autocommit=True) as admin:
            eventually(lambda: running(admin, "occupied") == LIMITS.at_once)
        refused = ask(analyst, "SELECT 1")
        assert analyst.get("/v1/warehouse/schema").status_code == 200
        assert not any(each.done() for each in sleeping)
        assert (refused.status_code, "queries are running already" in refused.text) == (503, True)
        assert [each.result() for each in sleeping] == [200] * LIMITS.at_once
        assert ask(analyst, "SELECT 1").status_code == 200


def test_schema_describes_every_view_and_column(analyst: httpx.Client) -> None:
    told = analyst.get("/v1/warehouse/schema").json()
    views = {view["name"]: view for view in told["views"]}
    assert set(views) >= {
        "transfers",
        "heartbeats",
        "links",
        "clusters",
        "surfaces",
        "partitions",
        "releases",
        "prices",
    }
    assert all(view["comment"] and all(column["comment"] for column in view["columns"]) for view in told["views"])
    assert (told["row_limit"], told["time_limit_s"]) == (1000, 2.0)
    for name in views:
        assert ask(analyst, f"SELECT * FROM {name}", format="arrow").status_code == 200, name
        assert ask(analyst, f"TABLE {name}").status_code == 200, name


def test_odd_names_and_texts_come_through(analyst: httpx.Client) -> None:
    answer = ask(analyst, """SELECT E'tab\\t "quote" back\\\\slash\\nline' AS tradewind_row, 'NaN'::float8 AS n""")
    assert json.loads(answer.content)["rows"] == [{"tradewind_row": 'tab\t "quote" back\\slash\nline', "n": "NaN"}]


def test_a_query_that_is_over_can_be_cancelled(provider: Tenant, parts: Container) -> None:
    run = parts.warehouse.query(provider.id, Query(sql="SELECT 1 AS one", format=Format.ARROW), actor=SERVICE)
    assert b"".join(run.read_chunks())
    run.cancel()
