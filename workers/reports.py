"""Facts of the use cases as log lines and metrics."""

from dataclasses import asdict
from typing import Any

from structlog.typing import FilteringBoundLogger

from services.application.shared.events import (
    DaysRolledUp,
    HeartbeatDropped,
    HeartbeatsJournalled,
    JournalWaits,
    LinkFitted,
    LinkRefused,
    LogsDropped,
    LogsExported,
    LogsRetained,
    LongReadsEnded,
    OldReleasesRemoved,
    QuotesDropped,
    QuotesJournalled,
    ReleasePublished,
    ReleaseRefused,
    Swept,
    WorkEvent,
)
from services.application.shared.jobs import RefreshModels, RemoveOldReleases
from services.observability.telemetry import Event
from workers.metrics import WorkerMetrics

EVENT_OF = {
    LinkFitted: Event.LINK_FITTED,
    LinkRefused: Event.LINK_REFUSED,
    ReleasePublished: Event.RELEASE_PUBLISHED,
    ReleaseRefused: Event.RELEASE_REFUSED,
    OldReleasesRemoved: Event.OLD_RELEASES_REMOVED,
    DaysRolledUp: Event.DAYS_ROLLED_UP,
    LogsExported: Event.LOGS_EXPORTED,
    LogsDropped: Event.LOGS_DROPPED,
    LogsRetained: Event.LOGS_KEPT,
    LongReadsEnded: Event.LONG_READS_ENDED,
    Swept: Event.SWEPT,
    HeartbeatsJournalled: Event.HEARTBEATS_JOURNALLED,
    HeartbeatDropped: Event.HEARTBEAT_DROPPED,
    QuotesJournalled: Event.QUOTES_JOURNALLED,
    QuotesDropped: Event.QUOTES_DROPPED,
    JournalWaits: Event.JOURNAL_WAITS,
}


class Reports:
    """Tells each fact to the log and counts it."""

    def __init__(self, metrics: WorkerMetrics, log: FilteringBoundLogger) -> None:
        self._metrics = metrics
        self._log = log

    def report(self, fact: WorkEvent) -> None:
        self._count(fact)
        self._log.info(EVENT_OF[type(fact)], **_told(fact))

    def _count(self, fact: WorkEvent) -> None:
        metrics = self._metrics
        match fact:
            case LinkFitted():
                metrics.fit_seconds.labels("fitted").observe(fact.duration_s)
                metrics.fitted_rows.inc(fact.rows)
            case LinkRefused():
                metrics.fit_seconds.labels("refused").observe(fact.duration_s)
                metrics.gate_failures.inc(fact.verdict is not None and not fact.verdict.passed)
            case ReleasePublished():
                metrics.releases.labels("published").inc()
                metrics.release_seconds.observe(fact.building_s)
            case ReleaseRefused():
                metrics.releases.labels("refused").inc()
            case OldReleasesRemoved():
                metrics.removed.labels("releases").inc(fact.releases)
                metrics.removed.labels("models").inc(fact.models)
            case DaysRolledUp():
                metrics.rolled_up_days.inc(fact.days)
            case Swept():
                metrics.tenants_with_work.set(fact.tenants_with_work)
                metrics.swept_jobs.labels(RefreshModels.name).inc(fact.tenants_with_work)
                metrics.swept_jobs.labels(RemoveOldReleases.name).inc(fact.tenants_with_old_releases)
                metrics.last_sweep.set_to_current_time()
            case _:
                self._count_entries(fact)

    def _count_entries(self, fact: WorkEvent) -> None:
        """Of the streams whose entries are journalled."""
        metrics = self._metrics
        match fact:
            case LogsExported():
                metrics.exported_rows.inc(fact.rows)
            case HeartbeatsJournalled():
                metrics.heartbeats.labels("stored").inc(fact.stored)
                metrics.heartbeats.labels("dropped").inc(fact.dropped)
            case QuotesJournalled():
                metrics.quotes.labels("stored").inc(fact.stored)
                metrics.quotes.labels("dropped").inc(fact.dropped)
            case (
                HeartbeatDropped()
                | QuotesDropped()
                | JournalWaits()
                | LogsDropped()
                | LogsRetained()
                | LongReadsEnded()
            ):
                pass  # counted with the run, as an outcome of its task, or too rare to be


def _told(fact: WorkEvent) -> dict[str, Any]:
    """The fact's fields as a log line has them: identifiers as text, a verdict as its figures."""
    told = {name: str(value) if name in ("tenant_id", "link_id") else value for name, value in asdict(fact).items()}
    if isinstance(fact, LinkFitted | LinkRefused):
        told["verdict"] = fact.verdict.metrics() if fact.verdict else None
    return told
