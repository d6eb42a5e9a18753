"""Limits of a query hold whatever its text, its values and its client do."""

import csv
import io
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from services.application.access.authenticate import Scope
from services.application.warehouse.query import QueryLimits
from services.persistence.warehouse.bound_statement import bind_parameters
from tests.conditions import eventually
from tests.integration.limited_queries import api, parts, provider
from tests.stack import Tenant
from tradewind.errors import QueryRefused
from tradewind.units import MIB
from tradewind_agent.errors import BodyTooLarge, RequestRefused
from tradewind_agent.service.client import Client

__all__ = ["api", "parts", "provider"]

LIMITS = QueryLimits(rows=1_000, seconds=2.0, taking_seconds=0.5, row_bytes=MIB, at_once=2)
CONTINUED = "SELECT $1::text AS a, E'a' -- c\n '\\' , $1 z' AS b"
"""PostgreSQL sees one string from ``E`` to ``z'``: a comment may stand where a string goes on."""
LIKE_THESE = {
    CONTINUED: "a' , $1 z",
    "SELECT $1::text AS a, $$ $1 ' $$ || $é$ $1 $$ $1 ' $é$ AS b": " $1 '  $1 $$ $1 ' ",
    "SELECT $1::text AS a, U&'!0061\\' UESCAPE '!' || /* ' /* $1 */ ' $1 */ ' $1' AS b": "a\\ $1",
    "SELECT $1::text AS a, b FROM (SELECT ' $1 ' AS €e) AS t(b) -- ' $1 \r WHERE $1 <> '$1'": " $1 ",
}
HUGE_ROW = "SELECT to_json(repeat(chr(120),20000000)) FROM (SELECT 1 FROM (SELECT 1 --"
VALUES = {
    "size": f" AS b\n) AS tradewind_row OFFSET 0) AS sized UNION ALL {HUGE_ROW}",
    "time": " AS b\n) AS tradewind_row OFFSET 0) AS sized) AS tradewind_row) TO STDOUT; SET statement_timeout=0; "
    "COPY (SELECT pg_sleep(12)) TO STDOUT; COPY (SELECT 1 FROM (SELECT 1 FROM (SELECT 1 FROM (SELECT 1 --",
    "quote": "' , (SELECT repeat('x', 20000000)) AS b -- \\",
}


@pytest.fixture
def client(provider: Tenant, api: str) -> Iterator[Client]:
    with Client(api, provider.key(Scope.ANALYST)) as made:
        yield made


def answer(client: Client, sql: str, format_: str, *values: str) -> list[dict[str, Any]]:
    result = client.warehouse.query(sql, values)
    if format_ == "csv":
        text = b"".join(result.csv()).decode()
        return list(csv.DictReader(io.StringIO(text, newline="")))
    rows: list[dict[str, Any]] = result.rows() if format_ == "json" else result.arrow().to_pylist()
    return rows


@pytest.mark.parametrize("limit", [LIMITS.rows, LIMITS.rows + 1])
def test_rows_beyond_the_service_limit_are_cut_if_a_limit_was_requested(client: Client, limit: int) -> None:
    cut = client.warehouse.query("SELECT generate_series(1, 2000)", limit=limit)
    assert (b"".join(cut.csv()).count(b"\n"), cut.cut) == (1 + LIMITS.rows, True)
    assert (len(cut.rows()), cut.cut) == (LIMITS.rows, True)
    assert (cut.arrow().num_rows, cut.cut) == (LIMITS.rows, True)


@pytest.mark.parametrize("format_", ["json", "csv", "arrow"])
@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_never_code(client: Client, value: str, format_: str) -> None:
    told = answer(client, CONTINUED, format_, VALUES[value])
    assert told == [{"a": VALUES[value], "b": LIKE_THESE[CONTINUED]}]


@pytest.mark.parametrize("sql", LIKE_THESE)
def test_a_value_is_put_where_postgresql_sees_its_parameter(client: Client, sql: str) -> None:
    assert client.warehouse.query(sql, [VALUES["quote"]]).rows() == [{"a": VALUES["quote"], "b": LIKE_THESE[sql]}]


def test_query_is_refused_where_postgresql_reads_its_strings_otherwise(admin_database_url: str) -> None:
    otherwise = "-c standard_conforming_strings=off -c escape_string_warning=off"
    with psycopg.connect(admin_database_url, autocommit=True, options=otherwise) as connection:
        for sql in (
            "SELECT $1::text AS a, 'a\\' , $1 z' AS b",  # a parameter in a string
            "SELECT $1::text AS a, '\\' || ' || $1 AS b -- '",  # a parameter in what seems a string
            "SELECT $1::text AS a, 'a\\'; b' AS b",  # cut short
        ):
            with pytest.raises(QueryRefused):
                bind_parameters(connection, sql, ["x' AS b --"])


@pytest.mark.parametrize("format_", ["json", "csv", "arrow"])
@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT 'x' AS b\n) AS tradewind_row OFFSET 0) AS sized UNION ALL {HUGE_ROW}",
        "SELECT 1) TO STDOUT; SET statement_timeout=0; COPY (SELECT pg_sleep(12)",
        "SELECT 'x' AS b /*",
        "SELECT 'x' AS b; /*",
        "SELECT 'x' AS \"b",
        "SELECT $x$ 'x' AS b",
        "SELECT 'x' AS b; SELECT 1 --",
    ],
)
def test_a_text_does_not_end_what_is_around_it(client: Client, sql: str, format_: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        answer(client, sql, format_)
    assert refused.value.problem["sqlstate"] == "42601"


@pytest.mark.parametrize("ending", ["", ";", " ; -- all;\n", " -- ; '", " /* ; */ ; ;"])
def test_a_statement_ends_as_it_may(client: Client, ending: str) -> None:
    assert client.warehouse.query(f"SELECT 'x' AS b{ending}").rows() == [{"b": "x"}]


@pytest.mark.parametrize("format_", ["json", "csv", "arrow"])
def test_row_size_is_reported_whatever_the_column_names(client: Client, format_: str) -> None:
    name = ") AS sized -- ' \\ $1 %s"
    with pytest.raises(BodyTooLarge, match="more than the 1048576"):
        answer(client, f"""SELECT repeat('x', 2000000) AS "{name}" """, format_)


def test_a_client_that_reads_nothing_is_left(
    provider: Tenant, api: str, client: Client, admin_database_url: str
) -> None:
    asked = {"sql": "SELECT repeat('unread', 20000) FROM generate_series(1, 1000)", "format": "csv"}
    with provider.client(api) as http, ExitStack() as opened:
        request = http.build_request("POST", "/v1/warehouse/query", json=asked)
        fields = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        for _ in range(LIMITS.at_once):
            stalled = opened.enter_context(socket.create_connection((request.url.host, request.url.port)))
            stalled.sendall(f"POST {request.url.path} HTTP/1.1\r\n{fields}\r\n".encode() + request.read())
            assert stalled.recv(1)  # the answer has started
        admin = opened.enter_context(psycopg.connect(admin_database_url, autocommit=True))
        running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%unread%' AND pid <> pg_backend_pid()"
        eventually(lambda: admin.execute(running).fetchone() == (0,))
        eventually(lambda: http.post("/v1/warehouse/query", json={"sql": "SELECT 1"}).status_code == 200)
