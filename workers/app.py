"""The Celery application: ``celery -A workers.app worker`` and ``beat``.

A task is acknowledged when it is done, and redelivered when its process dies; every task may therefore run twice and
does nothing the second time. Each worker process opens its own connections after the fork.
"""

import os
import sys
import time
import warnings
from collections.abc import Mapping
from datetime import timedelta
from importlib import import_module
from pathlib import Path

from celery import Celery, signals
from celery.platforms import SecurityWarning
from celery.worker import WorkController
from kombu.entity import Queue
from threadpoolctl import threadpool_limits

from services.observability.telemetry import create_logger
from services.observability.tracing import check_tracing, create_tracing
from services.persistence.address import parse_libpq_url
from services.persistence.condition import create_readiness_check
from services.queue.dispatcher import JOBS_QUEUE, JOURNAL_QUEUE
from services.readiness import Readiness
from services.settings import Settings
from tradewind.errors import InvalidValue
from workers.broker import Broker
from workers.metrics import reset_counts, serve_metrics
from workers.parts import WorkerParts
from workers.schedule import JOURNAL, QUOTES, build_beat_schedule
from workers.task import TimedTask

VISIBILITY_TIMEOUT_S = 600
"""A message whose worker host died is delivered again after this long; the sweep is faster."""

WAIT_S = 1.0
"""Time between two checks of a database that is unreachable, or whose migrations have not run."""

MAX_TASKS_A_PROCESS = 2_000
"""A process is replaced after this many tasks, which bounds the fragmentation of its heap."""


def create_application(settings: Settings) -> Celery:
    """Return the application on one broker; its worker processes set ``app.parts`` when they start.

    Raises
    ------
    InvalidValue : the addresses of the servers are missing (a worker has no embedded ones), or the metrics folder.
    """
    database_url = settings.required_database_url
    redis_url = settings.required_redis_url
    metrics = settings.worker_metrics
    parse_libpq_url(database_url)
    check_tracing(os.environ)
    app = _create_celery(redis_url, sweep_every=timedelta(seconds=settings.sweep_interval_s))
    app.conf.worker_concurrency = settings.task_workers  # unless the command line says --concurrency

    signals.celeryd_after_setup.connect(_load_numerics, weak=False)

    @signals.celeryd_init.connect(weak=False)
    def accept_root(**_: object) -> None:
        # In a container, and next to servers that admit only their own user, workers run as root. The warning is about
        # pickled messages, which are rejected.
        warnings.simplefilter("ignore", SecurityWarning)

    @signals.worker_init.connect(weak=False)
    def open_metrics(**_: object) -> None:
        if settings.worker_metrics_folder is not None:
            reset_counts(settings.worker_metrics_folder)
        if metrics is not None:
            host, port, folder = metrics
            try:
                serve_metrics(host, port, folder)
            except OSError as error:
                raise SystemExit(f"workers: TRADEWIND_WORKER_METRICS_PORT: {port}: {error.strerror}") from None

    @signals.worker_init.connect(weak=False)
    def wait_for_the_store(**_: object) -> None:
        # A task without tables would fail after a few retries; the broker stores it for any time.
        readiness = Readiness((create_readiness_check(database_url),), create_logger("worker", output=sys.stderr))
        readiness.wait(lambda: time.sleep(WAIT_S))

    @signals.worker_process_init.connect(weak=False)
    def open_parts(**_: object) -> None:
        threadpool_limits(1)  # processes share the cores already; busy waiting between threads would waste them
        log = create_logger("worker", output=sys.stderr)
        tracing = create_tracing(os.environ, service="tradewind-worker", log=log, trusted=True)
        app.parts = WorkerParts.open(database_url, redis_url, settings=settings, log=log, tracing=tracing)
        app.parts.metrics.expect(name for name, task in app.tasks.items() if isinstance(task, TimedTask))

    @signals.worker_process_shutdown.connect(weak=False)
    def close_parts(**_: object) -> None:
        app.parts.close()

    return app


def _load_numerics(instance: WorkController, **_: object) -> None:
    """Load the libraries of a worker of jobs before it forks: its processes then share their memory."""
    if JOBS_QUEUE in instance.app.amqp.queues.consume_from:
        import_module("workers.log_parts")


def _create_celery(redis_url: str, *, sweep_every: timedelta) -> Celery:
    app = Celery("tradewind", broker=redis_url, amqp=Broker, include=["workers.tasks"], set_as_current=False)
    app.conf.update(
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        worker_max_tasks_per_child=MAX_TASKS_A_PROCESS,
        # A worker without a named queue takes both; see services.serve for workers of each.
        task_queues=[Queue(name, routing_key=name) for name in (JOBS_QUEUE, JOURNAL_QUEUE)],  # type: ignore[no-untyped-call]  # kombu's
        task_default_queue=JOBS_QUEUE,
        task_routes={name: {"queue": JOURNAL_QUEUE} for name in (JOURNAL, QUOTES)},
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        broker_transport_options={"visibility_timeout": VISIBILITY_TIMEOUT_S},
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,  # a broker may be unreachable for a night
        broker_channel_error_retry=True,  # or refuse to write, as on a full disk
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,  # our log lines are JSON already
        timezone="UTC",
        beat_schedule=build_beat_schedule(sweep_every=sweep_every),
    )
    return app


def from_environment(environment: Mapping[str, str]) -> Celery:
    """Return the application that the environment describes; exit with one line if a setting is invalid."""
    try:
        return create_application(Settings.from_environment(environment, data_folder=Path("var")))
    except InvalidValue as wrong:
        raise SystemExit(f"workers: {wrong}") from None


app = from_environment(os.environ)
