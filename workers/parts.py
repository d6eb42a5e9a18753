"""The use cases of one worker process and their dependencies; those that read logs are in `workers.log_parts`."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import redis
from structlog.typing import FilteringBoundLogger

from services.application.billing.quote_consumer import TENANT, QuoteConsumer
from services.application.billing.refresh_usage import RefreshUsage
from services.application.logs.roll_up import RollUp
from services.application.models.remove_old_releases import ReleaseRetention
from services.application.shared.events import HeartbeatDropped, QuotesDropped, Reporter
from services.application.transfers.heartbeat_consumer import HeartbeatConsumer
from services.application.transfers.stream_consumer import EntryStream, StreamEntry
from services.observability.tracing import Tracing
from services.persistence.store import Store
from services.queue.dispatcher import TIMEOUT_S, Dispatcher, create_job_publisher
from services.queue.entry_stream import RedisEntryStream
from services.queue.quote_recorder import QUOTES
from services.settings import Settings
from services.system_clock import SystemClock
from workers.metrics import WorkerMetrics
from workers.reports import Reports
from workers.traced import TracedStream

if TYPE_CHECKING:
    from workers.log_parts import LogParts


@dataclass(frozen=True)
class WorkerParts:
    """The use cases of this process, and the clients, stores and metrics that they share."""

    settings: Settings
    database_url: str
    store: Store
    dispatcher: Dispatcher
    client: redis.Redis
    retention: ReleaseRetention
    roll_up: RollUp
    refresh_usage: RefreshUsage
    journal: HeartbeatConsumer
    quotes: QuoteConsumer
    reporter: Reporter
    tracing: Tracing | None
    metrics: WorkerMetrics
    log: FilteringBoundLogger

    @classmethod
    def open(
        cls,
        database_url: str,
        redis_url: str,
        *,
        settings: Settings,
        log: FilteringBoundLogger,
        tracing: Tracing | None = None,
    ) -> Self:
        """Create the parts; connections are opened when first used."""
        client = redis.Redis.from_url(redis_url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
        dispatcher = Dispatcher(
            create_job_publisher(redis_url), client, log, dict if tracing is None else tracing.build_headers
        )
        metrics = WorkerMetrics.create()
        reporter = Reports(metrics, log)
        store = Store(database_url, dispatcher)
        retention = ReleaseRetention(store.unit_of_work, settings.retained_releases, reporter)

        journal = _create_heartbeat_journal(client, store, reporter, tracing)
        quotes = _create_quote_journal(client, store, reporter)
        roll_up = RollUp(store.unit_of_work)
        return cls(
            settings=settings,
            database_url=database_url,
            store=store,
            dispatcher=dispatcher,
            client=client,
            retention=retention,
            roll_up=roll_up,
            refresh_usage=RefreshUsage(store.unit_of_work),
            journal=journal,
            quotes=quotes,
            reporter=reporter,
            tracing=tracing,
            metrics=metrics,
            log=log,
        )

    @cached_property
    def of_logs(self) -> "LogParts":
        """Return the use cases that read logs; only workers of jobs load the libraries of numbers for them."""
        from workers.log_parts import LogParts  # noqa: PLC0415 — loads numpy, scipy and pyarrow

        return LogParts.open(self.database_url, self.store, settings=self.settings, reporter=self.reporter)

    def close(self) -> None:
        if "of_logs" in vars(self):
            self.of_logs.close()
        self.store.close()
        self.dispatcher.close()
        self.client.close()
        if self.tracing is not None:
            self.tracing.close()


def _create_heartbeat_journal(
    client: redis.Redis, store: Store, reporter: Reporter, tracing: Tracing | None
) -> HeartbeatConsumer:
    stream: EntryStream = RedisEntryStream(client)
    if tracing is not None:
        stream = TracedStream(stream, tracing)

    def report_dropped(entry: StreamEntry, reason: str) -> None:
        tenant_id, transfer_id = entry.decode("tenant"), entry.decode("transfer")
        reporter.report(
            HeartbeatDropped(entry=entry.token, tenant_id=tenant_id, transfer_id=transfer_id, reason=reason)
        )

    return HeartbeatConsumer(stream, report_dropped, store.unit_of_work, SystemClock())


def _create_quote_journal(client: redis.Redis, store: Store, reporter: Reporter) -> QuoteConsumer:
    def report_dropped(entry: StreamEntry, reason: str) -> None:
        reporter.report(QuotesDropped(entry=entry.token, tenant_id=entry.decode(TENANT), reason=reason))

    return QuoteConsumer(RedisEntryStream(client, QUOTES), report_dropped, store.unit_of_work)
