"""The login for people's own tools: reads its tenant's views, and nothing else whatever it sets."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from threading import Barrier
from uuid import uuid4

import httpx
import psycopg
import pytest
from psycopg import sql

from services.application.access.authenticate import Scope
from services.application.shared.audit import SERVICE
from services.application.warehouse.query import LoginKind, StoredLogin, ensure_query_login, issue_login
from services.embedded.postgres import EmbeddedPostgres
from services.persistence.migrate import prepare_database
from services.persistence.roles import READER, build_app_url, prepare_roles
from tests.records import ndjson, record
from tests.stack import Tenant, new_tenant


@pytest.fixture(scope="module")
def postgres() -> Iterator[EmbeddedPostgres]:
    """A server that listens on the loopback, too, as the one of `./run serve` does."""
    with EmbeddedPostgres.temporary(durable=False, tcp=True) as server:
        prepare_database(server.url())
        yield server


@pytest.fixture
def provider(tenant: Tenant, api: str) -> Tenant:
    with tenant.client(api) as client:
        assert client.post("/v1/logs", content=ndjson([record(id=str(uuid4())) for _ in range(3)])).status_code == 201
    return tenant


@pytest.fixture
def dsn(provider: Tenant, api: str) -> str:
    return credentials(provider, api)


def credentials(tenant: Tenant, api: str) -> str:
    with tenant.client(api, Scope.ANALYST) as client:
        answer = client.get("/v1/warehouse/credentials")
        assert answer.status_code == 200, answer.text
        return str(answer.json()["dsn"])


def test_psql_reads_the_views_with_the_password_alone(dsn: str, postgres: EmbeddedPostgres) -> None:
    assert "@127.0.0.1:" in dsn
    psql = postgres.program("psql")
    done = subprocess.run(
        [str(psql), dsn, "-XAtc", "SELECT count(*) FROM transfers JOIN warehouse.links USING (link_id)"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("3\n", "")


@pytest.mark.parametrize("kind", LoginKind)
def test_all_who_first_ask_at_once_get_one_password(provider: Tenant, kind: LoginKind) -> None:
    parts, at_once = provider.parts, 4
    together = Barrier(at_once)

    def issue_password(_: int) -> StoredLogin:
        together.wait()
        make = ensure_query_login if kind is LoginKind.QUERY else issue_login
        return make(provider.id, actor=SERVICE, units=parts.store.unit_of_work, clock=parts.clock)

    with ThreadPoolExecutor(at_once) as threads:
        assert len({each.password for each in threads.map(issue_password, range(at_once))}) == 1


def test_the_credentials_stay_until_they_are_revoked(provider: Tenant, api: str, dsn: str) -> None:
    assert credentials(provider, api) == dsn
    with provider.client(api) as client, psycopg.connect(dsn) as session:
        session.execute("SELECT 1")
        assert client.delete("/v1/warehouse/credentials").status_code == 204
        assert client.delete("/v1/warehouse/credentials").status_code == 404
        with pytest.raises(psycopg.OperationalError):  # the session was ended
            session.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(dsn)
    renewed = credentials(provider, api)
    assert renewed != dsn
    with psycopg.connect(renewed) as session:
        assert session.execute("SELECT count(*) FROM transfers").fetchone() == (3,)


def test_making_and_revoking_a_login_is_noted(provider: Tenant, api: str, dsn: str) -> None:
    with provider.client(api) as client:
        client.delete("/v1/warehouse/credentials")
    with provider.parts.store.unit_of_work(provider.id) as uow:
        noted = [entry.action for entry in uow.audit.list_page(limit=10, about="warehouse_login.")]
    assert noted == ["warehouse_login.revoked", "warehouse_login.created"]
    assert dsn.split(":")[2].split("@", maxsplit=1)[0] not in str(noted)


def test_account_is_removed_with_a_key_that_may_know_it(provider: Tenant, api: str, dsn: str) -> None:
    for scope, stays in ((Scope.AGENT, True), (Scope.ANALYST, False)):
        with provider.client(api) as client:
            key = client.post("/v1/keys", json={"name": "theirs", "scopes": [scope]}).json()
            with psycopg.connect(dsn) as session:
                assert client.delete(f"/v1/keys/{key['id']}").status_code == 204
                if stays:
                    session.execute("SELECT 1")
                    continue
                with pytest.raises(psycopg.OperationalError):
                    session.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(dsn)
    renewed = credentials(provider, api)
    assert renewed != dsn
    psycopg.connect(renewed).close()


def test_whoever_has_the_login_cannot_spoil_it_for_others(provider: Tenant, api: str, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute("SET default_transaction_read_only = off")
        session.execute("ALTER ROLE CURRENT_USER SET search_path = nowhere")
        session.execute("ALTER ROLE CURRENT_USER SET statement_timeout = 0")
        session.execute("ALTER ROLE CURRENT_USER SET lock_timeout = 1")
        name = sql.Identifier(session.info.dbname)
        session.execute(sql.SQL("ALTER ROLE CURRENT_USER IN DATABASE {} SET search_path = nowhere").format(name))
        session.execute("ALTER ROLE CURRENT_USER PASSWORD 'mine'")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(dsn)
    assert credentials(provider, api) == dsn
    with psycopg.connect(dsn) as session:
        assert session.execute("SELECT count(*) FROM transfers").fetchone() == (3,)
        assert session.execute("SHOW statement_timeout").fetchone() == ("5min",)
        assert session.execute("SHOW lock_timeout").fetchone() == ("0",)
    with provider.parts.store.unit_of_work(provider.id) as uow:
        noted = [entry.action for entry in uow.audit.list_page(limit=10, about="warehouse_login.")]
    assert noted == ["warehouse_login.handed_out", "warehouse_login.created"]


def test_only_an_operator_revokes(provider: Tenant, api: str, dsn: str) -> None:
    with provider.client(api, Scope.ANALYST) as client:
        assert client.delete("/v1/warehouse/credentials").status_code == 403
    psycopg.connect(dsn).close()


WRITES = (
    "CREATE TABLE warehouse.mine (a int)",
    "CREATE TABLE public.mine (a int)",
    "CREATE TEMP TABLE mine (a int)",
    "CREATE SCHEMA mine",
    "CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "INSERT INTO warehouse.links (source) VALUES ('x')",
    "UPDATE warehouse.transfers SET bytes_moved = 0",
    "DELETE FROM warehouse.transfers",
    "DELETE FROM public.transfer_logs",
    "TRUNCATE public.transfer_logs",
    "SELECT lo_create(0)",
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT pg_logical_emit_message(false, 'a', 'x')",
    "SELECT pg_logical_emit_message(true, 'a', 'x'::bytea)",
    "SELECT pg_notify('a', 'x')",
    "SELECT pg_export_snapshot()",
    "SELECT pg_current_xact_id()",
    "SELECT txid_current()",
    "DO 'BEGIN END'",
    "CREATE ROLE mine",
    "GRANT tradewind_app TO CURRENT_USER",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "COPY (SELECT 1) TO '/tmp/x'",
)


@pytest.mark.parametrize("statement", WRITES)
def test_reader_cannot_write_even_after_switching_read_only_off(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute("SET default_transaction_read_only = off")
        with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.ObjectNotInPrerequisiteState)):
            session.execute(statement)  # type: ignore[call-overload]


@pytest.mark.parametrize("other", ["postgres", "template1"])
def test_a_reader_connects_to_no_other_database(dsn: str, other: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        psycopg.connect(f"{dsn.rpartition('/')[0]}/{other}")


def test_databases_of_a_server_of_others_are_left_as_they_are(postgres: EmbeddedPostgres) -> None:
    with psycopg.connect(postgres.url(), autocommit=True) as admin:
        admin.execute("CREATE DATABASE theirs")
        admin.execute("GRANT CONNECT ON DATABASE postgres TO PUBLIC")
        prepare_roles(postgres.url())
        shared = admin.execute("SELECT has_database_privilege('public', 'postgres', 'CONNECT')").fetchone()
        admin.execute("DROP DATABASE theirs")
        admin.execute("REVOKE CONNECT ON DATABASE postgres FROM PUBLIC")
    assert shared == (True,)


def test_the_queue_of_notifications_which_every_login_may_fill_is_small(database_url: str) -> None:
    with psycopg.connect(database_url) as session:
        assert session.execute("SHOW max_notify_queue_pages").fetchone() == ("64",)


@pytest.mark.parametrize("call", ["pg_advisory_lock(1)", "pg_try_advisory_xact_lock(1, 2)"])
def test_a_reader_holds_no_lock_that_the_service_would_wait_for(dsn: str, call: str) -> None:
    with psycopg.connect(dsn) as session, pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute(f"SELECT {call}")  # type: ignore[call-overload]


def test_a_reader_fills_the_disk_no_further_than_it_may(dsn: str, database_url: str) -> None:
    with psycopg.connect(dsn) as session:
        assert session.execute("SHOW temp_file_limit").fetchone() == ("4GB",)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("SET temp_file_limit = -1")
    with psycopg.connect(database_url) as session:
        assert session.execute("SHOW temp_file_limit").fetchone() == ("-1",)


def test_a_reader_cannot_set_its_way_to_another_tenant(provider: Tenant, api: str, dsn: str, database_url: str) -> None:
    stranger = new_tenant(provider.parts, database_url)
    other = f"tradewind_reader_{provider.id.hex}"
    with psycopg.connect(credentials(stranger, api), autocommit=True) as session:
        session.execute("SELECT set_config('tradewind.tenant', %s, false)", [str(provider.id)])
        assert session.execute("SELECT count(*) FROM transfers").fetchone() == (0,)
        for role in (other, READER, "tradewind_app", "tradewind_owner", "postgres"):
            for command in ("SET ROLE {}", "SET SESSION AUTHORIZATION {}"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    session.execute(sql.SQL(command).format(sql.Identifier(role)))
        assert session.execute("SELECT count(*) FROM transfers").fetchone() == (0,)


def test_a_reader_names_no_table_and_calls_no_function_of_the_service(dsn: str, admin_database_url: str) -> None:
    with psycopg.connect(admin_database_url) as admin:
        tables = [name for (name,) in admin.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
        reader = dsn.split("/")[2].split(":", maxsplit=1)[0]
        callable_ = admin.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace "
            "AND has_function_privilege(%s, oid, 'EXECUTE')",
            [reader],
        ).fetchall()
    assert callable_ == []
    with psycopg.connect(dsn, autocommit=True) as session:
        for table in tables:
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="schema public"):
                session.execute(sql.SQL("SELECT * FROM public.{}").format(sql.Identifier(table)))


def test_no_policy_for_everybody_is_on_a_table_that_readers_may_read(admin_database_url: str) -> None:
    with psycopg.connect(admin_database_url) as admin:
        query = """
            SELECT c.relname, p.polname FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
             WHERE has_table_privilege(%s, c.oid, 'SELECT')
               AND (p.polroles = '{0}' OR %s::regrole = ANY (p.polroles))
               AND p.polname <> 'reader_tenant' AND p.polpermissive
        """
        assert admin.execute(query, [READER, READER]).fetchall() == []


def test_a_reader_has_a_time_limit_and_few_connections(dsn: str) -> None:
    sessions = [psycopg.connect(dsn) for _ in range(5)]
    try:
        assert sessions[0].execute("SHOW statement_timeout").fetchone() == ("5min",)
        with pytest.raises(psycopg.OperationalError, match="too many connections"):
            psycopg.connect(dsn)
    finally:
        for session in sessions:
            session.close()


def test_however_many_logins_there_are_the_service_connects() -> None:
    few = {"max_connections": "10", "superuser_reserved_connections": "2", "reserved_connections": "4"}
    with EmbeddedPostgres.temporary(durable=False, settings=few) as server, ExitStack() as sessions:
        prepare_roles(server.url())
        with psycopg.connect(server.url()) as admin:
            admin.execute(sql.SQL("CREATE ROLE reading LOGIN IN ROLE {}").format(sql.Identifier(READER)))
        for _ in range(4):
            sessions.enter_context(psycopg.connect(server.url("reading")))
        with pytest.raises(psycopg.OperationalError, match="remaining connection slots are reserved"):
            psycopg.connect(server.url("reading"))
        psycopg.connect(build_app_url(server.url())).close()


def test_a_transaction_goes_on_no_longer_than_it_may_whatever_limits_are_lifted(dsn: str, provider: Tenant) -> None:
    with psycopg.connect(dsn) as reading, psycopg.connect(dsn, autocommit=True) as idle:
        for limit in ("statement_timeout", "transaction_timeout", "idle_in_transaction_session_timeout"):
            reading.execute(sql.SQL("SET {} = 0").format(sql.Identifier(limit)))
        reading.execute("SELECT count(*) FROM transfers")
        idle.execute("SELECT 1")
        assert provider.parts.store.reads.end_long(timedelta(hours=1)) == 0
        assert provider.parts.store.reads.end_long(timedelta(0)) == 1
        with pytest.raises(psycopg.OperationalError):
            reading.execute("SELECT 1")
        idle.execute("SELECT 1")


def test_a_login_that_the_database_lost_is_made_again(provider: Tenant, api: str, postgres: EmbeddedPostgres) -> None:
    def count(client: httpx.Client) -> object:
        return client.post("/v1/warehouse/query", json={"sql": "SELECT count(*) FROM transfers"}).json()["rows"]

    with provider.client(api) as client:
        assert count(client) == [{"count": 3}]
        with psycopg.connect(postgres.url(), autocommit=True) as admin:
            admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(f"tradewind_query_{provider.id.hex}")))
        assert count(client) == [{"count": 3}]


COUNTS = (
    "SELECT reltuples FROM pg_class",
    "SELECT relpages FROM pg_class",
    "SELECT n_live_tup FROM pg_stat_user_tables",
    "SELECT n_tup_ins FROM pg_stat_xact_user_tables",
    "SELECT idx_scan FROM pg_stat_user_indexes",
    "SELECT heap_blks_read FROM pg_statio_user_tables",
    "SELECT tup_inserted FROM pg_stat_database",
    "SELECT pg_total_relation_size(oid) FROM pg_class",
    "SELECT pg_database_size(current_database())",
    "SELECT wal_bytes FROM pg_stat_wal",
    "SELECT writes FROM pg_stat_io",
    "SELECT buffers_alloc FROM pg_stat_bgwriter",
    "SELECT num_timed FROM pg_stat_checkpointer",
    "SELECT pg_current_wal_insert_lsn()",
    "SELECT next_xid FROM pg_control_checkpoint()",
    "SELECT pg_current_snapshot()",
    "SELECT relation FROM pg_locks",
)


@pytest.mark.parametrize("query", COUNTS)
def test_the_catalog_counts_nothing_of_others_for_a_reader(dsn: str, admin_database_url: str, query: str) -> None:
    with psycopg.connect(dsn) as session, pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute(query)  # type: ignore[call-overload]
    for monitor in ("tradewind_app", "pg_monitor"):
        with psycopg.connect(admin_database_url) as admin:
            admin.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(monitor)))
            admin.execute(query)  # type: ignore[call-overload]


@pytest.mark.parametrize("command", [r"\d transfers", r"\d+ links", r"\dv", r"\dn", r"\dt *.*", r"\l", r"\du"])
def test_psql_still_describes_views(dsn: str, postgres: EmbeddedPostgres, command: str) -> None:
    done = subprocess.run(
        [str(postgres.program("psql")), dsn, "-Xc", command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT usename, application_name FROM pg_stat_activity",
        "SELECT * FROM pg_stat_get_activity(NULL)",
        "SELECT pg_stat_get_backend_userid(id) FROM pg_stat_get_backend_idset() id",
        "SELECT * FROM pg_stat_ssl",
        "SELECT * FROM pg_stat_progress_copy",
        "SELECT * FROM pg_stat_replication",
    ],
)
def test_sessions_of_others_are_not_shown(dsn: str, asked: str) -> None:
    with psycopg.connect(dsn) as session, pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute(asked.encode())
