"""Tasks: each turns a message into a job and hands it to its use case."""

from uuid import UUID

from celery import shared_task

from services.application.shared.events import (
    DaysRolledUp,
    HeartbeatsJournalled,
    JournalWaits,
    LongReadsEnded,
    QuotesJournalled,
    Swept,
)
from services.application.shared.jobs import ExportLogs, FitLink, RefreshModels, RemoveOldReleases
from services.application.warehouse.query import LONGEST_TRANSACTION
from tradewind.errors import Unavailable
from workers.schedule import END_LONG_READS, EXPORT, JOURNAL, QUOTES, RETAIN, ROLL_UP, SWEEP
from workers.task import TimedTask


@shared_task(bind=True, base=TimedTask, name=RefreshModels.name)
def refresh_models(self: TimedTask, tenant_id: str) -> None:
    self.parts.refresh.begin(RefreshModels(UUID(tenant_id)))


@shared_task(bind=True, base=TimedTask, name=FitLink.name)
def fit_link(self: TimedTask, tenant_id: str, release_id: int, link_id: str) -> None:
    self.parts.refresh.fit(FitLink(UUID(tenant_id), release_id, UUID(link_id)), is_retry=self.is_retry)


@shared_task(bind=True, base=TimedTask, name=RemoveOldReleases.name)
def remove_old_releases(self: TimedTask, tenant_id: str) -> None:
    self.parts.retention.remove(RemoveOldReleases(UUID(tenant_id)))


@shared_task(bind=True, base=TimedTask, name=SWEEP, by_clock=True)
def sweep(self: TimedTask) -> None:
    """Find work whose job was lost between commit and publish, or that waited for its interval, and what is too old."""
    registry, dispatcher = self.parts.store.registry, self.parts.dispatcher
    waiting, grown = registry.tenants_with_work(), registry.tenants_with_old_releases(self.parts.retention.kept)
    for tenant_id in waiting:
        dispatcher.send(RefreshModels(tenant_id))
    for tenant_id in grown:
        dispatcher.send(RemoveOldReleases(tenant_id))
    self.parts.reporter.report(Swept(tenants_with_work=len(waiting), tenants_with_old_releases=len(grown)))


@shared_task(bind=True, base=TimedTask, name=JOURNAL, by_clock=True)
def journal_heartbeats(self: TimedTask) -> None:
    """Store the heartbeats that were answered since the last run."""
    try:
        run = self.parts.journal.run()
    except Unavailable as away:  # not tried again: the next run by the clock takes the same entries
        self.parts.reporter.report(JournalWaits(reason=str(away)))
        return
    if run.stored or run.dropped:
        self.parts.reporter.report(HeartbeatsJournalled(stored=run.stored, dropped=run.dropped))


@shared_task(bind=True, base=TimedTask, name=QUOTES, by_clock=True)
def journal_quotes(self: TimedTask) -> None:
    """Store what was quoted since the last run."""
    try:
        run = self.parts.quotes.run()
    except Unavailable as away:
        self.parts.reporter.report(JournalWaits(reason=str(away)))
        return
    if run.stored or run.dropped:
        self.parts.reporter.report(QuotesJournalled(stored=run.stored, dropped=run.dropped))


@shared_task(bind=True, base=TimedTask, name=ROLL_UP, by_clock=True)
def roll_up(self: TimedTask) -> None:
    """Add up anew the days whose rows have changed since the last run."""
    for tenant_id in self.parts.store.registry.tenants_with_changed_days():
        if days := self.parts.roll_up.run(tenant_id):
            self.parts.reporter.report(DaysRolledUp(tenant_id=tenant_id, days=days))


@shared_task(bind=True, base=TimedTask, name=ExportLogs.name)
def export_logs(self: TimedTask, tenant_id: str) -> None:
    self.parts.export.run(ExportLogs(UUID(tenant_id)))


@shared_task(bind=True, base=TimedTask, name=EXPORT, by_clock=True)
def export(self: TimedTask) -> None:
    """Have each tenant's changed days exported; what is not over by the next night goes on then."""
    if self.parts.export.lake is None:
        return
    today = self.parts.export.clock.now().date()
    for tenant_id in self.parts.store.registry.tenants_with_days_to_export(today):
        self.parts.dispatcher.send(ExportLogs(tenant_id))


@shared_task(bind=True, base=TimedTask, name=END_LONG_READS, by_clock=True)
def end_long_reads(self: TimedTask) -> None:
    """End the sessions of analysts' tools whose transaction goes on for too long: it holds what it has read."""
    if sessions := self.parts.store.reads.end_long(LONGEST_TRANSACTION):
        self.parts.reporter.report(LongReadsEnded(sessions=sessions))


@shared_task(bind=True, base=TimedTask, name=RETAIN, by_clock=True)
def retain(self: TimedTask) -> None:
    """Drop the months of logs that are not to be kept, once they are exported."""
    if self.parts.log_retention is not None:
        self.parts.log_retention.run()
