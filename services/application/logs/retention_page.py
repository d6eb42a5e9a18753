"""What is kept of each month of a tenant's logs, and what happens to it next."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from services.application.billing.usage import Month
from services.application.logs.retain import first_kept


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthOfTenant:
    """A month of logs: days of its views that are, or are to be, a file each.

    ``rows`` of exported transfers, chunks and wholes; ``bytes`` of all exported files; ``transfers`` by its rollups.
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


class Next(StrEnum):
    """What happens to a month of logs."""

    KEPT = "kept"
    """For ever: no retention is set."""
    KEPT_UNTIL = "kept_until"
    """Until it is too old."""
    CLOSES = "closes"
    """The next run closes it, unless a transfer that began in it is live."""
    WAITS = "waits"
    """It is closed, and not exported."""
    GOES = "goes"
    """The next run drops its rows."""
    GONE = "gone"
    """Its rows are dropped."""


def next_of(month: MonthOfTenant, *, now: datetime, months: int | None) -> Next:
    """What happens next where so many ``months`` are kept; ``None`` : all of them."""
    if month.dropped_at is not None:
        return Next.GONE
    if months is None:
        return Next.KEPT
    if month.month >= first_kept(now, months):
        return Next.KEPT_UNTIL
    if not month.closed:
        return Next.CLOSES
    return Next.GOES if month.is_exported else Next.WAITS


def due_from(month: Month, months: int) -> datetime:
    """From when on a month is not to be kept where so many whole ``months`` are."""
    due = month.after
    for _ in range(months):
        due = due.after
    return due.begins_at
