"""What one worker process works with."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Self

import redis
from structlog.typing import FilteringBoundLogger

from services.application.refresh_models import Refresh
from services.bootstrap import SystemClock
from services.persistence.log_reader import LogReader
from services.persistence.store import Store
from services.queue.dispatcher import PATIENCE_S, Dispatcher, job_publisher
from services.settings import Settings
from tradewind.errors import InvalidValue
from workers.learner import Learner


@dataclass(frozen=True)
class WorkerParts:
    """The use cases of this process, and what they are made of."""

    store: Store
    logs: LogReader
    dispatcher: Dispatcher
    refresh: Refresh
    log: FilteringBoundLogger

    @classmethod
    def open(cls, settings: Settings, *, log: FilteringBoundLogger) -> Self:
        """Connect to the database and the broker that the settings name.

        Raises
        ------
        InvalidValue : a worker has no embedded servers; it must be told where they are.
        """
        if settings.database_url is None or settings.redis_url is None:
            raise InvalidValue("DATABASE_URL and REDIS_URL", "must be set for workers")
        client = redis.Redis.from_url(settings.redis_url, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S)
        dispatcher = Dispatcher(job_publisher(settings.redis_url), client, log)
        store = Store(settings.database_url, dispatcher)
        logs = LogReader(settings.database_url)
        refresh = Refresh(
            unit_of_work=store.unit_of_work,
            logs=logs,
            learner=Learner(),
            clock=SystemClock(),
            interval=timedelta(seconds=settings.refresh_interval_s),
        )
        return cls(store, logs, dispatcher, refresh, log)

    def close(self) -> None:
        self.logs.close()
        self.store.close()
        self.dispatcher.close()
