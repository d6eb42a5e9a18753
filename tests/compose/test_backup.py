"""Copies of the database, and the log between them, as docs/operations.md has them made in containers."""

import pytest

from tests.conditions import eventually
from tests.records import ndjson, record

PROGRAM = ("python", "-m", "services.backup")
AGAIN = "/backups/again"
COUNTED = f"""
import sys, psycopg
with psycopg.connect(host="{AGAIN}", user="postgres", dbname="tradewind") as database:
    print(*database.execute("SELECT count(*) FROM transfer_logs WHERE id = ANY(%s::uuid[])", [sys.argv[1:]]).fetchone())
"""


@pytest.fixture
def followed(stack):
    stack.compose("--profile", "backup", "up", "--detach", "--wait", "backup")
    yield
    stack.compose("--profile", "backup", "rm", "--stop", "--force", "backup")


def backup(stack, *words, check=True):
    return stack.compose("run", "--rm", "-T", "backup", *words, check=check)


@pytest.fixture
def started_again(stack):
    """Starts PostgreSQL on the cluster that was restored; it is reached by a socket in its folder."""
    containers = []

    def start():
        ours = ("docker", "run", "--detach", "--user", "10001:10001", "--network", "none", "--entrypoint", "postgres")
        where = (
            f"--volume={stack.project}_backups:/backups",
            stack.inspect(*stack.containers("postgres"), "{{.Image}}"),
        )
        settings = ("-c", f"unix_socket_directories={AGAIN}", "-c", "listen_addresses=")
        containers.append(stack.run(*ours, *where, "-D", AGAIN, *settings).stdout.strip())

    yield start
    stack.run("docker", "rm", "--force", *containers)


def test_a_copy_and_the_log_after_it_bring_back_what_was_acknowledged(stack, followed, client, started_again):
    assert "verified" in backup(stack, *PROGRAM, "make", "/backups", "--keep", "2")
    sent = [record(minute) for minute in range(5)]
    answer = client.post("/v1/logs", content=ndjson(sent), headers={"Content-Type": "application/x-ndjson"})
    assert answer.status_code == 201, answer.text
    assert "whole, with" in backup(stack, *PROGRAM, "verify", "/backups")
    backup(stack, *PROGRAM, "restore", "/backups", "--into", AGAIN, "--cluster")
    started_again()
    ids = [each["id"] for each in sent]
    eventually(lambda: backup(stack, "python", "-c", COUNTED, *ids, check=False).split() == ["5"], patience_s=120)
