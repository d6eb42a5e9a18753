"""Drop months of logs once everything that outlives their rows is stored: files, daily sums, sums of statements.

A month is closed first: from then on no upload adds a row to it. Then its days are summed and exported as usual, and
each tenant's statement is sealed. The database checks a month again before it drops it, in the same transaction and
under locks: also that what is billed of it has not changed since it was sealed. An interrupted run leaves a month
closed, or closed and sealed; the next one continues, and seals it again if it has changed.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from services.application.billing.refresh_usage import RefreshUsage
from services.application.billing.usage import Month
from services.application.logs.export import ExportedDay, View, find_folder
from services.application.logs.ports import Lake, MonthsOfLogs
from services.application.shared.events import LogsDropped, LogsRetained, Reporter
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMonth:
    """A month of all tenants' logs in the database; ``rows`` is estimated from its statistics."""

    month: Month
    rows: int
    bytes: int
    closed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysOfMonth:
    """Days of one tenant's month: counts to sum again (``marked``) and to export, and the exported days.

    ``versions`` : grows with each change of the days.
    """

    marked: int
    to_export: int
    versions: int
    exported: Sequence[ExportedDay]

    @property
    def rows(self) -> int:
        """Rows of transfers, both chunks and totals."""
        return sum(day.file.rows for day in self.exported if day.view is View.TRANSFERS)

    @property
    def bytes(self) -> int:
        return sum(day.file.bytes for day in self.exported)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthDue:
    """A month that is due to be dropped; ``obstacles`` : why it is not dropped yet, as sentences."""

    stored: StoredMonth
    obstacles: Sequence[str]
    dropped: bool = False


def find_oldest_retained_month(now: datetime, months: int) -> Month:
    """Return the oldest month whose rows are retained: so many full months before the current one."""
    month = Month.of(now)
    for _ in range(months):
        month = month.before
    return month


@dataclass(frozen=True, slots=True)
class LogRetention:
    """Retains so many full ``months`` of logs before the current one.

    ``exports`` : ``None`` where nothing is exported; then nothing is dropped.
    """

    unit_of_work: Callable[[UUID], UnitOfWork]
    stored: MonthsOfLogs
    exports: Lake | None
    months: int
    clock: Clock
    reporter: Reporter

    def plan(self) -> Sequence[MonthDue]:
        """Return the due months; a run would drop those without an obstacle now."""
        closable = self._find_closable_before()
        return [
            MonthDue(stored=month, obstacles=list(self._find_obstacles(month, closable))) for month in self._list_due()
        ]

    def run(self) -> Sequence[MonthDue]:
        """Close due months, and seal and drop those without obstacles; return all due months."""
        closable = self._find_closable_before()
        if any(month.month < closable and not month.closed for month in self._list_due()):
            with suppress(Unavailable):  # an upload is running: those months stay open until the next run
                self.stored.close(closable)
        return [self._process(month, closable) for month in self._list_due()]

    def _list_due(self) -> Sequence[StoredMonth]:
        oldest = find_oldest_retained_month(self.clock.now(), self.months)
        return [month for month in self.stored.list_stored() if month.month < oldest]

    def _find_closable_before(self) -> Month:
        """Return the month before which months may be closed: no live transfer will be logged in them."""
        oldest = find_oldest_retained_month(self.clock.now(), self.months)
        live_since = self.stored.find_oldest_live_transfer()
        return oldest if live_since is None else min(oldest, Month.of(live_since))

    def _process(self, stored: StoredMonth, closable: Month) -> MonthDue:
        due = MonthDue(stored=stored, obstacles=list(self._find_obstacles(stored, closable)))
        if not due.obstacles:
            due = self._drop(due)
        month = str(stored.month)
        if due.dropped:
            self.reporter.report(LogsDropped(month=month, rows=due.stored.rows, bytes=due.stored.bytes))
        else:
            self.reporter.report(LogsRetained(month=month, reasons=tuple(due.obstacles)))
        return due

    def _drop(self, due: MonthDue) -> MonthDue:
        month = due.stored.month
        if not due.stored.closed:
            return replace(due, obstacles=["logs are being stored; the next run closes the month"])
        try:
            for tenant_id in self.stored.list_tenants(month):
                self._seal(tenant_id, month)
                # The database compares the sealed sums with what is stored of each transfer.
                RefreshUsage(self.unit_of_work).run(tenant_id)
            self.stored.drop(month)
        except Conflict as changed:
            return replace(due, obstacles=[str(changed)])
        except Unavailable:
            return replace(due, obstacles=["the logs are being read or written; the next run tries again"])
        return replace(due, dropped=True)

    def _seal(self, tenant_id: UUID, month: Month) -> None:
        with self.unit_of_work(tenant_id) as uow:
            days, used = uow.month_seals.find_days(month), uow.usage.list_sums(month)
            if uow.month_seals.is_sealed(month, days.versions, used):
                return
            uow.month_seals.seal(month, days, used, at=self.clock.now())
            uow.audit.note("logs.sealed", str(month), rows=days.rows, exported_bytes=days.bytes)
            uow.commit()

    def _find_obstacles(self, stored: StoredMonth, closable: Month) -> Iterator[str]:
        if not stored.closed and stored.month >= closable:
            yield "a transfer that started in it or before is live"
        if self.exports is None:
            yield "nothing is exported; set TRADEWIND_EXPORT"
            return
        for tenant_id in self.stored.list_tenants(stored.month):
            yield from self._find_obstacles_of_tenant(tenant_id, stored.month, self.exports)

    def _find_obstacles_of_tenant(self, tenant_id: UUID, month: Month, exports: Lake) -> Iterator[str]:
        with self.unit_of_work(tenant_id) as uow:
            days = uow.month_seals.find_days(month)
        if days.marked:
            yield f"tenant {tenant_id}: days to sum: {days.marked}"
        if days.to_export:
            yield f"tenant {tenant_id}: days to export: {days.to_export}"
        for day in days.exported:
            if day.current and not exports.holds(tenant_id, day):
                yield f"{find_folder(day.view, tenant_id, day.day)}: the exported file is missing or changed"
