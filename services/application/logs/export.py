"""Views as Parquet, day by day: the days that have changed since they were exported are written anew, as a whole.

A day is its tenant's file of that day; the database knows of which version of the day it is. A run that is interrupted
has exported some days; of the one it was at, the file may be newer than what the database knows, and is written again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from uuid import UUID

from services.application.logs.ports import Lake
from services.application.shared.events import LogsExported, Reporter
from services.application.shared.failure_reasons import format_reason
from services.application.shared.jobs import ExportLogs
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, TradewindError


class View(StrEnum):
    """What is exported: the view of the warehouse, which is the folder too."""

    TRANSFERS = "transfers"
    HEARTBEATS = "heartbeats"
    """By the day on which their transfer began."""
    QUOTES = "quotes"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedDay:
    """A day whose rows are not exported as they are."""

    view: View
    day: date
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenDay:
    """A file: its rows, its bytes, and the SHA-256 of them in hexadecimal digits."""

    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedDay:
    """What was exported last of a day; ``current``: nothing of it has changed since."""

    view: View
    day: date
    exported_at: datetime
    file: WrittenDay
    current: bool


@dataclass(frozen=True, slots=True)
class ExportFailure:
    """That a day could not be written, and nothing has been since; ``reason`` : one line, without secrets."""

    at: datetime
    reason: str


def folder_of(view: View, tenant_id: UUID, day: date) -> str:
    """Where the file of a day is, below where exports are: partitioned as Hive, Spark and DuckDB name it."""
    return f"{view}/tenant={tenant_id}/day={day.isoformat()}"


def request_export(place: str | None, *, uow: UnitOfWork, clock: Clock) -> int:
    """Have the days that have changed exported now, as it is done each night; how many there are.

    Raises
    ------
    Conflict : there is no place for them.
    """
    if place is None:
        raise Conflict("nothing is exported here; set TRADEWIND_EXPORT to a folder or an object store")
    to_export = uow.log_days.to_export(clock.now().date())
    uow.publish(ExportLogs(uow.tenant_id))
    uow.commit()
    return to_export


@dataclass(frozen=True, slots=True)
class Export:
    """Exports days that are over, the oldest first. ``lake`` : ``None`` where nothing is to be exported."""

    unit_of_work: Callable[[UUID], UnitOfWork]
    lake: Lake | None
    clock: Clock
    reporter: Reporter

    def run(self, job: ExportLogs) -> Sequence[ChangedDay]:
        """Export each changed day in a transaction of its own; which they were.

        What keeps a day from being written is kept for those who look after exports, and raised.
        """
        done: list[ChangedDay] = []
        while (written := self._next(job.tenant_id)) is not None:
            changed, file = written
            done.append(changed)
            event = LogsExported(
                tenant_id=job.tenant_id,
                view=changed.view,
                day=changed.day.isoformat(),
                rows=file.rows,
                bytes=file.bytes,
            )
            self.reporter.report(event)
        return done

    def _next(self, tenant_id: UUID) -> tuple[ChangedDay, WrittenDay] | None:
        if self.lake is None:
            return None
        now = self.clock.now()
        with self.unit_of_work(tenant_id) as uow:
            changed = uow.log_days.next_to_export(now.date())
            if changed is None:
                return None
            # Read after the version is: the rows are those of this version, or newer ones, which have a newer version.
            try:
                written = self.lake.write(changed.view, tenant_id, changed.day)
            except Exception as error:
                # In this transaction, whose turn it is, so that it never follows the success of somebody else.
                uow.log_days.failed(ExportFailure(self.clock.now(), _reason_of(error)))
                uow.commit()
                raise
            uow.log_days.exported(changed, written, at=now)
            uow.commit()
        return changed, written


def _reason_of(error: Exception) -> str:
    if isinstance(error, TradewindError):
        return format_reason(str(error))
    return f"{type(error).__name__}, which nobody foresaw; the worker's log tells more"
