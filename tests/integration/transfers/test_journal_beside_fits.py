"""Heartbeats reach the database while links are fitted, however long that takes."""

import os
from pathlib import Path

import httpx
import psycopg
import redis
from prometheus_client.parser import text_string_to_metric_families

from services.processes import run_processes
from services.queue.dispatcher import JOBS_QUEUE, JOURNAL_QUEUE
from services.queue.sessions import JOURNAL
from services.serve import list_commands, list_worker_environments
from services.settings import Settings
from tests.conditions import eventually
from tests.integration.live_transfers import Transfer, client, learned
from tests.integration.models.refreshes import rows, upload
from tests.integration.operations.test_workers import Store
from tests.ports import free_port
from tests.stack import Tenant

__all__ = ["client", "learned"]

QUEUES = {JOBS_QUEUE, JOURNAL_QUEUE}
SEPARATOR = "\x06\x16"
"""Between routing key, pattern and queue, as Celery's transport notes which messages a queue gets."""


def test_heartbeats_are_journalled_while_every_worker_of_fits_is_busy(
    api: str,
    client: httpx.Client,
    learned: Tenant,
    database_url: str,
    admin_database_url: str,
    redis_url: str,
    tmp_path: Path,
) -> None:
    settings = Settings(data_folder=tmp_path, task_workers=1, worker_metrics_port=free_port())
    of_workers = {name: command for name, command in list_commands(settings).items() if name != "api"}
    environment = os.environ | {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    with redis.Redis.from_url(redis_url) as broker, psycopg.connect(admin_database_url, autocommit=True) as admin:
        broker.delete(JOURNAL)
        store = Store(admin, learned)
        with (
            run_processes(
                of_workers, environment | {"TRADEWIND_REFRESH_INTERVAL_S": "0"}, own=list_worker_environments(settings)
            ),
            store.held_up("link_models"),
        ):
            upload(api, learned, rows(destination="slow to fit"))
            eventually(store.waiting)
            transfer = Transfer(client)
            for sequence in range(3):
                transfer.beat(sequence)
            eventually(lambda: broker.xlen(JOURNAL) == 0)
            assert transfer.beat(3)["journalled_sequence"] == 2
            assert store.waiting()
            eventually(lambda: _stored(settings) >= 3)
        bindings = [member.decode().split(SEPARATOR) for member in broker.smembers("_kombu.binding.celery")]
        assert {(binding[0], binding[-1]) for binding in bindings if binding[-1] in QUEUES} == {(q, q) for q in QUEUES}


def _stored(settings: Settings) -> float:
    """Heartbeats that the one place for metrics of all workers tells of."""
    answer = httpx.get(f"http://127.0.0.1:{settings.worker_metrics_port}/metrics")
    return sum(
        sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if sample.name == "tradewind_heartbeats_total" and sample.labels == {"outcome": "stored"}
    )
