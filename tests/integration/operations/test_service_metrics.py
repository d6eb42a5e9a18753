"""What an operator watches of the whole service: rows and queues change, and the metrics tell it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import httpx
import psycopg
import pytest
import redis
from prometheus_client.parser import text_string_to_metric_families

from services.application.monitoring import watch_service
from services.bootstrap import Container, Options, build_container
from services.embedded.valkey import EmbeddedValkey
from services.persistence.database_copies import record_copy
from services.persistence.repositories import stored_state
from services.persistence.repositories.stored_state import BACKUP_SLOT
from services.queue.dispatcher import JOBS_QUEUE
from services.queue.quote_recorder import QUOTES
from services.queue.sessions import JOURNAL
from tests.conditions import eventually
from tests.integration.live_transfers import Transfer
from tests.integration.models.refreshes import Refreshes, rows, upload
from tests.records import record
from tests.stack import Tenant, serving

Scraped = Callable[[], dict[str, float]]


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedValkey]:
    """Queues of our own: nobody else's jobs wait there."""
    with EmbeddedValkey.temporary() as server:
        yield server


@pytest.fixture(autouse=True)
def looked_at_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_service, "CACHE_S", 0.0)


@pytest.fixture
def scraped(api: str) -> Scraped:
    return lambda: samples(api, "/metrics/service")


def samples(address: str, path: str) -> dict[str, float]:
    """Every sample, as ``name label``."""
    answer = httpx.get(f"{address}{path}")
    assert answer.status_code == 200
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_ingest_lag_is_the_age_of_unlearned_rows_until_a_release_learns_them(
    api: str, tenant: Tenant, logs, admin_database_url: str, scraped: Scraped
) -> None:
    assert scraped()["tradewind_ingest_lag_seconds"] == 0
    assert "tradewind_oldest_release_age_seconds" not in scraped()
    upload(api, tenant, rows())
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        admin.execute(
            "UPDATE batches SET received_at = received_at - interval '1 hour' WHERE tenant_id = %s", [tenant.id]
        )
        assert 3600 < scraped()["tradewind_ingest_lag_seconds"] < 3700
        Refreshes(tenant, logs).run_now()
        assert scraped()["tradewind_ingest_lag_seconds"] == 0
        upload(api, tenant, rows(seed=2, first_minute=100))
        assert 0 < scraped()["tradewind_ingest_lag_seconds"] < 100, "the rows of an hour ago are learned"
        admin.execute("UPDATE releases SET published_at = published_at - interval '2 days'")
        age_s = timedelta(seconds=scraped()["tradewind_oldest_release_age_seconds"])
        assert timedelta(days=2) < age_s < timedelta(days=3)


def test_live_transfers_and_heartbeats_that_wait_for_the_journal_are_counted(
    api: str, tenant: Tenant, admin_database_url: str, redis_url: str, scraped: Scraped
) -> None:
    with redis.Redis.from_url(redis_url) as queues, tenant.client(api) as client:
        queues.delete(JOURNAL)
        transfer = Transfer(client)
        for sequence in range(3):
            transfer.beat(sequence)
    found = scraped()
    assert found["tradewind_journal_entries heartbeats"] == 3
    assert found["tradewind_live_transfers"] == 0, "it is not journalled yet"
    with redis.Redis.from_url(redis_url) as client:
        client.xadd(QUOTES, {"written": "long ago"}, id="1-0")
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        admin.execute(
            "INSERT INTO transfers (tenant_id, id, started_at, source, destination, mover, file_count, total_bytes,"
            " sequence, journalled_sequence, bytes_moved, throughput_bps, silent_at)"
            " VALUES (%s, gen_random_uuid(), now(), 'a', 'b', 'native', 1, 1, 0, 0, 0, 0, now() + interval '1 minute')",
            [tenant.id],
        )
    found = scraped()
    assert found["tradewind_live_transfers"] == 1
    assert found["tradewind_journal_age_seconds quotes"] > 1e9
    assert found["tradewind_journal_age_seconds heartbeats"] < 1e3


@pytest.mark.parametrize(
    ("status", "outcome", "other"), [("succeeded", "kept", "missed"), ("failed", "missed", "kept")]
)
def test_each_sla_is_counted_once_as_met_or_missed(
    api: str, tenant: Tenant, status: str, outcome: str, other: str
) -> None:
    def counted(label: str) -> float:
        return samples(api, "/metrics")[f"tradewind_agreements_total {label}"]

    before = {label: counted(label) for label in (outcome, other)}
    with tenant.client(api) as client:
        transfer = Transfer(client, sla={"kind": "throughput_at_least", "target": 1e3})
        transfer.beat(0)
        whole = record(transfer_id=transfer.id, chunk="whole", mover={"name": "tradewind"})
        whole["outcome"]["status"] = status
        for _ in range(2):
            told = {"records": [whole], "heartbeats": [{"heartbeat": transfer.body(1)}]}
            client.post(f"/v1/transfers/{transfer.id}/complete", json=told).raise_for_status()
    assert {label: counted(label) - before[label] for label in before} == {outcome: 1, other: 0}


def test_jobs_that_nobody_takes_lengthen_their_queue(
    api: str, tenant: Tenant, redis_url: str, scraped: Scraped
) -> None:
    before = scraped()
    upload(api, tenant, rows(1))
    assert scraped()[f"tradewind_queue_jobs {JOBS_QUEUE}"] == before[f"tradewind_queue_jobs {JOBS_QUEUE}"] + 1
    with redis.Redis.from_url(redis_url) as client:
        client.hset("unacked", "a", "job")
    assert scraped()["tradewind_taken_jobs"] == 1


def test_unreachable_store_is_reported_and_other_metrics_go_on(database_url: str, redis_url: str) -> None:
    nowhere = "postgresql://tradewind_app@127.0.0.1:1/none"
    with build_container(database_url=nowhere, redis_url=redis_url) as parts, serving(parts) as address:
        found = samples(address, "/metrics/service")
        assert (found["tradewind_watched database"], found["tradewind_watched redis"]) == (0, 1)
        assert found["tradewind_state_told"] == 0
        assert "tradewind_ingest_lag_seconds" not in found
        assert "tradewind_taken_jobs" in found
    with (
        build_container(database_url=database_url, redis_url="redis://127.0.0.1:1/0") as parts,
        serving(parts) as address,
    ):
        found = samples(address, "/metrics/service")
        assert (found["tradewind_watched database"], found["tradewind_watched redis"]) == (1, 0)
        assert "tradewind_ingest_lag_seconds" in found


def test_slow_database_is_not_reported_as_unreachable(
    scraped: Scraped, admin_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_state, "PATIENCE_MS", 100)
    eventually(lambda: scraped()["tradewind_state_told"] == 1)
    with psycopg.connect(admin_database_url) as admin:
        admin.execute("LOCK TABLE transfers IN ACCESS EXCLUSIVE MODE")
        found = scraped()
    assert (found["tradewind_watched database"], found["tradewind_state_told"]) == (1, 0)
    assert "tradewind_ingest_lag_seconds" not in found


def test_stopped_backup_is_reported_where_there_was_one(scraped: Scraped, admin_database_url: str) -> None:
    assert "tradewind_backup_followed" not in scraped()
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        admin.execute("SELECT pg_create_physical_replication_slot(%s, true)", [BACKUP_SLOT])
        try:
            before = scraped()
            admin.execute("SELECT pg_switch_wal()")
            after = scraped()
        finally:
            admin.execute("SELECT pg_drop_replication_slot(%s)", [BACKUP_SLOT])
    assert before["tradewind_backup_followed"] == after["tradewind_backup_followed"] == 0
    assert 0 <= before["tradewind_backup_behind_bytes"] < after["tradewind_backup_behind_bytes"]


def test_age_of_the_newest_backup_is_reported_where_there_is_one(scraped: Scraped, admin_database_url: str) -> None:
    assert "tradewind_backup_copy_age_seconds" not in scraped()
    now = datetime.now(UTC)
    for ended_at in (now - timedelta(days=2), now - timedelta(hours=3), now + timedelta(days=9)):
        record_copy(admin_database_url, ended_at=ended_at, size_bytes=1)
    assert 10_800 <= scraped()["tradewind_backup_copy_age_seconds"] < 11_800
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        admin.execute("DELETE FROM database_copies")


def test_redis_memory_and_free_upload_space_are_reported(api: str, scraped: Scraped, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.config_set("maxmemory", 2**30)
        found = scraped()
        client.config_set("maxmemory", 0)
    assert 0 < found["tradewind_redis_memory_bytes"] < found["tradewind_redis_memory_limit_bytes"] == 2**30
    assert scraped()["tradewind_redis_memory_limit_bytes"] == 0
    assert 0 < samples(api, "/metrics")["tradewind_upload_disk_free_ratio"] <= 1


def test_days_to_export_and_overdue_months_are_reported_where_they_exist(
    api: str, tenant: Tenant, parts: Container, database_url: str, redis_url: str, tmp_path, admin_database_url: str
) -> None:
    assert "tradewind_days_to_export" not in samples(api, "/metrics/service")
    upload(api, tenant, [record(0, started_at="2024-03-01T00:00:00Z", ended_at="2024-03-01T00:01:00Z")])
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        admin.execute("INSERT INTO log_days (tenant_id, day, version) VALUES (%s, '2024-03-01', 1)", [tenant.id])
    options = Options(export_place=str(tmp_path), log_months=12)
    with (
        build_container(database_url=database_url, redis_url=redis_url, options=options) as exporting,
        serving(exporting) as address,
    ):
        found = samples(address, "/metrics/service")
    assert found["tradewind_days_to_export"] == 1
    assert found["tradewind_months_overdue"] == 1
