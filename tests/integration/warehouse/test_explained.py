"""Plans, files for spreadsheets, and the audit log of analysts' SQL through the API."""

import csv
import io
import time
from collections.abc import Iterator
from uuid import uuid4

import httpx
import psycopg
import pyarrow as pa
import pytest

from services.application.access.authenticate import Scope
from services.application.shared.audit import ActorKind
from services.persistence.warehouse import query
from services.persistence.warehouse.explained import MOST_LINES, explain
from services.persistence.warehouse.row_sizes import Column
from tests.integration.limited_queries import api, parts, provider
from tests.integration.warehouse.test_query import LIMITS, ask, rows
from tests.stack import Tenant
from tradewind.units import MIB

__all__ = ["LIMITS", "api", "parts", "provider"]

LONG = "repeat('x', 1000000)"


@pytest.fixture
def analyst(provider: Tenant, api: str) -> Iterator[httpx.Client]:
    with provider.client(api, Scope.ANALYST) as client:
        yield client


def test_texts_that_a_spreadsheet_would_take_for_formulas_are_marked_in_csv(analyst: httpx.Client) -> None:
    statement = """SELECT * FROM (VALUES
        (1, '=HYPERLINK("http://elsewhere")', '{"a": -1}'::jsonb, -5, -0.5),
        (2, '@SUM(1)', '-1', -6, 1), (3, '-2+3', '[]', 7, 2), (4, '-2.5e3', 'null', 8, 3), (5, E'\\t=1', '1', 9, 4),
        (6, 'a=b', '1', 9, 5), (7, NULL, NULL, NULL, NULL), (8, '+1 and more', '1', 9, 6), (9, '＝1', '1', 9, 7)
    ) AS made ("number", "=text", document, whole, exact) ORDER BY 1"""
    header, *lines = csv.reader(io.StringIO(ask(analyst, statement, format="csv").text))
    assert header == ["number", "'=text", "document", "whole", "exact"]
    texts = ['\'=HYPERLINK("http://elsewhere")', "'@SUM(1)", "'-2+3", "-2.5e3", "'\t=1", "a=b", ""]
    texts += ["'+1 and more", "'＝1"]
    assert [line[1] for line in lines] == texts
    assert [line[3:] for line in lines[:2]] == [["-5", "-0.5"], ["-6", "1"]]
    assert lines[1][2] == "-1"
    assert rows(ask(analyst, statement))[0]["=text"] == '=HYPERLINK("http://elsewhere")'  # JSON has what is stored


@pytest.mark.parametrize("format_", ["json", "csv", "arrow"])
def test_plans_come_as_rows(analyst: httpx.Client, format_: str) -> None:
    statement = "-- why?\nEXPLAIN SELECT * FROM transfers WHERE throughput_bps > $1;"
    answer = ask(analyst, statement, 1e6, format=format_)
    assert answer.status_code == 200
    if format_ == "arrow":
        lines = pa.ipc.open_stream(answer.content).read_all().column("QUERY PLAN").to_pylist()
    elif format_ == "csv":
        lines = [line for (line,) in csv.reader(io.StringIO(answer.text))][1:]
    else:
        lines = [row["QUERY PLAN"] for row in answer.json()["rows"]]
    assert any("transfer_logs" in line for line in lines)


def test_a_plan_as_json_and_one_of_a_run_come_too(analyst: httpx.Client) -> None:
    (plan,) = rows(ask(analyst, "EXPLAIN (FORMAT JSON) SELECT 1"))
    assert plan["QUERY PLAN"][0]["Plan"]["Node Type"] == "Result"
    (run, *_) = rows(ask(analyst, "EXPLAIN (ANALYZE, TIMING OFF) SELECT 1"))
    assert "actual rows=1" in run["QUERY PLAN"]


@pytest.mark.parametrize(
    "beginning", ["/* /* */ SELECT */", "-- SELECT\r", "/**/ /***/--/*\n", " \t\f\v\r\n", "/* -- */"]
)
def test_plans_come_behind_any_comment(analyst: httpx.Client, beginning: str) -> None:
    (line,) = rows(ask(analyst, f"{beginning}explain (COSTS OFF) SELECT 1"))
    assert line == {"QUERY PLAN": "Result"}


@pytest.mark.parametrize(
    "statement",
    [
        f"/**/ SELECT {LONG} /**/ explain FROM generate_series(1, 100000)",
        f"/* /* */ EXPLAIN */ SELECT {LONG} FROM generate_series(1, 100000)",
        f"--\r SELECT {LONG} --\n explain FROM generate_series(1, 100000)",
        f'/* /* */ EXPLAIN */ SELECT {LONG} AS "QUERY PLAN" FROM generate_series(1, 100000)',
    ],
)
def test_a_select_that_looks_like_a_plan_has_the_limits_of_a_select(
    analyst: httpx.Client, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise AssertionError("read as a plan")

    monkeypatch.setattr(query, "explain", refuse)
    answer = ask(analyst, statement, limit=3)
    assert [len(next(iter(row.values()))) for row in rows(answer)] == [1_000_000] * 3
    assert answer.json()["cut"]


@pytest.mark.parametrize(
    ("selected", "limit"),
    [(LONG, "16777216 bytes, the limit of a row"), ("''::text", f"{MOST_LINES} lines, the limit")],
)
def test_no_more_of_a_plan_is_read_than_its_limit(database_url: str, selected: str, limit: str) -> None:
    statement = f'SELECT {selected} AS "QUERY PLAN" FROM generate_series(1, 10000000)'
    with psycopg.connect(database_url, autocommit=True) as connection:
        begin_s = time.monotonic()
        with pytest.raises(psycopg.errors.ProgramLimitExceeded, match=limit):
            connection.execute(explain(connection, statement, [Column("QUERY PLAN", 25)], most_bytes=16 * MIB).encode())
        assert time.monotonic() - begin_s < 30  # all of it would be terabytes, or minutes


@pytest.mark.parametrize("options", ["", "(FORMAT JSON) ", "(ANALYZE) ", "(VERBOSE, FORMAT XML) "])
def test_one_long_line_of_a_plan_is_refused_by_the_database(database_url: str, options: str) -> None:
    """The planner writes the constant out: the line is as long as that."""
    statement = f"EXPLAIN {options}SELECT 1 FROM generate_series(1, 2) AS n WHERE n::text = repeat('x', 1100000)"
    with psycopg.connect(database_url, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="the plan has more than 1048576 bytes"):
            connection.execute(explain(connection, statement, [Column("QUERY PLAN", 25)], most_bytes=MIB).encode())
        permitted = explain(connection, statement, [Column("QUERY PLAN", 25)], most_bytes=2 * MIB)
        lines = connection.execute(permitted.encode())
        assert max(len(line) for (line,) in lines) > MIB


@pytest.mark.parametrize(
    "statement",
    [
        "SET enable_indexscan = off",
        "SELECT 1; SELECT 2",
        "EXPLAIN SELECT 1; SET enable_indexscan = off",
        "CREATE TEMP TABLE t AS SELECT 1",
        "COPY (SELECT 1) TO STDOUT",
    ],
)
def test_function_that_reads_plans_runs_nothing_that_a_query_may_not(analyst: httpx.Client, statement: str) -> None:
    answer = ask(analyst, "SELECT * FROM warehouse.read_plan($1::text, 1000, 1000)", statement)
    assert answer.status_code == 422


def test_a_plan_of_many_lines_comes_in_order(analyst: httpx.Client) -> None:
    statement = "EXPLAIN (COSTS OFF) " + " UNION ALL ".join(["SELECT random()"] * 300)
    lines = [row["QUERY PLAN"] for row in rows(ask(analyst, statement))]
    assert lines == ["Append", *["  ->  Result"] * 300]


@pytest.mark.parametrize(
    "statement",
    ["EXPLAIN ANALYZE DELETE FROM transfers", "EXPLAIN ANALYZE CREATE TEMP TABLE t AS SELECT 1", "EXPLAIN VACUUM"],
)
def test_explaining_changes_nothing(analyst: httpx.Client, statement: str) -> None:
    assert ask(analyst, statement).status_code == 422


def test_statements_are_noted_with_who_ran_them_once_in_a_while(analyst: httpx.Client, provider: Tenant) -> None:
    statement = f"SELECT $1::text AS word, '{uuid4()}' AS mark"
    for _ in range(3):
        ask(analyst, statement, "a secret")
    ask(analyst, f"SELECT wrong {statement}", "a secret")
    with provider.parts.store.unit_of_work(provider.id) as uow:
        noted = [entry for entry in uow.audit.list_page(limit=50, about="query.") if statement in entry.subject]
    assert [entry.subject.startswith("SELECT wrong") for entry in noted] == [True, False]
    assert "a secret" not in str(noted)
    assert {entry.actor_kind for entry in noted} == {ActorKind.KEY}
