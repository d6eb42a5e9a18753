"""Real workers on real servers: what they do, and what becomes of their work when something dies."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
import redis

from services.application.models.refresh import MAX_ATTEMPTS
from services.application.shared.jobs import FitLink, RefreshModels
from services.embedded.valkey import EmbeddedValkey
from services.queue.dispatcher import create_job_publisher
from tests.conditions import eventually
from tests.integration.celery_worker import ROOT, worker
from tests.integration.models.refreshes import rows, upload
from tests.stack import Tenant

pytestmark = pytest.mark.long

ALONE = "--concurrency=1"
PAIR = "--concurrency=2"


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedValkey]:
    """A broker of our own, which may be stopped."""
    with EmbeddedValkey.temporary() as server:
        yield server


@contextmanager
def away(valkey: EmbeddedValkey) -> Iterator[None]:
    """The broker is stopped, and back for the tests that follow."""
    valkey.stop()
    try:
        yield
    finally:
        valkey.start()


@pytest.fixture
def environment(database_url: str, valkey: EmbeddedValkey) -> Iterator[dict[str, str]]:
    """Of workers that refresh at once; the broker is empty afterwards."""
    yield {
        "DATABASE_URL": database_url,
        "REDIS_URL": valkey.url(),
        "TRADEWIND_REFRESH_INTERVAL_S": "0",
        "TRADEWIND_SWEEP_INTERVAL_S": "1",
    }
    with redis.Redis.from_url(valkey.url()) as client:
        client.flushall()


@pytest.fixture
def with_sweep(tmp_path: Path) -> tuple[str, ...]:
    """Options of a worker that keeps the schedule too."""
    return (PAIR, "--beat", f"--schedule={tmp_path / 'schedule'}")


class Store:
    """What an administrator sees of a tenant, and how to hold up its fits."""

    def __init__(self, connection: psycopg.Connection, tenant: Tenant) -> None:
        self._connection = connection
        self._tenant = tenant

    def one(self, query: str) -> tuple:
        """The only row of a query about the tenant, ``%s`` in it."""
        return self._connection.execute(query, [self._tenant.id]).fetchone()

    def find_current_release(self) -> int | None:
        return (self.one("SELECT max(release_id) FROM current_releases WHERE tenant_id = %s"))[0]

    def releases(self) -> list[str]:
        rows = self._connection.execute(
            "SELECT state FROM releases WHERE tenant_id = %s ORDER BY id", [self._tenant.id]
        )
        return [state for (state,) in rows]

    def models(self) -> int:
        return self.one("SELECT count(*) FROM link_models WHERE tenant_id = %s")[0]

    def attempts(self) -> int:
        return self.one("SELECT max(attempts) FROM release_links WHERE tenant_id = %s")[0]

    @contextmanager
    def held_up(self, table: str) -> Iterator[None]:
        """Whoever writes to ``table`` waits."""
        with self._connection.transaction():
            self._connection.execute(f"LOCK TABLE {table} IN SHARE MODE")
            yield

    def waiting(self) -> list[int]:
        """Backends that wait for a table."""
        rows = self._connection.execute(
            """
            SELECT pid FROM pg_locks
             WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """
        )
        return [pid for (pid,) in rows]

    def end(self, backend: int) -> None:
        """As when the server is restarted."""
        self._connection.execute("SELECT pg_terminate_backend(%s)", [backend])


@pytest.fixture
def store(admin_database_url: str, tenant: Tenant) -> Iterator[Store]:
    with psycopg.connect(admin_database_url, autocommit=True) as connection:
        yield Store(connection, tenant)


def test_two_processes_share_the_links_of_an_upload(
    api: str, tenant: Tenant, store: Store, environment: dict[str, str], tmp_path: Path
) -> None:
    with worker(environment, tmp_path, PAIR) as running:
        with store.held_up("link_models"):
            upload(api, tenant, [row for n in range(3) for row in rows(seed=n, destination=f"site {n}")])
            eventually(lambda: len(store.waiting()) == 2)
        eventually(store.find_current_release)
    assert store.releases() == ["published"]
    assert store.models() == 3
    assert store.attempts() == 1
    assert running.process.returncode == 0
    assert running.finished(FitLink.name) == 3
    assert "Warning" not in running.log.read_text()  # not even of root's


def test_the_fit_of_a_killed_process_is_taken_up_again(
    api: str, tenant: Tenant, store: Store, environment: dict[str, str], tmp_path: Path
) -> None:
    with worker(environment, tmp_path, ALONE) as running:
        with store.held_up("release_endpoints"):
            upload(api, tenant, rows())
            eventually(store.waiting)
            running.kill_children()
            eventually(lambda: store.attempts() == 2)
        eventually(store.find_current_release)
    assert store.releases() == ["published"]
    assert store.models() == 1


def test_a_job_that_is_sent_again_during_its_fit_does_not_count_against_the_link(
    api: str, tenant: Tenant, store: Store, environment: dict[str, str], tmp_path: Path
) -> None:
    with (
        worker(environment, tmp_path, PAIR) as running,
        closing(create_job_publisher(environment["REDIS_URL"])) as celery,
    ):
        with store.held_up("release_endpoints"):
            upload(api, tenant, rows())
            eventually(store.waiting)
            release_id, link_id = store.one("SELECT release_id, link_id FROM release_links WHERE tenant_id = %s")
            job = {"tenant_id": str(tenant.id), "release_id": release_id, "link_id": str(link_id)}
            for _ in range(MAX_ATTEMPTS):
                celery.send_task(FitLink.name, kwargs=job)
            eventually(lambda: running.finished(FitLink.name) == MAX_ATTEMPTS)
        eventually(store.find_current_release)
    assert store.attempts() == 1
    assert store.models() == 1


def test_the_fit_of_a_lost_machine_is_found_by_the_sweep(
    api: str, tenant: Tenant, store: Store, environment: dict[str, str], tmp_path: Path, with_sweep: tuple[str, ...]
) -> None:
    with worker(environment, tmp_path, ALONE) as lost, store.held_up("link_models"):
        upload(api, tenant, rows())
        eventually(store.waiting)
        lost.kill_all()
    assert store.find_current_release() is None
    with worker(environment, tmp_path, *with_sweep):
        eventually(store.find_current_release)
    assert store.releases() == ["published"]
    assert store.models() == 1


def test_the_sweep_removes_releases_that_are_too_old(
    api: str, tenant: Tenant, store: Store, environment: dict[str, str], tmp_path: Path, with_sweep: tuple[str, ...]
) -> None:
    with worker(environment | {"TRADEWIND_KEPT_RELEASES": "2"}, tmp_path, *with_sweep):
        for n in range(4):
            before = store.find_current_release()
            upload(api, tenant, rows(seed=n, first_minute=100 * n))
            eventually(lambda before=before: store.find_current_release() != before)
        eventually(lambda: store.releases() == ["superseded", "published"])
    assert store.models() == 2


def test_a_link_whose_fits_are_killed_again_and_again_is_given_up(
    api: str, tenant: Tenant, store: Store, environment: dict[str, str], tmp_path: Path
) -> None:
    with worker(environment, tmp_path, ALONE) as running, store.held_up("release_endpoints"):
        upload(api, tenant, rows())
        for attempt in range(1, MAX_ATTEMPTS + 1):
            eventually(lambda attempt=attempt: store.attempts() == attempt and len(store.waiting()) == attempt)
            running.kill_children()
        eventually(store.find_current_release)
    (reason,) = store.one("SELECT reason FROM release_links WHERE tenant_id = %s")
    assert reason == f"its fit ended {MAX_ATTEMPTS} workers"
    assert store.models() == 0


def test_logs_that_came_while_the_broker_was_away_are_learned_when_it_is_back(
    api: str,
    tenant: Tenant,
    store: Store,
    environment: dict[str, str],
    tmp_path: Path,
    with_sweep: tuple[str, ...],
    valkey: EmbeddedValkey,
) -> None:
    with worker(environment, tmp_path, *with_sweep):
        with away(valkey):
            upload(api, tenant, rows())
        eventually(store.find_current_release)
    assert store.releases() == ["published"]
    assert store.models() == 1


def test_a_worker_outlives_a_broker_that_is_lost_amid_its_tasks(
    api: str,
    tenant: Tenant,
    store: Store,
    environment: dict[str, str],
    tmp_path: Path,
    valkey: EmbeddedValkey,
) -> None:
    # A heartbeat that comes upon the loss first waits for the broker itself, and says nothing.
    with worker(environment, tmp_path, PAIR, "--without-heartbeat") as running:
        with store.held_up("link_models"):
            upload(api, tenant, rows())
            eventually(store.waiting)  # and the other process's queue is listened to
            with away(valkey):
                running.lose_broker()
        assert running.process.poll() is None, running.log.read_text()
        eventually(store.find_current_release)
    assert running.process.returncode == 0
    assert store.models() == 1


def test_a_fit_that_loses_its_database_is_tried_again(
    api: str, tenant: Tenant, store: Store, environment: dict[str, str], tmp_path: Path
) -> None:
    with worker(environment, tmp_path, ALONE) as running:
        with store.held_up("link_models"):
            upload(api, tenant, rows())
            (backend,) = eventually(store.waiting)
            store.end(backend)
            eventually(lambda: running.outcomes("task.retried"))
        eventually(store.find_current_release)
    assert store.releases() == ["published"]
    assert store.attempts() == 1
    assert not running.outcomes("task.failed")


def test_a_job_that_cannot_succeed_is_not_tried_again(
    environment: dict[str, str], store: Store, tmp_path: Path
) -> None:
    redis_url = environment["REDIS_URL"]
    with (
        worker(environment, tmp_path, ALONE) as running,
        redis.Redis.from_url(redis_url) as client,
        closing(create_job_publisher(redis_url)) as celery,
    ):
        celery.send_task(RefreshModels.name, kwargs={"tenant_id": "nobody"})
        (failure,) = eventually(lambda: running.outcomes("task.failed"))
        assert "ValueError" in failure["reason"]
        eventually(lambda: not client.hlen("unacked") and not client.llen("celery"))
    assert len(running.outcomes("task.failed")) == 1
    assert not running.outcomes("task.retried")


def test_worker_that_receives_sigterm_finishes_its_fit(
    api: str, tenant: Tenant, store: Store, environment: dict[str, str], tmp_path: Path
) -> None:
    with worker(environment, tmp_path, ALONE) as running:
        with store.held_up("link_models"):
            upload(api, tenant, rows())
            eventually(store.waiting)
            running.process.send_signal(signal.SIGTERM)
            eventually(lambda: "Warm shutdown" in running.log.read_text())
            assert running.process.poll() is None
        assert running.process.wait(60) == 0
        assert store.releases() == ["published"]
    assert store.models() == 1


def test_worker_without_server_urls_reports_that_in_one_line(environment: dict[str, str]) -> None:
    told = {name: value for name, value in (os.environ | environment).items() if name != "DATABASE_URL"}
    command = [sys.executable, "-P", "-m", "celery", "-A", "workers.app", "worker"]
    answer = subprocess.run(command, env=told, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert answer.stderr.splitlines() == ["workers: DATABASE_URL: must be set"]
