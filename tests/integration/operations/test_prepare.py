"""`python -m services.prepare`, as in Compose: an empty server over TCP, and URLs with passwords in files."""

import os
import socket
import subprocess

import psycopg
import pytest

from services.application.access.authenticate import Scope
from services.bootstrap import build_container
from services.embedded.backends import open_backends
from services.embedded.postgres import EmbeddedPostgres
from services.persistence.engine import create_pooled_engine
from services.prepare import FIRST_LOGIN, FIRST_TENANT, ensure_database, issue_key, issue_login, main
from services.processes import ROOT
from services.serve import format_login_command
from services.settings import Settings
from tests.open_folders import open_folder

URLS = ("DATABASE_URL", "TRADEWIND_ADMIN_DATABASE_URL", "REDIS_URL")


@pytest.fixture(scope="module")
def urls(redis_url):
    with EmbeddedPostgres.temporary(durable=False, tcp=True) as server:
        yield {
            "DATABASE_URL": server.url("tradewind_app", password="p@ss/word", tcp=True),
            "TRADEWIND_ADMIN_DATABASE_URL": server.url(tcp=True),
            "REDIS_URL": redis_url,
        }


@pytest.fixture
def secrets(urls, tmp_path, monkeypatch):
    for variable in URLS:
        path = tmp_path / variable.lower()
        path.write_text(f"{urls[variable]}\n")
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv(f"{variable}_FILE", str(path))
    return tmp_path


@pytest.fixture
def prepared(secrets):
    assert main(["database"]) == 0
    return secrets


def principal(urls, secret):
    with build_container(database_url=urls["DATABASE_URL"], redis_url=urls["REDIS_URL"]) as parts:
        return parts.keyring.authenticate(secret)


def new_key(capsys, *arguments):
    capsys.readouterr()
    assert main(["key", *arguments]) == 0
    secret, end = capsys.readouterr().out.split("\n")
    assert end == ""
    return secret


def test_an_empty_database_can_be_served_from_and_a_second_time_changes_nothing(prepared, urls):
    assert main(["database"]) == 0
    with build_container(database_url=urls["DATABASE_URL"], redis_url=urls["REDIS_URL"]) as parts:
        parts.store.require_ready()


def test_other_processes_wait_until_the_schema_is_there(secrets, urls, capsys):
    with EmbeddedPostgres.temporary(durable=False, tcp=True) as empty:
        (secrets / "database_url").write_text(empty.url(tcp=True))
        assert main(["wait", "--seconds", "0"]) == 1
        assert "schema" in capsys.readouterr().err
    (secrets / "database_url").write_text(urls["DATABASE_URL"])
    assert main(["database"]) == 0
    assert main(["wait", "--seconds", "0"]) == 0


def test_the_locks_of_a_host_that_fell_silent_are_held_for_half_a_minute(prepared, urls):
    with psycopg.connect(urls["DATABASE_URL"]) as connection:
        idle, interval, count, unacknowledged_ms = (
            int(connection.execute("SELECT setting FROM pg_settings WHERE name = %s", [name]).fetchone()[0])
            for name in ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout")
        )
    assert idle + interval * count == 30
    assert unacknowledged_ms == 30_000


def test_a_database_that_fell_silent_is_waited_for_half_a_minute(prepared, urls):
    engine = create_pooled_engine(urls["DATABASE_URL"])
    with engine.connect() as connection, socket.socket(fileno=os.dup(driver_of(connection).fileno())) as used:
        idle, interval, count, unacknowledged_ms = (
            used.getsockopt(socket.IPPROTO_TCP, option)
            for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)
        )
    engine.dispose()
    assert idle + interval * count == 30
    assert unacknowledged_ms == 30_000


def driver_of(connection):
    return connection.connection.driver_connection


def test_keys_of_one_name_are_of_one_tenant(prepared, urls, capsys):
    first, second = (principal(urls, new_key(capsys, "--tenant", "acme")) for _ in range(2))
    other = principal(urls, new_key(capsys))
    assert first.tenant_id == second.tenant_id != other.tenant_id
    assert first.scopes == set(Scope)


def test_key_has_the_requested_scopes(prepared, urls, capsys):
    secret = new_key(capsys, "--scope", "agent", "--scope", "analyst")
    assert principal(urls, secret).scopes == {Scope.AGENT, Scope.ANALYST}


@pytest.mark.parametrize(
    ("preparation", "variable"),
    [("database", "TRADEWIND_ADMIN_DATABASE_URL"), ("key", "DATABASE_URL"), ("key", "REDIS_URL")],
)
def test_missing_url_is_reported_in_one_line(secrets, monkeypatch, capsys, preparation, variable):
    monkeypatch.delenv(f"{variable}_FILE")
    assert main([preparation]) == 2
    assert capsys.readouterr().err == f"prepare: {variable}: must be set\n"


def test_wrong_password_is_reported_in_one_line_without_the_password(prepared, urls, capsys):
    (prepared / "database_url").write_text(urls["DATABASE_URL"].replace("p%40ss%2Fword", "guessed"))
    capsys.readouterr()
    assert main(["key"]) == 1
    told = capsys.readouterr().err
    assert "password authentication failed" in told
    assert told.count("\n") == 1
    assert "guessed" not in told


def test_unreachable_server_is_reported_in_one_line(secrets, capsys):
    (secrets / "tradewind_admin_database_url").write_text("postgresql://postgres:secret@127.0.0.1:1/tradewind")
    assert main(["database"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("prepare: the database does not answer now")
    assert told.count("\n") == 1
    assert "secret" not in told


def test_printed_command_gives_a_new_password_whether_the_embedded_database_runs_or_not():
    settings = {"database_url": None, "admin_database_url": None, "redis_url": None}
    with open_folder() as folder:
        with open_backends(folder, **settings) as found:
            with open_embedded(folder, found) as parts:
                issue_key(parts, tenant=FIRST_TENANT, name="this machine", scopes=tuple(Scope))
                passwords = [issue_login(parts, tenant=FIRST_TENANT, login=FIRST_LOGIN)]
            passwords.append(run_login_command(folder))
        passwords.append(run_login_command(folder))
        with open_backends(folder, **settings) as found, open_embedded(folder, found) as parts:
            user = parts.store.registry.find_user(FIRST_LOGIN)
            with parts.store.unit_of_work(user.tenant_id) as uow:
                stored = uow.users.get(user.id).password_hash
            assert [parts.passwords.matches(each, stored) for each in passwords] == [False, False, True]


def open_embedded(folder, found):
    url = ensure_database(Settings(data_folder=folder), database_url=None, admin_database_url=found.admin_database_url)
    return build_container(database_url=url, redis_url=found.redis_url)


def run_login_command(folder):
    """Run the command that `./run serve` prints, in a shell with no setting of its own."""
    environment = {name: value for name, value in os.environ.items() if name.removesuffix("_FILE") not in URLS}
    shell = ["sh", "-c", format_login_command(folder)]
    done = subprocess.run(shell, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.removesuffix("\n")
