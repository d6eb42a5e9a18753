"""Export views as Parquet, day by day: each day that changed since its last export is written again completely.

Each day is one file of its tenant; the database stores the exported version of the day. An interrupted run has exported
some days; the file of the last may be newer than the database says, and is written again.

Once the days are written, the dimensions are written as they are now, and each past month gets one file made of the
files of its days. A month's manifest names those files by their checksums, so that a run sees which months are current.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from functools import partial
from uuid import UUID

from services.application.billing.usage import Month
from services.application.logs.ports import Lake
from services.application.shared.events import LogsCompacted, LogsExported, Reporter
from services.application.shared.failure_reasons import format_reason
from services.application.shared.jobs import ExportLogs
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, TradewindError


class View(StrEnum):
    """A view of the warehouse that is exported; its name is the folder."""

    TRANSFERS = "transfers"
    HEARTBEATS = "heartbeats"
    """By the day on which their transfer started."""
    QUOTES = "quotes"


class Dimension(StrEnum):
    """A view of the warehouse that is exported entirely, as it is at the end of a run; its name is the folder."""

    LINKS = "links"
    ENDPOINTS = "endpoints"
    CLUSTERS = "clusters"
    TIERS = "tiers"
    CUSTOMERS = "customers"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedDay:
    """A day that changed since its last export, or was not exported yet."""

    view: View
    day: date
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenDay:
    """A written file: its rows, its size in bytes, and its SHA-256 in hexadecimal digits."""

    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedDay:
    """The last export of a day; ``current`` : the day has not changed since."""

    view: View
    day: date
    exported_at: datetime
    file: WrittenDay
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedMonth:
    """A past month of a view whose exported ``days`` are all current; ``days`` is in order."""

    view: View
    month: Month
    days: Sequence[ExportedDay]


@dataclass(frozen=True, slots=True)
class ExportFailure:
    """The last failed export, while no later one succeeded; ``reason`` : one line without secrets."""

    at: datetime
    reason: str


def find_folder(view: View, tenant_id: UUID, day: date) -> str:
    """Return the folder of a day below the export location, partitioned as Hive, Spark and DuckDB expect."""
    return f"{view}/tenant={tenant_id}/day={day.isoformat()}"


def find_month_folder(view: View, tenant_id: UUID, month: Month) -> str:
    """Return the folder of a month's one file, next to the folders of days."""
    return f"{view}_by_month/tenant={tenant_id}/month={month}"


def find_dimension_folder(dimension: Dimension, tenant_id: UUID) -> str:
    """Return the folder of a dimension's one file."""
    return f"{dimension}/tenant={tenant_id}"


def request_export(place: str | None, *, uow: UnitOfWork, clock: Clock) -> int:
    """Request the export of changed days now, like each night; return how many there are.

    Raises
    ------
    Conflict : no export location is set.
    """
    if place is None:
        raise Conflict("exports are off; set TRADEWIND_EXPORT to a folder or an object store")
    to_export = uow.log_days.to_export(clock.now().date())
    uow.publish(ExportLogs(uow.tenant_id))
    uow.commit()
    return to_export


@dataclass(frozen=True, slots=True)
class Export:
    """Exports past days, the oldest first. ``lake`` : ``None`` where nothing is exported."""

    unit_of_work: Callable[[UUID], UnitOfWork]
    lake: Lake | None
    clock: Clock
    reporter: Reporter

    def run(self, job: ExportLogs) -> Sequence[ChangedDay]:
        """Export each changed day in a transaction of its own; return the days.

        An error that prevents an export is stored for the exports page, and raised.
        """
        exported: list[ChangedDay] = []
        while (written := self._export_next(job.tenant_id)) is not None:
            changed, file = written
            exported.append(changed)
            event = LogsExported(
                tenant_id=job.tenant_id,
                view=changed.view,
                day=changed.day.isoformat(),
                rows=file.rows,
                bytes=file.bytes,
            )
            self.reporter.report(event)
        self._export_rest(job.tenant_id)
        return exported

    def _export_rest(self, tenant_id: UUID) -> None:
        """Write the dimensions, and the months that are not made of their days' files as they are now.

        Each has a transaction of its own. One that fails is stored and raised once the others are written.
        """
        if self.lake is None:
            return
        lake = self.lake
        with self.unit_of_work(tenant_id) as uow:
            months = uow.log_days.list_finished_months(Month.of(self.clock.now()))
        files: list[tuple[str, Callable[[], object]]] = [
            *((str(each), partial(lake.write_dimension, each, tenant_id)) for each in Dimension),
            *((f"{each.view} of {each.month}", partial(self._compact, tenant_id, each, lake)) for each in months),
        ]
        failures: list[tuple[str, Exception]] = []
        for name, write in files:
            with self.unit_of_work(tenant_id) as uow:
                if not uow.log_days.take_turn():
                    return
                try:
                    write()
                except Exception as error:  # noqa: BLE001  # raised by `_note_rest`, after the others
                    failures.append((name, error))
        self._note_rest(tenant_id, failures)

    def _note_rest(self, tenant_id: UUID, failures: Sequence[tuple[str, Exception]]) -> None:
        """Store what failed of the dimensions and months, and raise the first error; or clear an earlier failure."""
        with self.unit_of_work(tenant_id) as uow:
            if failures:
                (name, error), more = failures[0], len(failures) - 1
                reason = f"{name}: {_format_failure(error)}" + (f"; {more} more files failed" if more else "")
                uow.log_days.note_failed(ExportFailure(self.clock.now(), reason))
            else:
                uow.log_days.clear_failure()
            uow.commit()
        if failures:
            raise failures[0][1]

    def _compact(self, tenant_id: UUID, finished: FinishedMonth, lake: Lake) -> None:
        written = lake.compact(finished, tenant_id)
        if written is not None:
            event = LogsCompacted(
                tenant_id=tenant_id,
                view=finished.view,
                month=str(finished.month),
                rows=written.rows,
                bytes=written.bytes,
            )
            self.reporter.report(event)

    def _export_next(self, tenant_id: UUID) -> tuple[ChangedDay, WrittenDay] | None:
        if self.lake is None:
            return None
        now = self.clock.now()
        with self.unit_of_work(tenant_id) as uow:
            changed = uow.log_days.find_next_to_export(now.date())
            if changed is None:
                return None
            # The rows are read after the version: they are of this version, or newer with a newer version.
            try:
                written = self.lake.write(changed.view, tenant_id, changed.day)
            except Exception as error:
                # In this transaction, which locks the day, so that it never follows the success of another run.
                uow.log_days.note_failed(ExportFailure(self.clock.now(), _format_failure(error)))
                uow.commit()
                raise
            uow.log_days.note_exported(changed, written, at=now)
            uow.commit()
        return changed, written


def _format_failure(error: Exception) -> str:
    if isinstance(error, TradewindError):
        return format_reason(str(error))
    return f"unexpected error {type(error).__name__}; see the worker's log"
