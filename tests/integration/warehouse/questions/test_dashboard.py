"""Each panel of the warehouse's dashboard runs as Grafana sends it, by the login that Grafana has."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from psycopg import sql
from psycopg.rows import dict_row

from infra.reference.dbt_sources import KEYS
from tests.integration.warehouse.questions.answers import (
    failure_reasons,
    joules_by_ends,
    revenue,
    slas_by_tier,
    slowest_endpoints,
)
from tests.integration.warehouse.questions.history import FIRST, LAST, History
from tests.integration.warehouse.test_readers import credentials, postgres
from tests.stack import Tenant

__all__ = ["postgres"]

ROOT = Path(__file__).parents[4]
DASHBOARD = json.loads((ROOT / "infra/grafana/dashboards/warehouse.json").read_text(encoding="utf-8"))
PANELS = {panel["title"]: panel for panel in DASHBOARD["panels"]}
MACRO = re.compile(r"\$__(timeFilter|timeFrom|timeTo)\(([^)]*)\)")


@pytest.fixture(scope="module")
def session(provider: Tenant, api: str) -> Iterator[psycopg.Connection[dict[str, Any]]]:
    with psycopg.connect(credentials(provider, api), autocommit=True, row_factory=dict_row) as opened:
        yield opened


def expand(query: str, begins: datetime, ends: datetime) -> str:
    """Return the query as Grafana sends it for a span of time: its macros are literals in UTC."""
    first, last = (f"'{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}'" for at in (begins, ends))

    def replace(found: re.Match[str]) -> str:
        name, column = found.groups()
        return {"timeFrom": first, "timeTo": last}.get(name, f"{column} BETWEEN {first} AND {last}")

    return MACRO.sub(replace, query)


def run(
    session: psycopg.Connection[dict[str, Any]], title: str, begins: datetime = FIRST, ends: datetime = LAST
) -> list[dict[str, Any]]:
    (target,) = PANELS[title]["targets"]
    return session.execute(sql.SQL(expand(target["rawSql"], begins, ends))).fetchall()  # type: ignore[arg-type]


@pytest.mark.parametrize("title", PANELS)
def test_panel_has_rows_of_the_form_that_it_shows(session: psycopg.Connection[dict[str, Any]], title: str) -> None:
    panel = PANELS[title]
    rows = run(session, title)
    assert rows
    names = set(rows[0])
    assert any(isinstance(value, int | float) for value in rows[0].values())
    if panel["targets"][0]["format"] == "time_series":
        assert {"time", "metric"} <= names
        assert all(row["time"].tzinfo is not None for row in rows)
    if panel["type"] == "stat":
        assert len(rows) == 1
    if panel["type"] == "barchart":
        assert isinstance(rows[0][panel["options"]["xField"]], str)
    named = {override["matcher"]["options"] for override in panel["fieldConfig"]["overrides"]}
    assert named <= names


@pytest.mark.parametrize("title", PANELS)
def test_panel_of_an_empty_span_does_not_fail(session: psycopg.Connection[dict[str, Any]], title: str) -> None:
    long_ago = datetime(2001, 1, 1, tzinfo=UTC), datetime(2001, 2, 1, tzinfo=UTC)
    assert len(run(session, title, *long_ago)) == (PANELS[title]["type"] == "stat")


@pytest.mark.parametrize("title", PANELS)
def test_panel_reads_the_months_of_its_span_alone(session: psycopg.Connection[dict[str, Any]], title: str) -> None:
    query = PANELS[title]["targets"][0]["rawSql"]
    statement = "EXPLAIN " + expand(query, datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC))
    plan = "\n".join(row["QUERY PLAN"] for row in session.execute(sql.SQL(statement)))  # type: ignore[arg-type]
    assert set(re.findall(r"transfer_logs_(\d{4}_\d\d)", plan)) <= {"2026_03"}


def test_panels_show_what_python_computes(session: psycopg.Connection[dict[str, Any]], history: History) -> None:
    moved = sum(each.moved_bytes for each in history.succeeded)
    assert run(session, "Moved") == [{"bytes": moved}]
    assert sum(row["bytes"] for row in run(session, "Moved a day, by link")) == moved
    assert [row["missed"] for row in run(session, "SLAs by tier")] == [row["missed"] for row in slas_by_tier(history)]
    reasons = {row["reason"]: row["transfers"] for row in failure_reasons(history) if row["reason"] != "none"}
    assert {row["reason"]: row["transfers"] for row in run(session, "Failed or missed")} == reasons
    assert sum(row["revenue"] for row in run(session, "Revenue by customer and month")) == pytest.approx(
        sum(row["revenue"] for row in revenue(history))
    )
    energy = run(session, "Energy by link, for equal ends")
    assert [row["j_per_gb"] for row in energy] == pytest.approx([row["j_per_gb"] for row in joules_by_ends(history)])
    slowest = [row["endpoint"] for row in slowest_endpoints(history)]
    assert [row["endpoint"] for row in run(session, "Slowest endpoints")] == slowest


def test_dashboard_takes_any_postgresql_source_and_panels_do_not_overlap() -> None:
    (variable,) = DASHBOARD["templating"]["list"]
    assert (variable["type"], variable["query"]) == ("datasource", "grafana-postgresql-datasource")
    taken: set[tuple[int, int]] = set()
    for panel in PANELS.values():
        sources = [panel["datasource"], *(target["datasource"] for target in panel["targets"])]
        assert {source["uid"] for source in sources} == {"${warehouse}"}
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_sources_of_dbt_are_the_views(session: psycopg.Connection[dict[str, Any]]) -> None:
    document = yaml.safe_load((ROOT / "docs/reference/dbt-sources.yml").read_text(encoding="utf-8"))
    (source,) = document["sources"]
    described = {table["name"]: [(each["name"], each["data_type"]) for each in table["columns"]]
                 for table in source["tables"]}  # fmt: skip
    found: dict[str, list[tuple[str, str]]] = {}
    for row in session.execute(
        "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod) AS type"
        "  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0"
        " WHERE c.relnamespace = 'warehouse'::regnamespace AND c.relkind = 'v' ORDER BY c.relname, a.attnum"
    ):
        found.setdefault(row["relname"], []).append((row["attname"], row["type"]))
    assert (document["version"], source["schema"], described) == (2, "warehouse", found)


@pytest.mark.parametrize("view", KEYS)
def test_keys_that_dbt_tests_are_unique(session: psycopg.Connection[dict[str, Any]], view: str) -> None:
    key, name = sql.Identifier(KEYS[view]), sql.Identifier(view)
    query = sql.SQL("SELECT count(*) AS rows, count(DISTINCT {}) AS keys FROM {}").format(key, name)
    found = session.execute(query).fetchone()
    assert found is not None
    assert found["rows"] == found["keys"]
