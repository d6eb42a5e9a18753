"""Backups of a real PostgreSQL that is written to, and the way back to a moment in between."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from services.backup.__main__ import main
from services.backup.errors import BackupFailed
from services.backup.folder import BackupFolder
from services.bootstrap import build_container
from services.embedded.postgres import EmbeddedPostgres
from services.persistence.roles import APP
from tests.conditions import eventually
from tests.endings import Program
from tests.integration.models.test_releases import refresh
from tests.open_folders import open_folder
from tests.records import known, ndjson, record
from tests.stack import Tenant, serving

FOLLOW = [sys.executable, "-P", "-m", "services.backup", "follow"]
ASKED = {
    "source": "alpha",
    "destination": "omega",
    "mover": "tradewind",
    "dataset": {"file_count": 100, "total_bytes": 10**9},
    "sla": {"kind": "max_throughput"},
}
IS_WRITTEN_DOWN = """
    SELECT flush_lsn >= pg_current_wal_lsn() FROM pg_stat_replication
     WHERE application_name = 'pg_receivewal' AND state = 'streaming'
"""
"""No row before that: who makes the slot is there for a moment too."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where servers that root starts as another user get at what is restored."""
    with open_folder() as place:
        yield place


@pytest.fixture(autouse=True)
def administered(admin_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is copied is told of it: the database of these tests, and not the one that others are made from."""
    monkeypatch.setenv("TRADEWIND_ADMIN_DATABASE_URL", admin_database_url)


@contextmanager
def following(folder: Path, admin: psycopg.Connection) -> Iterator[None]:
    """Have the log written down; at the end all that was committed so far is."""
    with Program([*FOLLOW, folder], env=dict(os.environ)) as process:
        try:
            eventually(lambda: admin.execute(IS_WRITTEN_DOWN).fetchone())
            yield
            eventually(lambda: admin.execute(IS_WRITTEN_DOWN).fetchone() == (True,))
        finally:
            process.send_signal(signal.SIGINT)


def upload(address: str, tenant: Tenant, number: int) -> None:
    with tenant.client(address) as client:
        answer = client.post("/v1/logs", content=ndjson([record(number, id=known(number))]))
        assert answer.status_code == 201, answer.text


def recommended(address: str, tenant: Tenant) -> bytes:
    """As it is answered, but for the id of the transfer."""
    with tenant.client(address) as client:
        answer = client.post("/v1/recommend", json=ASKED)
        assert answer.status_code == 200, answer.text
    assert answer.json()["source"] == "release"
    return answer.content.replace(answer.json()["transfer_id"].encode(), b"")


def stored(connection: psycopg.Connection) -> list[str]:
    return [str(each) for (each,) in connection.execute("SELECT id FROM transfer_logs ORDER BY id")]


def test_the_service_is_brought_back_to_a_moment_and_recommends_the_same(
    folder, admin_database_url, redis_url, api, tenant, capsys
):
    backups = str(folder / "backups")
    upload(api, tenant, 1)
    refresh(tenant)
    before = recommended(api, tenant)
    with psycopg.connect(admin_database_url, autocommit=True) as admin, following(folder / "backups", admin):
        assert main(["make", backups]) == 0
        assert admin.execute("SELECT count(*) FROM database_copies WHERE bytes > 0").fetchone() == (1,)
        upload(api, tenant, 2)
        (moment,) = admin.execute("SELECT clock_timestamp()").fetchone()
        upload(api, tenant, 3)
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        admin.execute("SELECT pg_drop_replication_slot('tradewind_backup')")
    assert main(["verify", backups]) == 0

    again = folder / "again"
    assert main(["restore", backups, "--into", str(again), "--until", moment.isoformat()]) == 0
    assert "./run serve" in capsys.readouterr().out
    with EmbeddedPostgres(again / "postgres", durable=False) as restored:
        name = admin_database_url.partition("?")[0].rpartition("/")[2]
        with psycopg.connect(restored.url(database=name)) as admin:
            assert stored(admin) == [known(1), known(2)]
        url = restored.url(APP, database=name)
        with build_container(database_url=url, redis_url=redis_url) as parts, serving(parts) as address:
            assert recommended(address, tenant) == before
            upload(address, tenant, 4)

    late = ["restore", backups, "--into", str(folder / "late"), "--until", "2999-01-01T00:00:00Z"]
    assert main(late) == 1
    told = "backup: the log ends before that moment: leave --until out to have all of it\n"
    assert capsys.readouterr().err.endswith(told)
    assert not (folder / "late").exists()


def test_changed_backup_is_found_and_the_newest_ones_are_retained(folder, capsys):
    backups = str(folder / "backups")
    assert main(["make", backups]) == 0
    capsys.readouterr()
    assert main(["list", backups]) == 0
    name = capsys.readouterr().out.split()[0]
    version = folder / "backups" / "base" / name / "data" / "PG_VERSION"
    version.write_text("19\n")
    assert main(["verify", backups]) == 1
    assert "PG_VERSION is not as it was copied" in capsys.readouterr().err
    version.unlink()
    assert main(["verify", backups]) == 1
    assert "PG_VERSION is missing" in capsys.readouterr().err
    told = json.loads((version.parents[1] / "backup.json").read_text())
    assert (folder / "backups").stat().st_mode & 0o077 == 0
    assert told["bytes"] > 10**6


def test_backup_that_the_system_refuses_fails_and_leaves_nothing(folder, admin_database_url):
    missing = folder / "agent-key"
    with pytest.raises(BackupFailed, match=rf"^{missing}: No such file or directory$"):
        BackupFolder(folder / "backups").make(admin_database_url, attachments={"agent-key": missing})
    assert list((folder / "backups" / "base").iterdir()) == []


def test_next_backup_removes_what_a_killed_one_left(folder, capsys):
    left = folder / "backups" / "base" / "2026-11-23T01-00-00Z.partial"
    (left / "data").mkdir(parents=True)
    assert main(["make", str(folder / "backups")]) == 0
    (made,) = (folder / "backups" / "base").iterdir()
    assert made.name == capsys.readouterr().out.partition(":")[0]


def test_backup_that_its_database_cannot_record_is_valid(folder, postgres, monkeypatch, capsys):
    monkeypatch.setenv("TRADEWIND_ADMIN_DATABASE_URL", postgres.url(database="postgres"))
    assert main(["make", str(folder / "backups")]) == 0
    assert re.fullmatch(
        r"backup: \S+ is there, but the database does not know of it: it has no table database_copies for this role\n",
        capsys.readouterr().err,
    )
    assert main(["verify", str(folder / "backups")]) == 0


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["list", "{}/none"], 0, ""),
        (["verify", "{}/none"], 1, "backup: no backup in {}/none\n"),
        (["restore", "{}/none", "--into", "{}/new"], 1, "backup: no backup in {}/none\n"),
        (["restore", "{}/none", "--into", "{}/new", "--name", "b"], 1, "backup: no backup b in {}/none\n"),
        (["make", "/proc/none"], 1, "backup: cannot make /proc/none: No such file or directory\n"),
    ],
)
def test_missing_backup_is_reported_in_one_line(arguments, code, told, tmp_path, capsys):
    assert main([each.format(tmp_path) for each in arguments]) == code
    assert capsys.readouterr().err == told.format(tmp_path)


def test_without_an_administrator_there_is_nothing_to_copy_with(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("TRADEWIND_ADMIN_DATABASE_URL", raising=False)
    monkeypatch.setenv("DATABASE_URL", "postgresql://tradewind_app@db/tradewind")
    assert main(["make", str(tmp_path / "backups")]) == 2
    assert capsys.readouterr().err.startswith("backup: TRADEWIND_ADMIN_DATABASE_URL: must be set")
    monkeypatch.delenv("DATABASE_URL")
    monkeypatch.setenv("TRADEWIND_DATA", str(tmp_path / "data"))
    assert main(["make", str(tmp_path / "backups")]) == 2
    assert capsys.readouterr().err.startswith("backup: TRADEWIND_DATA: no service has kept its data")


def test_health_is_that_the_log_is_followed_now_and_to_this_folder(folder, admin_database_url, monkeypatch, capsys):
    here, elsewhere = folder / "backups", folder / "elsewhere"

    def unwell(*arguments: object) -> str:
        assert main(["health", *map(str, arguments)]) == 1
        return capsys.readouterr().err

    assert unwell(here) == "backup: nobody has started to follow the log\n"
    assert unwell(here, "--copied-within", 1) == "backup: there is no copy yet\n"
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        with following(here, admin):
            admin.execute("SELECT pg_logical_emit_message(false, 'test', 'something', true)")
            eventually(lambda: main(["health", str(here)]) == 0)
            capsys.readouterr()
            assert unwell(elsewhere).startswith(
                f"backup: the log is followed, but not to {elsewhere / 'wal'}, which has"
            )
        eventually(lambda: admin.execute("SELECT NOT active FROM pg_replication_slots").fetchone() == (True,))
        assert unwell(here) == "backup: nobody follows the log now\n"
        admin.execute("SELECT pg_drop_replication_slot('tradewind_backup')")
    assert main(["make", str(here)]) == main(["health", str(here), "--copied-within", "1"]) == 0
    assert main(["verify", str(here)]) == 0
    assert re.search(
        r"^the newest copy is \d+ s old; the log was last written to \d+ s ago$", capsys.readouterr().out, re.MULTILINE
    )
    monkeypatch.setenv("TRADEWIND_ADMIN_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    assert unwell(here).startswith("backup: the database does not answer now")


def test_nightly_backup_starts_at_once_and_removes_an_interrupted_copy(folder):
    nightly = [sys.executable, "-P", "-m", "services.backup", "nightly", folder / "backups", "--keep", "2"]
    with Program(nightly, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().endswith("verified\n")
        process.terminate()
    assert process.returncode == 130
    assert len(list((folder / "backups" / "base").iterdir())) == 1


def test_follower_of_the_log_ends_when_the_server_disconnects_it(folder, admin_database_url):
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        with Program([*FOLLOW, folder / "backups"], stderr=subprocess.PIPE) as process:
            eventually(lambda: admin.execute(IS_WRITTEN_DOWN).fetchone())
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_replication")
            _, errors = process.communicate(timeout=60)
        admin.execute("SELECT pg_drop_replication_slot('tradewind_backup')")
    assert process.returncode == 1
    assert errors.endswith(b"pg_receivewal: error: disconnected\n")
