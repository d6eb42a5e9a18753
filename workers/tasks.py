"""Celery tasks: each converts a message to a job and passes it to its use case."""

from collections.abc import Callable, Iterable
from uuid import UUID

from celery import shared_task

from services.application.shared.events import (
    DaysRolledUp,
    HeartbeatsJournalled,
    JournalWaits,
    LongReadsEnded,
    QuotesJournalled,
    Swept,
    UsageRefreshed,
)
from services.application.shared.jobs import ExportLogs, FitLink, RefreshModels, RemoveOldReleases
from services.application.warehouse.query import LONGEST_TRANSACTION
from tradewind.errors import Unavailable
from workers.schedule import END_LONG_READS, EXPORT, JOURNAL, QUOTES, REFRESH_USAGE, RETAIN, ROLL_UP, SWEEP
from workers.task import TimedTask


@shared_task(bind=True, base=TimedTask, name=RefreshModels.name)
def refresh_models(self: TimedTask, tenant_id: str) -> None:
    self.parts.of_logs.refresh.start(RefreshModels(UUID(tenant_id)))


@shared_task(bind=True, base=TimedTask, name=FitLink.name)
def fit_link(self: TimedTask, tenant_id: str, release_id: int, link_id: str) -> None:
    self.parts.of_logs.refresh.fit(FitLink(UUID(tenant_id), release_id, UUID(link_id)), is_retry=self.is_retry)


@shared_task(bind=True, base=TimedTask, name=RemoveOldReleases.name)
def remove_old_releases(self: TimedTask, tenant_id: str) -> None:
    self.parts.retention.remove(RemoveOldReleases(UUID(tenant_id)))


@shared_task(bind=True, base=TimedTask, name=SWEEP, by_clock=True)
def sweep(self: TimedTask) -> None:
    """Send jobs that were lost between commit and publish or waited for their interval, and remove old releases."""
    registry, dispatcher = self.parts.store.registry, self.parts.dispatcher
    to_refresh, to_shrink = (
        registry.list_tenants_with_work(),
        registry.list_tenants_with_old_releases(self.parts.retention.retained),
    )
    for tenant_id in to_refresh:
        dispatcher.send(RefreshModels(tenant_id))
    for tenant_id in to_shrink:
        dispatcher.send(RemoveOldReleases(tenant_id))
    self.parts.reporter.report(Swept(tenants_with_work=len(to_refresh), tenants_with_old_releases=len(to_shrink)))


@shared_task(bind=True, base=TimedTask, name=JOURNAL, by_clock=True)
def journal_heartbeats(self: TimedTask) -> None:
    """Store the heartbeats answered since the last run."""
    try:
        run = self.parts.journal.run()
    except Unavailable as error:  # no retry: the next run by the clock takes the same entries
        self.parts.reporter.report(JournalWaits(reason=str(error)))
        return
    if run.stored or run.dropped:
        self.parts.reporter.report(HeartbeatsJournalled(stored=run.stored, dropped=run.dropped))


@shared_task(bind=True, base=TimedTask, name=QUOTES, by_clock=True)
def journal_quotes(self: TimedTask) -> None:
    """Store the quotes given since the last run."""
    try:
        run = self.parts.quotes.run()
    except Unavailable as error:
        self.parts.reporter.report(JournalWaits(reason=str(error)))
        return
    if run.stored or run.dropped:
        self.parts.reporter.report(QuotesJournalled(stored=run.stored, dropped=run.dropped))


@shared_task(bind=True, base=TimedTask, name=ROLL_UP, by_clock=True)
def roll_up(self: TimedTask) -> None:
    """Sum the days again whose rows changed since the last run."""

    def sum_days(tenant_id: UUID) -> None:
        if days := self.parts.roll_up.run(tenant_id):
            self.parts.reporter.report(DaysRolledUp(tenant_id=tenant_id, days=days))

    _run_for_each(self.parts.store.registry.list_tenants_with_changed_days(), sum_days)


@shared_task(bind=True, base=TimedTask, name=REFRESH_USAGE, by_clock=True)
def refresh_usage(self: TimedTask) -> None:
    """Compute again what is billed of transfers that changed since the last run."""

    def compute(tenant_id: UUID) -> None:
        if transfers := self.parts.refresh_usage.run(tenant_id):
            self.parts.reporter.report(UsageRefreshed(tenant_id=tenant_id, transfers=transfers))

    _run_for_each(self.parts.store.registry.list_tenants_with_changed_usage(), compute)


def _run_for_each(tenant_ids: Iterable[UUID], run: Callable[[UUID], None]) -> None:
    """Run for each tenant, and raise what failed once the others are done: rows of one tenant stop no other.

    While the store is unreachable no tenant is tried further.

    Raises
    ------
    ExceptionGroup : several tenants failed; each error has a note with its tenant.
    """
    failures: list[Exception] = []
    for tenant_id in tenant_ids:
        try:
            run(tenant_id)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001  # raised after the others
            error.add_note(f"tenant {tenant_id}")
            failures.append(error)
    if len(failures) > 1:
        raise ExceptionGroup("several tenants failed", failures)
    if failures:
        raise failures[0]


@shared_task(bind=True, base=TimedTask, name=ExportLogs.name)
def export_logs(self: TimedTask, tenant_id: str) -> None:
    self.parts.of_logs.export.run(ExportLogs(UUID(tenant_id)))


@shared_task(bind=True, base=TimedTask, name=EXPORT, by_clock=True)
def export(self: TimedTask) -> None:
    """Send a job to export each tenant's changed days; one that is not done by the next night continues then."""
    if self.parts.of_logs.export.lake is None:
        return
    today = self.parts.of_logs.export.clock.now().date()
    for tenant_id in self.parts.store.registry.list_tenants_with_days_to_export(today):
        self.parts.dispatcher.send(ExportLogs(tenant_id))


@shared_task(bind=True, base=TimedTask, name=END_LONG_READS, by_clock=True)
def end_long_reads(self: TimedTask) -> None:
    """End the sessions of analysts' tools whose transaction lasts too long: it holds locks on what it read."""
    if sessions := self.parts.store.reads.end_long(LONGEST_TRANSACTION):
        self.parts.reporter.report(LongReadsEnded(sessions=sessions))


@shared_task(bind=True, base=TimedTask, name=RETAIN, by_clock=True)
def retain(self: TimedTask) -> None:
    """Drop the months of logs that are older than the setting, once they are exported."""
    if (retention := self.parts.of_logs.retention) is not None:
        retention.run()
