"""The Celery application: ``celery -A workers.app worker`` and ``beat``.

A task is acknowledged when it is done, and redelivered when its process dies; every task may therefore run twice and
does nothing the second time. Each worker process opens its own connections after the fork.
"""

import os
import sys
from datetime import timedelta
from pathlib import Path

from celery import Celery, signals

from services.settings import Settings
from services.telemetry import logger
from workers.parts import WorkerParts
from workers.schedule import beat_schedule

VISIBILITY_TIMEOUT_S = 600
"""A message whose worker host died is delivered again after this long; the sweep is faster."""

MAX_TASKS_A_PROCESS = 2_000
"""A process is replaced after this many tasks, so that fragmentation of its heap has an end."""


def application(settings: Settings) -> Celery:
    """The application on one broker; its worker processes fill ``app.parts`` when they start."""
    app = Celery("tradewind", broker=settings.redis_url, include=["workers.tasks"], set_as_current=False)
    app.conf.update(
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        worker_max_tasks_per_child=MAX_TASKS_A_PROCESS,
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        broker_transport_options={"visibility_timeout": VISIBILITY_TIMEOUT_S},
        broker_connection_retry_on_startup=True,
        worker_hijack_root_logger=False,
        timezone="UTC",
        beat_schedule=beat_schedule(sweep_every=timedelta(seconds=settings.sweep_interval_s)),
    )

    @signals.worker_process_init.connect(weak=False)
    def open_parts(**_: object) -> None:
        app.parts = WorkerParts.open(settings, log=logger("worker", output=sys.stderr))

    @signals.worker_process_shutdown.connect(weak=False)
    def close_parts(**_: object) -> None:
        app.parts.close()

    return app


app = application(Settings.from_environment(os.environ, data_folder=Path("var")))
