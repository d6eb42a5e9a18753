"""What is kept of each month of a tenant's logs, and what happens to it next."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from services.application.billing.usage import Month
from services.application.logs.retain import oldest_retained_month


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


class NextStep(StrEnum):
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


def find_next_step(month: MonthOfTenant, *, now: datetime, months: int | None) -> NextStep:
    """What happens next where so many ``months`` are kept; ``None`` : all of them."""
    if month.dropped_at is not None:
        return NextStep.GONE
    if months is None:
        return NextStep.KEPT
    if month.month >= oldest_retained_month(now, months):
        return NextStep.KEPT_UNTIL
    if not month.closed:
        return NextStep.CLOSES
    return NextStep.GOES if month.is_exported else NextStep.WAITS


def find_due_month(month: Month, months: int) -> datetime:
    """From when on a month is not to be kept where so many whole ``months`` are."""
    due = month.after
    for _ in range(months):
        due = due.after
    return due.begins_at
