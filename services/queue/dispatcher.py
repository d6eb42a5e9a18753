"""Send events after a commit: jobs to Celery by name, notices to every process.

Redis may be unreachable: that loses neither a row nor an answer.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields

import redis
from celery import Celery
from kombu.exceptions import OperationalError
from structlog.contextvars import get_contextvars
from structlog.typing import FilteringBoundLogger

from services.application.shared.jobs import REQUEST_ID, Event, Job, Notice
from services.queue.notices import CHANNEL, encode

JOBS_QUEUE = "celery"
"""Queue of jobs: fits, releases, removals. The name is Celery's own default."""

JOURNAL_QUEUE = "journal"
"""Queue of the journals of heartbeats and quotes, with workers of its own, so that no fit delays it."""

TIMEOUT_S = 2.0
"""How long a request may wait for a broker that does not answer."""


def create_job_publisher(redis_url: str) -> Celery:
    """Return a Celery application that only sends: the workers define the tasks."""
    celery = Celery("tradewind", broker=redis_url, set_as_current=False)
    celery.conf.update(
        broker_connection_timeout=TIMEOUT_S,
        broker_transport_options={"socket_timeout": TIMEOUT_S, "socket_connect_timeout": TIMEOUT_S},
        task_ignore_result=True,
        task_serializer="json",
    )
    return celery


class Dispatcher:
    """Sends events; one that cannot be sent is logged and left to the workers' sweep."""

    def __init__(
        self,
        celery: Celery,
        client: redis.Redis,
        log: FilteringBoundLogger,
        carried: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """Prepare to send; ``carried`` : returns the trace headers of a job."""
        self._carried = carried
        self._celery = celery
        self._client = client
        self._log = log

    def send(self, event: Event) -> None:
        try:
            if isinstance(event, Notice):
                self._client.publish(CHANNEL, encode(event))
            else:
                self._send_job(event)
        except (redis.RedisError, OperationalError) as away:
            self._log.warning("event.not_sent", kind=type(event).__name__, reason=str(away))

    def _send_job(self, job: Job) -> None:
        values = {field.name: getattr(job, field.name) for field in fields(job)}
        arguments = {name: value if isinstance(value, int) else str(value) for name, value in values.items()}
        headers = dict(self._carried())
        if request_id := get_contextvars().get(REQUEST_ID):
            headers[REQUEST_ID] = request_id
        self._celery.send_task(job.name, kwargs=arguments, headers=headers, retry=False)

    def close(self) -> None:
        self._celery.close()
