"""The use cases of one worker process and their dependencies."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Self

import redis
from structlog.typing import FilteringBoundLogger

from services.application.billing.journal_quotes import TENANT, QuoteJournal
from services.application.logs.export import Export
from services.application.logs.retain import LogRetention
from services.application.logs.roll_up import RollUp
from services.application.models.refresh import Refresh
from services.application.models.remove_old_releases import ReleaseRetention
from services.application.shared.events import HeartbeatDropped, QuotesDropped, Reporter
from services.application.transfers.journal_heartbeats import HeartbeatJournal
from services.application.transfers.stream_journal import EntryStream, StreamEntry
from services.observability.tracing import Tracing
from services.persistence.lake import ParquetLake, open_storage
from services.persistence.log_reader import LogReader
from services.persistence.store import Store
from services.queue.dispatcher import PATIENCE_S, Dispatcher, create_job_publisher
from services.queue.journal_stream import JournalStream
from services.queue.quote_recorder import QUOTES
from services.settings import Settings
from services.system_clock import SystemClock
from workers.learner import Learner
from workers.metrics import WorkerMetrics
from workers.reports import Reports
from workers.traced import TracedStream


@dataclass(frozen=True)
class WorkerParts:
    """The use cases of this process, and the clients, stores and metrics that they share."""

    store: Store
    logs: LogReader
    dispatcher: Dispatcher
    client: redis.Redis
    refresh: Refresh
    retention: ReleaseRetention
    roll_up: RollUp
    export: Export
    log_retention: LogRetention | None
    journal: HeartbeatJournal
    quotes: QuoteJournal
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
        client = redis.Redis.from_url(redis_url, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S)
        dispatcher = Dispatcher(
            create_job_publisher(redis_url), client, log, dict if tracing is None else tracing.carried
        )
        metrics = WorkerMetrics.create()
        reporter = Reports(metrics, log)
        store, logs = Store(database_url, dispatcher), LogReader(database_url)
        refresh = Refresh(
            unit_of_work=store.unit_of_work,
            logs=logs,
            learner=Learner(),
            clock=SystemClock(),
            interval=timedelta(seconds=settings.refresh_interval_s),
            stale_after=timedelta(seconds=settings.sweep_interval_s),
            reporter=reporter,
        )
        retention = ReleaseRetention(store.unit_of_work, settings.retained_releases, reporter)

        journal = _create_heartbeat_journal(client, store, reporter, tracing)
        quotes = _create_quote_journal(client, store, reporter)
        roll_up = RollUp(store.unit_of_work)
        lake = None if settings.export_place is None else ParquetLake(open_storage(settings.export_place), logs)
        log_retention = None
        if settings.log_months is not None:
            log_retention = LogRetention(
                store.unit_of_work, store.months_of_logs, lake, settings.log_months, SystemClock(), reporter
            )
        export = Export(store.unit_of_work, lake, SystemClock(), reporter)
        return cls(
            store=store,
            logs=logs,
            dispatcher=dispatcher,
            client=client,
            refresh=refresh,
            retention=retention,
            roll_up=roll_up,
            export=export,
            log_retention=log_retention,
            journal=journal,
            quotes=quotes,
            reporter=reporter,
            tracing=tracing,
            metrics=metrics,
            log=log,
        )

    def close(self) -> None:
        self.logs.close()
        self.store.close()
        self.dispatcher.close()
        self.client.close()
        if self.tracing is not None:
            self.tracing.close()


def _create_heartbeat_journal(
    client: redis.Redis, store: Store, reporter: Reporter, tracing: Tracing | None
) -> HeartbeatJournal:
    stream: EntryStream = JournalStream(client)
    if tracing is not None:
        stream = TracedStream(stream, tracing)

    def report_dropped(entry: StreamEntry, reason: str) -> None:
        tenant_id, transfer_id = entry.decode("tenant"), entry.decode("transfer")
        reporter.report(
            HeartbeatDropped(entry=entry.token, tenant_id=tenant_id, transfer_id=transfer_id, reason=reason)
        )

    return HeartbeatJournal(stream, report_dropped, store.unit_of_work, SystemClock())


def _create_quote_journal(client: redis.Redis, store: Store, reporter: Reporter) -> QuoteJournal:
    def report_dropped(entry: StreamEntry, reason: str) -> None:
        reporter.report(QuotesDropped(entry=entry.token, tenant_id=entry.decode(TENANT), reason=reason))

    return QuoteJournal(JournalStream(client, QUOTES), report_dropped, store.unit_of_work)
