import signal
import threading
from collections import Counter

import pytest

from tests.integration.agent.support.command import environment, run, start
from tests.integration.agent.support.faulty_service import STORE_AND_DROP, faulty_service
from tests.unit.agent.records import lines

ROWS = 400


@pytest.fixture
def service():
    with faulty_service() as running:
        yield running


@pytest.fixture
def logs(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


@pytest.fixture
def env(tmp_path, service):
    return environment(tmp_path, TRADEWIND_URL=service.url, TRADEWIND_KEY="key")


def watching(logs, env):
    return start("logs", "watch", str(logs), "--interval", "20ms", "--json", env=env)


def append(logs, rows, *, rotate_every):
    """Write ``rows`` as a program with rotating logs does: renaming, and cutting lines wherever a buffer ends."""
    log = logs / "transfers.log"
    for number, row in enumerate(rows, 1):
        with log.open("ab") as file:
            file.write(row[: len(row) // 2])
            file.flush()
            file.write(row[len(row) // 2 :])
        if number % rotate_every == 0:
            log.rename(logs / f"transfers.log.{number}")


def test_kills_and_restarts_lose_and_double_nothing(logs, env, service):
    rows = lines(ROWS)
    writer = threading.Thread(target=append, args=(logs, rows), kwargs={"rotate_every": 50})
    writer.start()
    for arrived in range(20, 200, 30):
        service.faults.append(STORE_AND_DROP)
        with watching(logs, env) as watch:
            service.wait_for_rows(arrived)
            watch.send_signal(signal.SIGKILL)
    writer.join()
    with watching(logs, env) as watch:
        service.wait_for_rows(ROWS)
        watch.terminate()
        assert watch.wait() == 0, watch.stderr.read()
    assert Counter(service.rows) == Counter(row.strip() for row in rows)


def test_a_watch_stops_cleanly_on_request_and_says_what_it_did(logs, env, service):
    append(logs, lines(3), rotate_every=10)
    with watching(logs, env) as watch:
        service.wait_for_rows(3)
        watch.send_signal(signal.SIGTERM)
        out, err = watch.communicate(timeout=30)
    assert watch.returncode == 0
    assert b'"accepted": 3' in out
    assert err == b""


def test_once_reads_what_is_there_and_ends(logs, env, service):
    append(logs, lines(3), rotate_every=2)
    outcome = run("logs", "watch", str(logs), "--once", "--json", env=env)
    assert outcome.code == 0
    assert outcome.document == {"records": 3, "refused": 0, "accepted": 3, "not_read": []}
    assert run("logs", "watch", str(logs), "--once", "--json", env=env).document["records"] == 0
    assert Counter(service.rows) == Counter(row.strip() for row in lines(3))


def test_while_the_service_is_unreachable_logs_wait_in_the_spool(logs, env, tmp_path, service):
    append(logs, lines(3), rotate_every=10)
    with faulty_service() as gone:
        away = env | {"TRADEWIND_URL": gone.url}
    outcome = run("logs", "watch", str(logs), "--once", env=away)
    assert outcome.code == 0
    assert "does not answer" in outcome.error
    assert service.rows == []
    assert run("logs", "watch", str(logs), "--once", "--json", env=env).document["accepted"] == 3
    assert len(service.rows) == 3


def test_a_second_watch_of_the_same_folder_is_refused(logs, env, service):
    append(logs, lines(1), rotate_every=10)
    with watching(logs, env) as watch:
        service.wait_for_rows(1)
        second = run("logs", "watch", str(logs), env=env)
        watch.terminate()
        watch.communicate(timeout=30)
    assert second.code == 1
    assert "another `tradewind logs watch`" in second.error
