"""Ports to the repositories of logs: batches, rows, quarantine, days and months: one protocol a repository.

The application may not import `services.persistence`, which implements them; `services.application.shared.unit_of_work`
gives access to them in one transaction of one tenant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from concurrent.futures import Future
    from datetime import date, datetime
    from uuid import UUID

    from services.application.billing.usage import Month, UsageLine
    from services.application.logs.correct_rows import QuarantinedRow, RejectionReason
    from services.application.logs.export import (
        ChangedDay,
        Dimension,
        ExportedDay,
        ExportFailure,
        FinishedMonth,
        View,
        WrittenDay,
    )
    from services.application.logs.ingest import IngestReceipt, RenderedBlock
    from services.application.logs.long_jobs import Progress
    from services.application.logs.quarantine_room import QuarantineUse
    from services.application.logs.retain import DaysOfMonth, StoredMonth
    from services.application.logs.retention_page import MonthOfTenant
    from services.application.logs.rows import AcceptedRow, KnownLink, NewRows, RejectedRow
    from services.application.models.learned_model import Span, StoredLink
    from tradewind.path import Path
    from tradewind.transfer import LinkKey


class BatchRepository(Protocol):
    """Uploaded batches of one tenant; a port because the application may not import persistence."""

    def claim(self, idempotency_key: str, *, at: datetime, key_id: UUID | None = None) -> IngestReceipt:
        """Return a new receipt, or the ``repeated`` one of the key.

        The key is locked until the transaction ends; this call waits for another transaction that holds it.
        """

    def reopen(self, receipt: IngestReceipt, *, at: datetime) -> IngestReceipt:
        """Return the batch as if it came now, locked until the transaction ends.

        Its rows leave the quarantine.
        """

    def close(self, receipt: IngestReceipt) -> None: ...


class TransferLogRepository(Protocol):
    """Accepted log rows of one tenant; a port because the application may not import persistence."""

    def render(self, rows: Iterable[AcceptedRow], *, batch_id: UUID, received_at: datetime) -> RenderedBlock: ...
    def store(self, block: RenderedBlock) -> Future[Collection[int]]:
        """Start to store the new rows; the result is the numbers of the rows that were stored before.

        Until it is there, only ``render`` may be called in this unit of work.
        """


class QuarantineRepository(Protocol):
    """Rejected rows of one tenant; a port because the application may not import persistence."""

    def add(self, rows: Sequence[RejectedRow], *, batch_id: UUID) -> None: ...
    def measure(self, batch_id: UUID) -> Sequence[QuarantineUse]:
        """Return what the rows to correct take: of the key that uploaded this batch, and of the tenant."""

    def get(self, row_id: int) -> QuarantinedRow: ...
    def lock_oldest(self, refused_for: RejectionReason, *, limit: int, most_bytes: int) -> Sequence[QuarantinedRow]: ...
    def count(self, refused_for: RejectionReason | None = None) -> int: ...
    def remove(self, *row_ids: int) -> None: ...
    def remove_all(self, refused_for: RejectionReason | None, *, limit: int) -> int:
        """Remove the oldest rows, of one reason where that is given; return how many."""


class ClosedMonthRepository(Protocol):
    """Months that take no more rows; a port because the application may not import persistence."""

    def hold(self) -> datetime | None:
        """Return the time before which no started transfer may be stored, fixed until the end of the transaction."""


class MonthSealRepository(Protocol):
    """Sealed months of one tenant; a port because the application may not import persistence."""

    def list_page(self) -> Sequence[MonthOfTenant]: ...
    def find_days(self, month: Month) -> DaysOfMonth: ...
    def is_closed(self, month: Month) -> bool:
        """Return whether no more rows of the month are accepted."""

    def is_sealed(self, month: Month, versions: int, used: Sequence[UsageLine]) -> bool: ...
    def seal(self, month: Month, days: DaysOfMonth, used: Sequence[UsageLine], *, at: datetime) -> None: ...


class LogDayRepository(Protocol):
    """Days of one tenant's logs and their exports; a port because the application may not import persistence."""

    def to_export(self, before: date) -> int: ...
    def take_turn(self) -> bool:
        """Take the right to export until the end of the transaction; return whether no other process has it."""

    def list_finished_months(self, before: Month) -> Sequence[FinishedMonth]: ...
    def find_next_to_export(self, before: date) -> ChangedDay | None: ...
    def note_exported(self, changed: ChangedDay, written: WrittenDay, *, at: datetime) -> None:
        """Note that the file holds this version of the day, and clear an earlier failure."""

    def note_failed(self, failure: ExportFailure) -> None:
        """Store the failure in place of an earlier one."""

    def clear_failure(self) -> None: ...
    def find_failure(self) -> ExportFailure | None: ...
    def count_progress(self, before: date) -> Progress: ...
    def apply_export_marks(self) -> None: ...


class RollupRepository(Protocol):
    """Daily sums of one tenant's links; a port because the application may not import persistence."""

    def compute_marked_days(self, most: int, *, most_rows: int | None = None) -> int: ...
    def count_waiting(self, most: int) -> int: ...


class LinkRepository(Protocol):
    """Links of one tenant; a port because the application may not import persistence."""

    def list_all(self) -> Sequence[StoredLink]: ...
    def get(self, link_id: UUID) -> StoredLink: ...
    def find_span(self, link_id: UUID) -> Span | None: ...
    def resolve(self, keys: Collection[LinkKey], *, is_bounded: bool = True) -> Mapping[LinkKey, KnownLink]:
        """Return links by names or aliases of their ends; create unknown endpoints and links.

        ``is_bounded`` : as far as the key may; those that it may not make are left out.
        """

    def count(self, new_rows: Mapping[UUID, NewRows]) -> None: ...
    def list_logged_paths(self, *, without: Collection[UUID]) -> Mapping[UUID, Path]: ...
    def list_labels(self) -> Mapping[UUID, Sequence[str]]: ...
    def add_label(self, label: str, link_ids: Collection[UUID]) -> None: ...
    def remove_label(self, label: str, link_ids: Collection[UUID]) -> None: ...


class MonthsOfLogs(Protocol):
    """Months of all tenants together, as they are stored; a port because the application may not import persistence."""

    def list_stored(self) -> Sequence[StoredMonth]:
        """Return the months; raise ``Unavailable`` where the database is unreachable."""

    def find_oldest_live_transfer(self) -> datetime | None: ...
    def list_tenants(self, month: Month) -> Sequence[UUID]: ...
    def close(self, before: Month) -> None:
        """Take no more rows of months before that one; wait, not for long, for transactions that store some."""

    def drop(self, month: Month) -> None:
        """Drop the rows of a closed month.

        Raises
        ------
        Conflict : the seal of the month does not match the stored rows.
        Unavailable : another transaction reads them.
        """


class Lake(Protocol):
    """Files of exported days, in a folder or an object store; a port because the application has no I/O of its own."""

    def write(self, view: View, tenant_id: UUID, day: date) -> WrittenDay:
        """Replace the file of a day, atomically, with the rows that the day has now.

        Raises
        ------
        Unavailable : the database or the storage does not answer.
        """

    def write_dimension(self, dimension: Dimension, tenant_id: UUID) -> WrittenDay:
        """Replace the file of a dimension, atomically, with the rows that it has now."""

    def compact(self, finished: FinishedMonth, tenant_id: UUID) -> WrittenDay | None:
        """Replace the file of a month with the rows in the files of its days.

        Return ``None`` where it is made of these files already, or one of them is missing or changed.
        """

    def holds(self, tenant_id: UUID, exported: ExportedDay) -> bool:
        """Return whether the file is there, byte for byte."""
