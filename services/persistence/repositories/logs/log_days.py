"""Days of transfers, heartbeats and quotes: which to export, and what was exported."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from itertools import groupby
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Date, Row, and_, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert

from services.application.billing.usage import Month
from services.application.logs.export import (
    ChangedDay,
    ExportedDay,
    ExportFailure,
    FinishedMonth,
    View,
    WrittenDay,
)
from services.application.logs.long_jobs import Progress
from services.persistence.tables import closed_months, export_failures, log_days

_TAKE_TURN = text("SELECT pg_try_advisory_xact_lock(hashtext('log export'), hashtext(:tenant))")
_DAY = log_days.c
# A day whose rows are dropped is never written again, whatever its versions: its file is all that is left.
_DROPPED = select(closed_months.c.month).where(
    closed_months.c.month == func.date_trunc("month", _DAY.day).cast(Date), closed_months.c.dropped_at.is_not(None)
)
_CHANGED = and_(_DAY.exported_version < _DAY.version, ~_DROPPED.exists())


# As for days of logs (see rollups): a visible mark was committed with its rows, which the version now stands for.
_APPLY_MARKS = text(
    """
    WITH taken AS (DELETE FROM export_marks WHERE tenant_id = :tenant RETURNING view, day)
    INSERT INTO log_days (tenant_id, view, day, version)
    SELECT DISTINCT CAST(:tenant AS uuid), view, day, 1 FROM taken ORDER BY view, day
    ON CONFLICT (tenant_id, view, day) DO UPDATE SET version = log_days.version + 1
    """
)


class LogDays:
    """Days of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def apply_export_marks(self) -> None:
        """Give new versions to the days whose heartbeats or quotes have changed."""
        self._connection.execute(_APPLY_MARKS, {"tenant": str(self._tenant_id)})

    def take_turn(self) -> bool:
        """Take the right to export until the end of the transaction; return whether no other process has it."""
        return bool(self._connection.execute(_TAKE_TURN, {"tenant": str(self._tenant_id)}).scalar_one())

    def find_next_to_export(self, before: date) -> ChangedDay | None:
        """Return the oldest changed day before that one; ``None`` while another process exports."""
        if not self.take_turn():
            return None
        row = self._connection.execute(
            select(_DAY.view, _DAY.day, _DAY.version)
            .where(_CHANGED, _DAY.day < before)
            .order_by(_DAY.day, _DAY.view)
            .limit(1)
        ).one_or_none()
        return None if row is None else ChangedDay(view=View(row.view), day=row.day, version=row.version)

    def note_exported(self, changed: ChangedDay, written: WrittenDay, *, at: datetime) -> None:
        """Record that the file holds that version of the day, and clear an earlier failure."""
        self.clear_failure()
        self._connection.execute(
            update(log_days)
            .where(_DAY.view == changed.view.value, _DAY.day == changed.day)
            .values(
                exported_version=changed.version,
                exported_at=at,
                rows=written.rows,
                bytes=written.bytes,
                sha256=written.sha256,
            )
        )

    def clear_failure(self) -> None:
        """Remove the failure of an earlier run."""
        self._connection.execute(delete(export_failures))

    def list_finished_months(self, before: Month) -> Sequence[FinishedMonth]:
        """Return the months of each view before that one whose days are all exported as they are now."""
        first = before.begins_at.date()
        rows = self._connection.execute(
            select(log_days, _CHANGED.label("changed")).where(_DAY.day < first).order_by(_DAY.view, _DAY.day)
        )
        months = groupby(rows, key=lambda row: (View(row.view), Month(row.day.year, row.day.month)))
        of_months = ((view, month, list(days)) for (view, month), days in months)
        return [
            FinishedMonth(view=view, month=month, days=[to_exported_day(day) for day in days])
            for view, month, days in of_months
            if all(day.exported_at is not None and not day.changed for day in days)
        ]

    def note_failed(self, failure: ExportFailure) -> None:
        """Store a failure in place of an earlier one."""
        values = {"failed_at": failure.at, "reason": failure.reason}
        self._connection.execute(
            insert(export_failures)
            .values(tenant_id=self._tenant_id, **values)
            .on_conflict_do_update(index_elements=["tenant_id"], set_=values)
        )

    def find_failure(self) -> ExportFailure | None:
        """Return the failure of the last run, until a file is written."""
        row = self._connection.execute(select(export_failures)).one_or_none()
        return None if row is None else ExportFailure(row.failed_at, row.reason)

    def to_export(self, before: date) -> int:
        """Return how many days before that one are to be exported."""
        return self._connection.execute(
            select(func.count()).select_from(log_days).where(_CHANGED, _DAY.day < before)
        ).scalar_one()

    def count_progress(self, before: date) -> Progress:
        """Return how many days before that one (UTC) were written on it, of those and the ones left."""
        written = and_(_DAY.exported_at >= datetime.combine(before, time(), tzinfo=UTC), ~_CHANGED)
        row = self._connection.execute(
            select(func.count().filter(written).label("done"), func.count().filter(_CHANGED).label("left"))
            .select_from(log_days)
            .where(_DAY.day < before)
        ).one()
        return Progress(row.done, row.done + row.left)

    def list_page(self, view: View, *, limit: int, before: date | None = None) -> Sequence[ExportedDay]:
        """Return at most ``limit`` exported days of a view before that one, the newest first."""
        exported = _DAY.view == view.value, _DAY.exported_at.is_not(None)
        query = select(log_days).where(*exported).order_by(_DAY.day.desc()).limit(limit)
        if before is not None:
            query = query.where(_DAY.day < before)
        return [to_exported_day(row) for row in self._connection.execute(query)]


def to_exported_day(row: Row[Any]) -> ExportedDay:
    """Return a row of ``log_days`` that has a file."""
    return ExportedDay(
        view=View(row.view),
        day=row.day,
        exported_at=row.exported_at,
        file=WrittenDay(rows=row.rows, bytes=row.bytes, sha256=row.sha256),
        current=row.exported_version == row.version,
    )
