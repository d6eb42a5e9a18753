"""Plans and estimates that a tenant's login may look at describe no rows of other tenants."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg import sql

from migrations.analyst_views import ANALYST_VIEWS
from migrations.billing_views import BILLING_VIEWS
from migrations.dimension_views import DIMENSION_VIEWS
from migrations.reader_isolation import TABLES_IN_PLANS, VIEWS_BEHIND_FUNCTIONS
from services.bootstrap import Container
from services.persistence.roles import READER
from tests.integration.warehouse.other_facts import beaten, quote
from tests.integration.warehouse.test_readers import credentials, postgres
from tests.records import START, ndjson, record
from tests.stack import Tenant, new_tenant

__all__ = ["postgres"]

TABLE_OF = dict(zip(("transfers", "heartbeats", "quotes"), TABLES_IN_PLANS, strict=True))
VIEWS_IN_PLANS = ("transfers", "whole_transfers", "transfer_chunks", "transfer_footprints", "heartbeats", "quotes")
ADDED_VIEWS = (*ANALYST_VIEWS, *DIMENSION_VIEWS, *BILLING_VIEWS)
SMALL_VIEWS = (*VIEWS_BEHIND_FUNCTIONS, "link_regions", "region_hours", *(view.name for view in ADDED_VIEWS))
STORED = 600
DAYS = 20


@pytest.fixture(scope="module")
def rival(parts: Container, database_url: str, api: str, admin_database_url: str) -> Tenant:
    """A tenant with transfers, heartbeats and quotes, of which the planner has gathered what statistics it may."""
    made = new_tenant(parts, database_url)
    rows = [
        record(number % DAYS * 24 * 60, source=f"site-{number % 5}", outcome=outcome(1e7 * (1 + number % 10)))
        for number in range(STORED)
    ]
    with made.client(api) as client:
        assert client.post("/v1/logs", content=ndjson(rows)).status_code == 201
    for number in range(50):
        beaten(made, START, sequence=number)
        quote(made, START + timedelta(hours=number))
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        admin.execute("ANALYZE")
    return made


def outcome(throughput_bps: float) -> dict[str, object]:
    whole: dict[str, object] = record()["outcome"]
    return whole | {"throughput_bps": throughput_bps}


@pytest.fixture
def other_session(rival: Tenant, database_url: str, api: str) -> Iterator[psycopg.Connection]:
    """A session of the login of another tenant, which has no rows."""
    other = new_tenant(rival.parts, database_url)
    with psycopg.connect(credentials(other, api), autocommit=True) as session:
        yield session


def explained(session: psycopg.Connection, query: str, options: str = "") -> str:
    statement = f"EXPLAIN {options} {query}"
    return "\n".join(line for (line,) in session.execute(statement))  # type: ignore[call-overload]


def estimates(session: psycopg.Connection, query: str) -> list[tuple[str, ...]]:
    """The numbers in the plan, apart from the condition itself."""
    return re.findall(r"cost=(\S+) rows=(\d+) width=(\d+)", explained(session, query))


CONDITIONS = {  # a value that many rows of the other tenant have, and one that none has
    "equal": ("throughput_bps = 1e7", "throughput_bps = 3"),
    "less": ("throughput_bps < 5e7", "throughput_bps < 1"),
    "in": ("concurrency IN (4, 5)", "concurrency IN (98, 99)"),
    "text": ("protocol = 'https'", "protocol = 'never'"),
    "not equal": ("protocol <> 'https'", "protocol <> 'never'"),
    "order of texts": ("mover_version < '0.1.1'", "mover_version < '0.0.0'"),
    "prefix": ("mover_version LIKE '0.1%'", "mover_version LIKE 'z.9%'"),
    "prefix by operator": ("mover_version ^@ '0.1'", "mover_version ^@ 'z.9'"),
    "regular expression": ("mover_version ~ '^0.1'", "mover_version ~ '^z.9'"),
    "any of an array": ("direction = ANY ('{download}')", "direction = ANY ('{upward}')"),
    "null": ("chunk IS NULL", "rtt_s IS NULL"),
    "not null": ("rtt_s IS NOT NULL", "chunk IS NOT NULL"),
    "between": ("bytes_moved BETWEEN 1 AND 1000000000000", "bytes_moved BETWEEN 1 AND 2"),
    "expression": ("throughput_bps * 2 < 1e8", "throughput_bps * 2 < 1"),
    "day": ("day > '2026-03-05'", "day > '2026-03-30'"),
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_estimates_do_not_depend_on_the_values_of_others(other_session: psycopg.Connection, condition: str) -> None:
    common, rare = CONDITIONS[condition]
    for wanted in ("1", "count(*)", "DISTINCT mover_version"):
        query = f"SELECT {wanted} FROM transfers WHERE {{}}"
        assert estimates(other_session, query.format(common)) == estimates(other_session, query.format(rare)) != []


def test_prepared_statements_and_cursors_estimate_no_better(other_session: psycopg.Connection) -> None:
    other_session.execute("PREPARE slow (float8) AS SELECT 1 FROM transfers WHERE throughput_bps < $1")
    assert estimates(other_session, "EXECUTE slow(5e7)") == estimates(other_session, "EXECUTE slow(1)") != []
    declared = "DECLARE slow CURSOR FOR SELECT 1 FROM transfers WHERE throughput_bps < {}"
    assert estimates(other_session, declared.format("5e7")) == estimates(other_session, declared.format("1")) != []


@pytest.mark.parametrize(
    ("many", "few"), [("link_id", "chunk"), ("throughput_bps", "concurrency"), ("id", "transfer_id")]
)
def test_estimates_of_groups_and_joins_do_not_depend_on_value_counts(
    other_session: psycopg.Connection, many: str, few: str
) -> None:
    grouped = "SELECT FROM transfers GROUP BY {}"
    rows_of = [[rows for _, rows, _ in estimates(other_session, grouped.format(column))] for column in (many, few)]
    assert rows_of[0] == rows_of[1] != []
    joined = "SELECT FROM transfers a JOIN (SELECT DISTINCT {0} FROM transfers) b USING ({0})"
    rows_of = [[rows for _, rows, _ in estimates(other_session, joined.format(column))] for column in (many, few)]
    assert rows_of[0][0] == rows_of[1][0]


@pytest.mark.parametrize("view", SMALL_VIEWS)
def test_a_plan_of_a_small_view_ends_at_its_function(other_session: psycopg.Connection, view: str) -> None:
    plan = explained(other_session, f"SELECT * FROM {view}", "(ANALYZE, VERBOSE, BUFFERS OFF, TIMING OFF, SUMMARY OFF)")
    assert re.match(rf"Function Scan on warehouse.rows_of_{view} .* rows=1000 .*actual rows=0.00", plan), plan
    assert "Rows Removed" not in plan


def test_estimates_of_links_stay_while_others_add_links(
    other_session: psycopg.Connection, rival: Tenant, api: str, admin_database_url: str
) -> None:
    queries = ("TABLE links", "SELECT FROM links WHERE source = 'site-1'", "SELECT source FROM links GROUP BY 1")
    before = [explained(other_session, query) for query in queries]
    with rival.client(api) as client:
        rows = [record(source=f"new-{number}") for number in range(300)]
        assert client.post("/v1/logs", content=ndjson(rows)).status_code == 201
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        admin.execute("ANALYZE")
    assert [explained(other_session, query) for query in queries] == before


def test_messages_about_plans_do_not_look_into_the_function(other_session: psycopg.Connection) -> None:
    said: list[str] = []
    other_session.add_notice_handler(lambda notice: said.append(f"{notice.message_primary} {notice.message_detail}"))
    for setting in ("client_min_messages = log", "debug_print_plan = on", "debug_print_rewritten = on"):
        other_session.execute(sql.SQL("SET {}").format(sql.SQL(setting)))
    other_session.execute("SELECT count(*) FROM links")
    assert any("FUNCTIONSCAN" in message for message in said)
    assert not [message for message in said if "SEQSCAN" in message or "INDEXSCAN" in message]


REACHED = "throughput_bps < 5e7", "started_at < '2026-03-15'", "link_id > '00000000-0000-0000-0000-000000000000'"


@pytest.mark.parametrize("condition", REACHED)
@pytest.mark.parametrize("view", VIEWS_IN_PLANS)
def test_no_index_takes_a_readers_condition_to_rows_of_others(
    other_session: psycopg.Connection, view: str, condition: str
) -> None:
    if view != "transfers":
        condition = "transfer_id > '00000000-0000-0000-0000-000000000000'"
    options = "(ANALYZE, BUFFERS OFF, TIMING OFF, SUMMARY OFF)"
    for avoided in ("enable_bitmapscan", "enable_indexscan"):
        other_session.execute("RESET ALL")
        for setting in ("enable_seqscan", avoided):
            other_session.execute(sql.SQL("SET {} = off").format(sql.Identifier(setting)))
        plan = explained(other_session, f"SELECT * FROM {view} WHERE {condition}", options)
        assert "Rows Removed" not in plan
        assert set(re.findall(r"Scan .*?actual rows=([\d.]+)", plan)) == {"0.00"}, plan


ASSUMED = {(0.0, 20.0, 0), (0.0, 2.0, 0), (0.0, -0.5, 0), (0.0, -0.5, 2)}
"""Share of NULL, distinct values, kind of statistics: 0 none, 2 a histogram."""


def test_statistics_of_tables_that_plans_of_readers_name_are_assumed(rival: Tenant, admin_database_url: str) -> None:
    assert rival
    now = datetime.now(UTC).date().replace(day=1)
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        admin.execute("SELECT ensure_log_partitions(%s)", [[now]])
        admin.execute("ANALYZE")
        of_columns = """
            FROM unnest(%s::text[]) AS root, pg_partition_tree(root::regclass) t
            JOIN pg_attribute a ON a.attrelid = t.relid AND a.attnum > 0 AND NOT a.attisdropped
            LEFT JOIN pg_statistic s ON s.starelid = t.relid AND s.staattnum = a.attnum
        """
        tables = [list(TABLES_IN_PLANS)]
        gathered = admin.execute(f"SELECT a.attname {of_columns} WHERE a.attstattarget IS DISTINCT FROM 0", tables)
        assert gathered.fetchall() == []
        found = admin.execute(f"SELECT DISTINCT s.stanullfrac, s.stadistinct, s.stakind1 {of_columns}", tables)
        assert set(found) == ASSUMED
        assert admin.execute(f"SELECT FROM (SELECT s.* {of_columns}) s WHERE s.stakind2 <> 0", tables).fetchall() == []
        bounds = admin.execute(
            "SELECT histogram_bounds::text FROM pg_stats WHERE tablename = %s AND attname = 'started_at'",
            [f"transfer_logs_{START:%Y_%m}"],
        ).fetchone()
    assert bounds is not None
    times = re.findall(r'"(.+?)"', bounds[0])
    assert (times[0], times[-1], len(times)) == ("2026-03-01 00:00:00+00", "2026-04-01 00:00:00+00", 11)


def test_the_service_joins_its_logs_by_no_loop_over_all_pairs(rival: Tenant) -> None:
    of_link = (
        "link_id = '00000000-0000-0000-0000-000000000001' AND started_at >= '2026-03-01' AND started_at < '2026-04-01'"
    )
    query = f"""
        SELECT id FROM transfer_logs
          LEFT JOIN (SELECT DISTINCT transfer_id AS chunked_id FROM transfer_logs WHERE {of_link} AND chunk <> 'whole')
            ON chunk = 'whole' AND transfer_id = chunked_id
         WHERE {of_link} AND status = 'succeeded' AND chunked_id IS NULL
    """
    with psycopg.connect(rival.database_url) as service:
        service.execute("SELECT set_config('tradewind.tenant', %s, true)", [str(rival.id)])
        assert "Hash" in explained(service, query)


def test_every_index_of_those_tables_begins_with_the_tenant(admin_database_url: str) -> None:
    with psycopg.connect(admin_database_url) as admin:
        others = """
            SELECT i.indexrelid::regclass::text FROM unnest(%s::text[]) AS root, pg_partition_tree(root::regclass) t
              JOIN pg_index i ON i.indrelid = t.relid
              LEFT JOIN pg_attribute a ON a.attrelid = t.relid AND a.attnum = i.indkey[0]
             WHERE a.attname IS DISTINCT FROM 'tenant_id'
        """
        assert admin.execute(others, [list(TABLES_IN_PLANS)]).fetchall() == []


def test_views_reach_no_other_table_than_those_and_by_functions(admin_database_url: str) -> None:
    with psycopg.connect(admin_database_url) as admin:
        reached = """
            SELECT DISTINCT v.relname, d.refobjid::regclass::text
              FROM pg_class v JOIN pg_rewrite r ON r.ev_class = v.oid
              JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
                              AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> v.oid
             WHERE v.relnamespace = 'warehouse'::regnamespace
        """
        found = set(admin.execute(reached))
        views = {name for (name,) in admin.execute("SELECT viewname FROM pg_views WHERE schemaname = 'warehouse'")}
        extended = admin.execute(
            "SELECT count(*) FROM pg_statistic_ext WHERE has_table_privilege(%s, stxrelid, 'SELECT')", [READER]
        ).fetchone()
    assert found == {(view, TABLE_OF.get(view, "transfer_logs")) for view in VIEWS_IN_PLANS}
    assert views == {*VIEWS_IN_PLANS, *SMALL_VIEWS}
    assert extended == (0,)
