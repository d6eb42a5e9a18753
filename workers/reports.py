"""Write the events of use cases to the log and count them in metrics."""

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
    LogsCompacted,
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
    UsageRefreshed,
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
    UsageRefreshed: Event.USAGE_REFRESHED,
    LogsExported: Event.LOGS_EXPORTED,
    LogsCompacted: Event.LOGS_COMPACTED,
    LogsDropped: Event.LOGS_DROPPED,
    LogsRetained: Event.LOGS_RETAINED,
    LongReadsEnded: Event.LONG_READS_ENDED,
    Swept: Event.SWEPT,
    HeartbeatsJournalled: Event.HEARTBEATS_JOURNALLED,
    HeartbeatDropped: Event.HEARTBEAT_DROPPED,
    QuotesJournalled: Event.QUOTES_JOURNALLED,
    QuotesDropped: Event.QUOTES_DROPPED,
    JournalWaits: Event.JOURNAL_WAITS,
}


class Reports:
    """A reporter that logs each event and counts it."""

    def __init__(self, metrics: WorkerMetrics, log: FilteringBoundLogger) -> None:
        self._metrics = metrics
        self._log = log

    def report(self, event: WorkEvent) -> None:
        self._count(event)
        self._log.info(EVENT_OF[type(event)], **_to_log_fields(event))

    def _count(self, event: WorkEvent) -> None:
        metrics = self._metrics
        match event:
            case LinkFitted():
                metrics.fit_seconds.labels("fitted").observe(event.duration_s)
                metrics.fitted_rows.inc(event.rows)
            case LinkRefused():
                metrics.fit_seconds.labels("refused").observe(event.duration_s)
                metrics.gate_failures.inc(event.verdict is not None and not event.verdict.passed)
            case ReleasePublished():
                metrics.releases.labels("published").inc()
                metrics.release_seconds.observe(event.building_s)
            case ReleaseRefused():
                metrics.releases.labels("refused").inc()
            case OldReleasesRemoved():
                metrics.removed.labels("releases").inc(event.releases)
                metrics.removed.labels("models").inc(event.models)
            case DaysRolledUp():
                metrics.rolled_up_days.inc(event.days)
            case UsageRefreshed():
                metrics.refreshed_usage.inc(event.transfers)
            case Swept():
                metrics.tenants_with_work.set(event.tenants_with_work)
                metrics.swept_jobs.labels(RefreshModels.name).inc(event.tenants_with_work)
                metrics.swept_jobs.labels(RemoveOldReleases.name).inc(event.tenants_with_old_releases)
                metrics.last_sweep.set_to_current_time()
            case _:
                self._count_entries(event)

    def _count_entries(self, event: WorkEvent) -> None:
        """Count events of journals and exports, and ignore those that have no metric of their own."""
        metrics = self._metrics
        match event:
            case LogsExported():
                metrics.exported_rows.inc(event.rows)
            case HeartbeatsJournalled():
                metrics.heartbeats.labels("stored").inc(event.stored)
                metrics.heartbeats.labels("dropped").inc(event.dropped)
            case QuotesJournalled():
                metrics.quotes.labels("stored").inc(event.stored)
                metrics.quotes.labels("dropped").inc(event.dropped)
            case (
                HeartbeatDropped()
                | QuotesDropped()
                | JournalWaits()
                | LogsCompacted()
                | LogsDropped()
                | LogsRetained()
                | LongReadsEnded()
            ):
                pass  # counted with the run or as an outcome of the task, or too rare


def _to_log_fields(event: WorkEvent) -> dict[str, Any]:
    """Return the event's fields for a log line: identifiers as text, a verdict as its metrics."""
    fields = {name: str(value) if name in ("tenant_id", "link_id") else value for name, value in asdict(event).items()}
    if isinstance(event, LinkFitted | LinkRefused):
        fields["verdict"] = event.verdict.list_metrics() if event.verdict else None
    return fields
