"""Copies of the database, the log between them and the way back, in containers: docs/how-to/back-up-and-restore.md."""

import os
import shutil
import signal

import psycopg
import pytest

from tests.compose.conftest import ENQUIRY
from tests.conditions import eventually
from tests.integration.models.refreshes import rows
from tests.records import ndjson

ASKED = ENQUIRY | {"mover": "tradewind", "dataset": {"file_count": 300, "total_bytes": 30_000_000}}
PROGRAM = ("python", "-m", "services.backup")
HEALTH = (*PROGRAM, "health", "/backups")


AS_BEFORE = "restore: nothing was restored; the service is as it was"


@pytest.fixture(scope="module")
def followed(stack):
    """The log is followed and a first copy is there, as after `docker compose --profile backup up`."""
    stack.compose("--profile", "backup", "up", "--detach", "--wait", "backup", "backup-nightly")
    yield
    stack.compose("--profile", "backup", "rm", "--stop", "--force", "backup", "backup-nightly")


def backup(stack, *words, check=True):
    return stack.compose("run", "--rm", "--no-deps", "-T", "backup", *words, check=check)


def upload(client, *, first_minute, count=5):
    sent = rows(count, first_minute=first_minute)
    answer = client.post("/v1/logs", content=ndjson(sent), headers={"Content-Type": "application/x-ndjson"})
    assert answer.status_code == 201, answer.text
    return {each["id"] for each in sent}


def recommended(client):
    """As it is answered, but for the id of the transfer; once the service answers at all."""
    answer = client.post("/v1/recommend", json=ASKED)
    assert answer.status_code == 200, answer.text
    return {name: value for name, value in answer.json().items() if name != "transfer_id"}


def learned(client):
    answer = client.post("/v1/recommend", json=ASKED)
    return answer.status_code == 200 and answer.json()["source"] == "release"


def server(stack):
    return psycopg.connect(stack.url_from_here("admin_database_url", "postgres"), autocommit=True)


def stored(stack, ids):
    with server(stack) as database:
        found = database.execute("SELECT id::text FROM transfer_logs WHERE id = ANY(%s::uuid[])", [list(ids)])
        return {each for (each,) in found}


def test_follower_of_the_log_is_healthy_only_while_the_server_confirms_it(stack, followed):
    assert "followed" not in backup(stack, *HEALTH)
    stack.compose("--profile", "backup", "stop", "backup")
    ran = stack.run("docker", "compose", "run", "--rm", "--no-deps", "-T", "backup", *HEALTH, check=False)
    assert (ran.returncode, ran.stderr.splitlines()[-1]) == (1, "backup: nobody follows the log now")
    stack.compose("--profile", "backup", "up", "--detach", "--wait", "backup")
    assert "whole, with" in backup(stack, *PROGRAM, "verify", "/backups")


def test_the_service_is_brought_back_to_a_moment_and_recommends_the_same(stack, followed, client):
    kept = upload(client, first_minute=0, count=60)
    eventually(lambda: learned(client), patience_s=180)
    before = recommended(client)
    with server(stack) as database:
        (moment,) = database.execute("SELECT clock_timestamp()").fetchone()
    lost = upload(client, first_minute=60)
    assert stored(stack, kept | lost) == kept | lost

    ran = stack.run("infra/restore", "--until", moment.isoformat(), check=False)
    assert ran.returncode == 0, ran.stderr
    assert stored(stack, kept | lost) == kept
    assert recommended(client) == before
    eventually(
        lambda: [stack.health(each) for each in stack.containers("backup-nightly")] == ["healthy"], patience_s=180
    )
    assert "whole, with" in backup(stack, *PROGRAM, "verify", "/backups"), "of a copy made since"


def test_a_moment_that_the_log_does_not_reach_leaves_the_service_with_what_it_had(stack, followed, client):
    kept = upload(client, first_minute=70)
    ran = stack.run("infra/restore", "--until", "2999-01-01T00:00:00Z", check=False)
    assert ran.returncode == 1, ran.stderr
    *_, reason, told, _, last = ran.stderr.splitlines()
    assert "recovery ended before configured recovery target was reached" in reason
    assert told == "restore: the log could not be replayed"
    assert last == AS_BEFORE
    assert stored(stack, kept) == kept
    assert client.post("/v1/recommend", json=ASKED).status_code == 200


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("copying the backup", signal.SIGTERM),
        ("stopping the service", signal.SIGINT),
        ("replaying the log", signal.SIGHUP),
    ],
)
def test_a_restore_that_is_ended_leaves_the_service_with_what_it_had(stack, followed, client, said, number):
    kept, there = upload(client, first_minute=90 + number), volume(stack)
    code, *_, last = ended_at(stack, said, number)
    assert (code, last) == (128 + number, AS_BEFORE)
    assert stored(stack, kept) == kept
    assert client.post("/v1/recommend", json=ASKED).status_code == 200
    assert stack.run("docker", "ps", "--all", "--quiet", "--filter", "name=tradewind-restore").stdout == ""
    assert volume(stack) == there


def test_a_restore_goes_on_once_the_log_is_replayed(stack, followed, client):
    kept = upload(client, first_minute=150)
    code, *_, last = ended_at(stack, "emptying Redis", signal.SIGHUP)
    assert code == 0
    assert last.startswith("restore: done; ")
    assert stored(stack, kept) == kept
    assert client.post("/v1/recommend", json=ASKED).status_code == 200


def test_interrupted_restore_lists_the_commands_that_bring_the_service_back(stack, followed, client, tmp_path):
    kept = upload(client, first_minute=160)
    docker = tmp_path / "docker"
    docker.write_text(f'#!/bin/sh\ncase "$*" in *flushall*) exit 7 ;; esac\nexec {shutil.which("docker")} "$@"\n')
    docker.chmod(0o755)
    ran = stack.run("infra/restore", check=False, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert ran.returncode == 1
    lines = ran.stderr.splitlines()
    for command in lines[lines.index("restore: what is left to do:") + 1 :]:
        stack.run("sh", "-c", command)
    assert stored(stack, kept) == kept
    assert client.post("/v1/recommend", json=ASKED).status_code == 200


def ended_at(stack, said: str, number: signal.Signals) -> tuple[int, *tuple[str, ...]]:
    """Exit code and lines of a restore that gets a signal twice, as from its terminal, when it says something."""
    with stack.start("infra/restore") as restore:
        lines = []
        for line in restore.stderr:
            lines.append(line.rstrip())
            if f"restore: {said}" in line:
                os.killpg(restore.pid, number)
            if "restore: putting the database of before back" in line:
                os.killpg(restore.pid, number)
    return restore.returncode, *lines


def volume(stack) -> list[str]:
    return stack.compose("run", "--rm", "--no-deps", "-T", "restore", "ls", "/var/lib/postgresql/18").split()


def test_restore_of_a_missing_backup_stops_no_container(stack, followed, client):
    before = stack.containers("api")
    ran = stack.run("infra/restore", "--name", "none", check=False)
    assert ran.returncode == 1
    *_, reason, last = ran.stderr.splitlines()
    assert reason == "backup: no backup none in /backups"
    assert last == AS_BEFORE
    assert stack.containers("api") == before


def test_a_service_whose_database_is_gone_comes_back_from_its_backup(stack, followed, client):
    kept = upload(client, first_minute=80)
    before = recommended(client)
    stack.compose("--profile", "backup", "down", "--timeout", "20")
    stack.run("docker", "volume", "rm", f"{stack.project}_postgres")
    ran = stack.run("infra/restore", "--until", "2999-01-01T00:00:00Z", check=False)
    assert (ran.returncode, ran.stderr.splitlines()[-1]) == (1, AS_BEFORE)
    assert volume(stack) == []
    ran = stack.run("infra/restore", check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.splitlines()[-1].startswith("restore: no backup runs: ")
    assert stored(stack, kept) == kept
    assert recommended(client) == before
