"""Months of logs go once all that outlives their rows is kept: files, daily rollups, and the sums of statements.

A month is closed first: from then on no upload adds a row to it, whoever sends it. Then its days are made and exported
as ever, and each tenant's statement is sealed. What is dropped was looked at once more by the database, in the same
transaction and under a lock. An interrupted run has left a month closed, or closed and sealed; the next one goes on.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from services.application.billing.usage import Month
from services.application.logs.export import ExportedDay, View, folder_of
from services.application.logs.ports import Lake, MonthsOfLogs
from services.application.shared.events import LogsDropped, LogsRetained, Reporter
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMonth:
    """A month of all tenants' logs in the database; ``rows`` as its statistics estimate them."""

    month: Month
    rows: int
    bytes: int
    closed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysOfMonth:
    """Of one tenant: days to be added up anew, days to be exported, and what was exported.

    ``versions`` : grows with every change of the days.
    """

    marked: int
    to_export: int
    versions: int
    exported: Sequence[ExportedDay]

    @property
    def rows(self) -> int:
        """Of transfers, chunks and wholes."""
        return sum(each.file.rows for each in self.exported if each.view is View.TRANSFERS)

    @property
    def bytes(self) -> int:
        return sum(each.file.bytes for each in self.exported)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthDue:
    """A month that is not to be kept; ``obstacles`` : why it is not dropped yet, in sentences."""

    stored: StoredMonth
    obstacles: Sequence[str]
    dropped: bool = False


def oldest_retained_month(now: datetime, months: int) -> Month:
    """The oldest month of which rows are kept: so many whole months beside the current one."""
    month = Month.of(now)
    for _ in range(months):
        month = month.before
    return month


@dataclass(frozen=True, slots=True)
class LogRetention:
    """Keeps so many whole ``months`` of logs beside the current one.

    ``exports`` : ``None`` where nothing is exported, and nothing is dropped.
    """

    unit_of_work: Callable[[UUID], UnitOfWork]
    stored: MonthsOfLogs
    exports: Lake | None
    months: int
    clock: Clock
    reporter: Reporter

    def plan(self) -> Sequence[MonthDue]:
        """What a run would do now: months without an obstacle would be dropped."""
        closable = self._closable()
        return [MonthDue(stored=each, obstacles=list(self._obstacles(each, closable))) for each in self._due()]

    def run(self) -> Sequence[MonthDue]:
        """Close what is due, seal and drop what nothing stands in the way of."""
        closable = self._closable()
        if any(each.month < closable and not each.closed for each in self._due()):
            with suppress(Unavailable):  # somebody uploads: those months stay open until the next run
                self.stored.close(closable)
        return [self._go(each, closable) for each in self._due()]

    def _due(self) -> Sequence[StoredMonth]:
        kept = oldest_retained_month(self.clock.now(), self.months)
        return [each for each in self.stored.stored() if each.month < kept]

    def _closable(self) -> Month:
        """Months before this one may be closed: no transfer that would be logged in them is live."""
        kept = oldest_retained_month(self.clock.now(), self.months)
        oldest = self.stored.oldest_live_transfer()
        return kept if oldest is None else min(kept, Month.of(oldest))

    def _go(self, stored: StoredMonth, closable: Month) -> MonthDue:
        due = MonthDue(stored=stored, obstacles=list(self._obstacles(stored, closable)))
        if not due.obstacles:
            due = self._drop(due)
        month, told = str(stored.month), due.stored
        if due.dropped:
            self.reporter.report(LogsDropped(month=month, rows=told.rows, bytes=told.bytes))
        else:
            self.reporter.report(LogsRetained(month=month, reasons=tuple(due.obstacles)))
        return due

    def _drop(self, due: MonthDue) -> MonthDue:
        month = due.stored.month
        if not due.stored.closed:
            return replace(due, obstacles=["logs are stored just now; it is closed by the next run"])
        try:
            for tenant_id in self.stored.tenants(month):
                self._seal(tenant_id, month)
            self.stored.drop(month)
        except Conflict as changed:
            return replace(due, obstacles=[str(changed)])
        except Unavailable:
            return replace(due, obstacles=["somebody reads or writes the logs just now; the next run tries again"])
        return replace(due, dropped=True)

    def _seal(self, tenant_id: UUID, month: Month) -> None:
        with self.unit_of_work(tenant_id) as uow:
            days = uow.month_seals.days(month)
            if uow.month_seals.is_sealed(month, days.versions):
                return
            uow.month_seals.seal(month, days, uow.usage.sums(month), at=self.clock.now())
            uow.audit.note("logs.sealed", str(month), rows=days.rows, exported_bytes=days.bytes)
            uow.commit()

    def _obstacles(self, stored: StoredMonth, closable: Month) -> Iterator[str]:
        if not stored.closed and stored.month >= closable:
            yield "a transfer that began in it or before is live"
        if self.exports is None:
            yield "nothing is exported here; set TRADEWIND_EXPORT"
            return
        for tenant_id in self.stored.tenants(stored.month):
            yield from self._of_tenant(tenant_id, stored.month, self.exports)

    def _of_tenant(self, tenant_id: UUID, month: Month, exports: Lake) -> Iterator[str]:
        with self.unit_of_work(tenant_id) as uow:
            days = uow.month_seals.days(month)
        if days.marked:
            yield f"tenant {tenant_id}: days to be added up: {days.marked}"
        if days.to_export:
            yield f"tenant {tenant_id}: days to be exported: {days.to_export}"
        for each in days.exported:
            if each.current and not exports.holds(tenant_id, each):
                yield f"{folder_of(each.view, tenant_id, each.day)}: the file is not there as it was exported"
