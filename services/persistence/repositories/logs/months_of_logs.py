"""Months of logs of all tenants, as they are stored, closed and dropped, and what outlives the rows of each."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

import psycopg
from sqlalchemy import Column, Connection, Engine, Table, delete, func, insert, select, text
from sqlalchemy.exc import DBAPIError

from services.application.billing.usage import Billing, Month, UsageLine
from services.application.logs.export import View
from services.application.logs.retain import DaysOfMonth, StoredMonth
from services.application.logs.retention_page import MonthOfTenant
from services.persistence.failures import translate_failures
from services.persistence.repositories.billing.usage_rules_sql import TURN
from services.persistence.repositories.logs.log_days import to_exported_day
from services.persistence.tables import (
    closed_months,
    daily_rollups,
    export_marks,
    log_days,
    rollup_marks,
    sealed_customer_usage,
    sealed_months,
    sealed_transfers,
    sealed_usage,
)
from tradewind.errors import Conflict

_DAY = log_days.c

# Held until the transaction ends: closing months waits for it, so that none of their rows is stored afterwards.
_HOLD = text("SELECT pg_advisory_xact_lock_shared(hashtext('closed months of logs'))")
_AWAIT_TURN = text(f"SELECT pg_advisory_xact_lock({TURN})")
_NEWEST = select(func.max(closed_months.c.month))

_COLUMN_OF = MappingProxyType({"met": "kept"})
"""Columns of sealed usage that are called otherwise than the fields of a line."""

_LOGGED_TRANSFERS = text(
    """
    INSERT INTO sealed_transfers (tenant_id, month, transfer_id)
    SELECT DISTINCT tenant_id, CAST(:month AS date), transfer_id FROM transfer_logs
     WHERE started_at >= :begins_at AND started_at < :ends_at AND transfer_id IS NOT NULL
       AND (chunk IS NULL OR chunk = 'whole')
    """
)


class MonthsOfLogs:
    """Months of all tenants, by functions of the owner."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list_stored(self) -> Sequence[StoredMonth]:
        """Return the stored months, the oldest first."""
        with self._open_transaction() as connection:
            rows = connection.execute(text("SELECT * FROM months_of_logs()")).all()
        return [
            StoredMonth(month=_find_month(row.month), rows=row.rows, bytes=row.bytes, closed=row.closed) for row in rows
        ]

    def find_oldest_live_transfer(self) -> datetime | None:
        """Return when the oldest live transfer started."""
        with self._open_transaction() as connection:
            started_at: datetime | None = connection.execute(text("SELECT oldest_live_transfer()")).scalar_one()
        return started_at

    def list_tenants(self, month: Month) -> Sequence[UUID]:
        """Return the tenants with days in the month."""
        with self._open_transaction() as connection:
            query = text("SELECT * FROM tenants_of_month(:month)")
            return list(connection.execute(query, {"month": to_first_day(month)}).scalars())

    def close(self, before: Month) -> None:
        """Accept no more rows of months before that one.

        Raises
        ------
        Unavailable : another transaction stores rows, and takes longer than others should wait for.
        """
        with self._open_transaction() as connection:
            connection.execute(text("SELECT close_months_of_logs(:before)"), {"before": to_first_day(before)})

    def drop(self, month: Month) -> None:
        """Drop the rows of a closed month.

        Raises
        ------
        Conflict : it is not closed, or what outlives its rows differs from what is stored.
        Unavailable : another transaction reads them, and takes longer than others should wait for.
        """
        with self._open_transaction() as connection:
            connection.execute(text("SELECT drop_month_of_logs(:month)"), {"month": to_first_day(month)})

    @contextmanager
    def _open_transaction(self) -> Iterator[Connection]:
        with translate_failures(), _translate_conflicts(), self._engine.begin() as connection:
            yield connection


class ClosedMonths:
    """Months that accept no more rows, as one transaction that stores rows sees them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._is_held = False
        self._closed_until: datetime | None = None

    def hold(self) -> datetime | None:
        """Return the time before which nothing may be stored; it holds until the transaction ends."""
        if not self._is_held:
            self._connection.execute(_HOLD)
            newest = self._connection.execute(_NEWEST).scalar_one()
            self._closed_until, self._is_held = None if newest is None else _find_month(newest).ends_at, True
        return self._closed_until


class MonthSeals:
    """Months of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def find_days(self, month: Month) -> DaysOfMonth:
        """Return the state of the month's days."""
        first, after = to_first_day(month), to_first_day(month.after)
        marked = sum(
            self._connection.execute(
                select(func.count(marks.c.day.distinct())).where(marks.c.day >= first, marks.c.day < after)
            ).scalar_one()
            for marks in (rollup_marks, export_marks)
        )
        rows = self._connection.execute(
            select(log_days).where(_DAY.day >= first, _DAY.day < after).order_by(_DAY.day, _DAY.view)
        ).all()
        return DaysOfMonth(
            marked=marked,
            to_export=sum(row.exported_version < row.version for row in rows),
            versions=sum(row.version for row in rows),
            exported=[to_exported_day(row) for row in rows if row.exported_at is not None],
        )

    def is_sealed(self, month: Month, versions: int, used: Sequence[UsageLine]) -> bool:
        """Return whether the month was sealed as its days and its usage are now.

        Usage also changes without a new version of a day: a key is given to its first customer, or an SLA is judged.
        """
        sealed = self._connection.execute(
            select(sealed_months.c.versions).where(sealed_months.c.month == to_first_day(month))
        ).scalar_one_or_none()
        if sealed is None or int(sealed) != versions:
            return False
        return Counter(self._load_usage(month)) == Counter(used)

    def seal(self, month: Month, days: DaysOfMonth, used: Sequence[UsageLine], *, at: datetime) -> None:
        """Store the month's statement and its transfers, in place of earlier ones.

        Usage is not stored meanwhile: a transfer that was computed without them would be on a later statement, too.
        """
        self._connection.execute(_AWAIT_TURN, {"tenant": str(self._tenant_id)})
        first, own = to_first_day(month), {"tenant_id": self._tenant_id, "month": to_first_day(month)}
        for table in (sealed_months, sealed_usage, sealed_customer_usage, sealed_transfers):
            self._connection.execute(delete(table).where(table.c.month == first))
        oldest = to_first_day(self._find_oldest_needed(month))
        self._connection.execute(delete(sealed_transfers).where(sealed_transfers.c.month < oldest))
        self._connection.execute(
            insert(sealed_months).values(**own, versions=days.versions, rows=days.rows, bytes=days.bytes, sealed_at=at)
        )
        for table, is_of_customer in ((sealed_usage, False), (sealed_customer_usage, True)):
            rows = [{**own, **_to_columns(line)} for line in used if (line.customer_id is not None) == is_of_customer]
            if rows:
                self._connection.execute(insert(table), rows)
        self._connection.execute(
            _LOGGED_TRANSFERS, {"month": first, "begins_at": month.begins_at, "ends_at": month.ends_at}
        )

    def _find_oldest_needed(self, sealed: Month) -> Month:
        """Return the oldest month whose transfers are still looked up, once a month is sealed.

        A statement looks back 31 days, which is two months at most; those of months that are not dropped yet do so.
        """
        waiting = select(func.min(closed_months.c.month)).where(closed_months.c.dropped_at.is_(None))
        first = self._connection.execute(waiting).scalar_one()
        earliest = sealed.before if first is None else _find_month(first).before.before
        return min(sealed.before, earliest)

    def is_closed(self, month: Month) -> bool:
        """Return whether no more rows of the month are accepted."""
        newest = self._connection.execute(_NEWEST).scalar_one()
        return newest is not None and to_first_day(month) <= newest

    def find_usage(self, month: Month) -> Sequence[UsageLine] | None:
        """Return the statement of a month whose rows are dropped; ``None`` while they are not."""
        dropped_at = self._connection.execute(
            select(closed_months.c.dropped_at).where(closed_months.c.month == to_first_day(month))
        ).scalar_one_or_none()
        if dropped_at is None:
            return None
        return self._load_usage(month)

    def _load_usage(self, month: Month) -> Sequence[UsageLine]:
        """Return the statement that the month was sealed with."""
        lines: list[UsageLine] = []
        for table in (sealed_usage, sealed_customer_usage):
            columns = [
                each.label(name) for name in UsageLine.__slots__ if (each := _find_column(table, name)) is not None
            ]
            for row in self._connection.execute(
                select(*columns).where(table.c.month == to_first_day(month))
            ).mappings():
                plain = {"billing": Billing(row["billing"]), "bytes_moved": int(row["bytes_moved"])}
                lines.append(UsageLine(**{**row, **plain}))
        return lines

    def list_page(self) -> Sequence[MonthOfTenant]:
        """Return all months with days, the newest first."""
        month, moved_in = (
            func.date_trunc("month", each.day).cast(closed_months.c.month.type).label("month")
            for each in (_DAY, daily_rollups.c)
        )
        current = _DAY.exported_version == _DAY.version
        days = (
            select(
                month,
                func.count().label("files"),
                func.count().filter(current).label("exported_files"),
                func.coalesce(func.sum(_DAY.rows).filter(_DAY.view == View.TRANSFERS.value), 0).label("rows"),
                func.coalesce(func.sum(_DAY.bytes), 0).label("bytes"),
                func.min(_DAY.day).filter(~current).label("first_to_export"),
            )
            .group_by(month)
            .subquery()
        )
        transfers = func.sum(daily_rollups.c.transfers).label("transfers")
        moved = select(moved_in, transfers).group_by(moved_in).subquery()
        closed, sealed = closed_months.c, sealed_months.c
        newest = select(func.max(closed.month)).scalar_subquery()
        rows = self._connection.execute(
            select(
                days,
                func.coalesce(moved.c.transfers, 0).label("transfers"),
                func.coalesce(days.c.month <= newest, False).label("closed"),
                closed.dropped_at,
                sealed.sealed_at,
            )
            .outerjoin(moved, moved.c.month == days.c.month)
            .outerjoin(closed_months, closed.month == days.c.month)
            .outerjoin(sealed_months, sealed.month == days.c.month)
            .order_by(days.c.month.desc())
        )
        return [
            MonthOfTenant(
                month=_find_month(row.month),
                files=row.files,
                exported_files=row.exported_files,
                first_to_export=row.first_to_export,
                transfers=int(row.transfers),
                rows=int(row.rows),
                bytes=int(row.bytes),
                closed=row.closed,
                sealed_at=row.sealed_at,
                dropped_at=row.dropped_at,
            )
            for row in rows
        ]


def _to_columns(line: UsageLine) -> dict[str, Any]:
    values = {_COLUMN_OF.get(name, name): value for name, value in asdict(line).items()}
    if line.customer_id is None:  # lines of customers have a table of their own
        del values["customer_id"]
    return values


def _find_column(table: Table, name: str) -> Column[Any] | None:
    return table.c.get(_COLUMN_OF.get(name, name))


def to_first_day(month: Month) -> date:
    return month.begins_at.date()


def _find_month(first: date) -> Month:
    return Month.of(datetime(first.year, first.month, 1, tzinfo=UTC))


@contextmanager
def _translate_conflicts() -> Iterator[None]:
    """Raise the conflicts of the functions in their own words: psycopg counts them as passing failures."""
    try:
        yield
    except DBAPIError as error:
        if isinstance(error.orig, psycopg.errors.ObjectNotInPrerequisiteState):
            raise Conflict(error.orig.diag.message_primary or str(error.orig)) from error
        raise
