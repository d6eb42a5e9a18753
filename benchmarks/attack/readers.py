"""Analysts' SQL of a hostile tenant: through its database login, and over HTTP."""

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from uuid import uuid4

import httpx
import psycopg

from benchmarks.attack.cases import Lost, attack, require
from benchmarks.attack.scene import Party, Scene, make_request
from services.application.access.authenticate import Scope

TIMES = ("now()", "now() - interval '1 day'", "now() - interval '100 days'", "'2026-03-01'")
CONDITIONS = (
    *(f"throughput_bps < {value}::float8" for value in (1e6, 1e7, 1e8, 1e9)),
    *(f"bytes_moved < {value}::bigint" for value in (10**3, 10**8, 10**10)),
    *(f"direction = '{value}'" for value in ("download", "upload", "third_party")),
    *(f"mover_version = '{value}'" for value in ("1", "0.1.0", "cubic")),
    *(f"concurrency = {value}" for value in (1, 4, 16, 77)),
)
"""Conditions on columns that the other tenant's rows differ in: to a reader without rows all must look the same."""

NAMES = tuple(f"{column} {sign} '{text}'" for column in ("source", "destination") for sign in ("=", "<", ">")
              for text in ("amber", "origin", "m", "zz"))  # fmt: skip

FORBIDDEN = (
    "SELECT * FROM pg_stat_activity",
    "SELECT reltuples FROM pg_class",
    "SELECT relpages FROM pg_catalog.pg_class",
    "SELECT pg_relation_size('warehouse.transfers')",
    "SELECT n_live_tup FROM pg_stat_all_tables",
    "SELECT * FROM pg_stat_database",
    "SELECT wal_bytes FROM pg_stat_wal",
    "SELECT writes FROM pg_stat_io",
    "SELECT next_xid FROM pg_control_checkpoint()",
    "SELECT pg_current_snapshot()",
    "SELECT relation FROM pg_locks",
    "SELECT * FROM pg_authid",
    "SELECT * FROM pg_statistic",
    "SELECT * FROM public.transfer_logs",
    "SELECT * FROM public.api_keys",
    "SELECT public.find_tenant('victim')",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_advisory_lock(1)",
    "SELECT pg_notify('x', 'y')",
    "SELECT txid_current()",
    "SELECT pg_terminate_backend(pid) FROM pg_locks",
    "SET ROLE tradewind_app",
    "SET SESSION AUTHORIZATION tradewind_app",
    "SET temp_file_limit = -1",
    "SET log_statement = 'none'",
    "SET log_min_messages = debug5",
    "CREATE TEMP TABLE t (a int)",
    "CREATE TABLE warehouse.t (a int)",
    "DO $$ BEGIN END $$",
    "COPY (SELECT 1) TO PROGRAM 'id'",
    "LOAD 'auto_explain'",
    "ALTER ROLE CURRENT_USER CONNECTION LIMIT 100",
    "ALTER ROLE CURRENT_USER CREATEROLE",
    "ALTER SYSTEM SET work_mem = '1GB'",
)
VIEWS = ("transfers", "links", "heartbeats", "quotes", "releases", "clusters", "surfaces", "partitions", "prices")
LOGGED_BYTES = 90_000
BIG = "SELECT length(string_agg(repeat('x', 1000000), '')) FROM generate_series(1, 4000)"


def read_dsn(party: Party) -> str:
    """Return the address of the tenant's own database login."""
    found: str = party.by_scope[Scope.ANALYST].get("/v1/warehouse/credentials").raise_for_status().json()["dsn"]
    return found


@contextmanager
def log_in(party: Party) -> Iterator[psycopg.Connection]:
    with psycopg.connect(read_dsn(party), autocommit=True) as session:
        yield session


def estimate_rows(session: psycopg.Connection, view: str, condition: str) -> int:
    plan = " ".join(line for (line,) in session.execute(f"EXPLAIN SELECT 1 FROM {view} WHERE {condition}".encode()))
    return int(re.search(r"rows=(\d+)", plan)[1])  # type: ignore[index]  # every plan has it


@attack("tenant × tenant")
def statistics_in_plans(scene: Scene) -> int:
    with log_in(scene.hostile) as session:
        for view, conditions in (("transfers", CONDITIONS), ("links", NAMES)):
            found = {condition: estimate_rows(session, view, condition) for condition in conditions}
            kinds: dict[str, set[int]] = {}
            for condition, rows in found.items():
                kinds.setdefault(condition.rpartition(" ")[0], set()).add(rows)
            varying = [kind for kind, rows in kinds.items() if len(rows) > 1]
            require(not varying, f"estimates of {view} vary with the value: {', '.join(varying)}")
    return len(CONDITIONS) + len(NAMES)


@attack("tenant × tenant")
def rows_that_a_plan_visits(scene: Scene) -> int:
    """EXPLAIN ANALYZE must count no row of another tenant as visited and removed."""
    with log_in(scene.hostile) as session:
        session.execute("SET enable_seqscan = off")
        for condition in CONDITIONS[:7]:
            explained = f"EXPLAIN (ANALYZE, TIMING OFF) SELECT 1 FROM transfers WHERE {condition}".encode()
            plan = " ".join(line for (line,) in session.execute(explained))
            removed = [int(count) for count in re.findall(r"Rows Removed by [\w ]+: (\d+)", plan)]
            require(not any(removed), f"{condition} visits {sum(removed)} rows")
    return 7


@attack("tenant × tenant")
def plans_over_http(scene: Scene) -> int:
    analyst, plans = scene.hostile.by_scope[Scope.ANALYST], set()
    for value in (1e6, 1e8, 1e10):
        query = {"sql": f"EXPLAIN SELECT 1 FROM transfers WHERE throughput_bps < {value}::float8"}
        answer = analyst.post("/v1/warehouse/query", json=query)
        require(answer.status_code == httpx.codes.OK, f"EXPLAIN is refused: {answer.status_code}")
        plans.add(re.search(r"rows=(\d+)", answer.text)[1])  # type: ignore[index]  # every plan has it
    require(len(plans) == 1, "estimates vary with the value")
    return 3


@attack("tenant × tenant")
def rows_of_views(scene: Scene) -> int:
    with log_in(scene.hostile) as session:
        session.execute("SELECT set_config('tradewind.tenant', %s, false)", [str(scene.victim.id)])
        for view in VIEWS:
            (count,) = session.execute(f"SELECT count(*) FROM {view}".encode()).fetchone() or (0,)
            require(count == 0, f"{count} rows of {view} are shown to a tenant without any")
    return len(VIEWS)


@attack("tenant × tenant")
def catalog_files_locks_and_settings(scene: Scene) -> int:
    for statement in FORBIDDEN:
        with log_in(scene.hostile) as session:
            try:
                session.execute(statement.encode())
            except psycopg.Error:
                continue
            raise Lost(f"a reader may {statement}")
    return len(FORBIDDEN)


@attack("tenant × service")
def memory_of_a_statement(scene: Scene) -> int:
    """Run a statement that needs gigabytes: it must fail by itself, without the database."""
    before = scene.service.postgres.process_id
    with log_in(scene.hostile) as session:
        try:
            session.execute(BIG.encode())
        except psycopg.errors.OutOfMemory:
            pass
        except psycopg.errors.ProgramLimitExceeded:
            pass
        else:
            raise Lost("a statement took gigabytes")
        require(session.execute("SELECT 1").fetchone() == (1,), "its session ended")
    answer = scene.hostile.by_scope[Scope.ANALYST].post("/v1/warehouse/query", json={"sql": BIG})
    require(answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR, f"over HTTP: {answer.status_code}")
    require(scene.service.postgres.process_id == before, "PostgreSQL was started again")
    return 2


@attack("tenant × service")
def statements_that_fill_the_log_of_the_database(scene: Scene) -> int:
    log, long = scene.service.postgres.folder / "log", "x" * LOGGED_BYTES
    before = log.stat().st_size
    with log_in(scene.hostile) as session:
        session.execute("SET debug_print_plan = on")
        for statement in (f"SELECT '{long}'", f"SELECT '{long}'::int", f"SELECT 1 / 0 /* {long} */"):
            with suppress(psycopg.DataError):
                session.execute(statement.encode())
    scene.hostile.by_scope[Scope.ANALYST].post("/v1/warehouse/query", json={"sql": f"SELECT 1 / 0 /* {long} */"})
    grown = log.stat().st_size - before
    require(grown < LOGGED_BYTES, f"four statements of {LOGGED_BYTES} bytes write {grown} bytes to it")
    return 4


@attack("tenant × service")
def connections_of_a_tenant(scene: Scene) -> int:
    held, dsn = 0, read_dsn(scene.hostile)
    with ExitStack() as stack:
        for _ in range(60):
            try:
                stack.enter_context(psycopg.connect(dsn))
            except psycopg.OperationalError:
                break
            held += 1
        require(held <= 20, f"one login holds {held} connections")
        with log_in(scene.victim) as session:
            require(session.execute("SELECT 1").fetchone() == (1,), "another tenant's login is refused")
        query = scene.victim.by_scope[Scope.ANALYST].post("/v1/warehouse/query", json={"sql": "SELECT 1"})
        require(query.status_code == httpx.codes.OK, f"another tenant's query: {query.status_code}")
        answer = scene.customers[0].post("/v1/recommend", json=make_request())
        require(answer.status_code == httpx.codes.OK, f"another tenant's recommendation: {answer.status_code}")
    return held + 3


@attack("tenant × tenant")
def queries_that_take_all_slots(scene: Scene) -> int:
    """Slow statements over HTTP leave another tenant a slot."""
    slow = {"sql": "SELECT pg_sleep(4)"}
    with ExitStack() as stack:
        analyst = scene.hostile.by_scope[Scope.ANALYST]
        address, headers = scene.service.address, {"Authorization": analyst.headers["Authorization"]}
        for _ in range(12):
            client = stack.enter_context(httpx.Client(base_url=address, headers=headers, timeout=0.2))
            try:
                client.post("/v1/warehouse/query", json=slow)
            except httpx.TimeoutException:
                stack.callback(client.close)
        started_s = time.monotonic()
        answer = scene.victim.by_scope[Scope.ANALYST].post("/v1/warehouse/query", json={"sql": "SELECT 1"})
        require(answer.status_code == httpx.codes.OK, f"another tenant's query: {answer.status_code}")
        require(time.monotonic() - started_s < 4.0, "another tenant's query waits for the slow ones")
    return 13


@attack("user × operator")
def statements_without_a_trace(scene: Scene) -> int:
    mark = f"SELECT '{uuid4()}' AS mark"
    scene.victim.by_scope[Scope.ANALYST].post("/v1/warehouse/query", json={"sql": mark}).raise_for_status()
    with scene.parts.store.unit_of_work(scene.victim.id) as uow:
        noted = [entry.subject for entry in uow.audit.list_page(limit=20, about="query.")]
    require(mark in noted, "the audit log has no entry of it")
    return 1
