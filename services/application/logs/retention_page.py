"""The months of a tenant's logs, and the next step of their retention."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from services.application.billing.usage import Month
from services.application.logs.retain import find_oldest_retained_month


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthOfTenant:
    """A month of logs; each past day of a view is one file.

    ``rows`` : of exported transfers, chunks and totals. ``bytes`` : of all exported files. ``transfers`` : from daily
    sums.
    """

    month: Month
    files: int
    exported_files: int
    first_to_export: date | None
    transfers: int
    rows: int
    bytes: int
    closed: bool
    sealed_at: datetime | None
    dropped_at: datetime | None

    @property
    def is_exported(self) -> bool:
        return self.files == self.exported_files


class NextStep(StrEnum):
    """The next step of a month of logs."""

    STAYS = "stays"
    """It stays for good: no retention is set."""
    STAYS_UNTIL = "stays_until"
    """It stays until it is too old."""
    CLOSES = "closes"
    """The next run closes it, unless a transfer that started in it is live."""
    WAITS = "waits"
    """It is closed and waits for its export."""
    GOES = "goes"
    """The next run drops its rows."""
    GONE = "gone"
    """Its rows are dropped."""


def find_next_step(month: MonthOfTenant, *, now: datetime, months: int | None) -> NextStep:
    """Return the next step where so many ``months`` are retained; ``None`` : all of them."""
    if month.dropped_at is not None:
        return NextStep.GONE
    if months is None:
        return NextStep.STAYS
    if month.month >= find_oldest_retained_month(now, months):
        return NextStep.STAYS_UNTIL
    if not month.closed:
        return NextStep.CLOSES
    return NextStep.GOES if month.is_exported else NextStep.WAITS


def find_due_month(month: Month, months: int) -> datetime:
    """Return the time from which a month is due, where so many full ``months`` are retained."""
    due = month.after
    for _ in range(months):
        due = due.after
    return due.begins_at
