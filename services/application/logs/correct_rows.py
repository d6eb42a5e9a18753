"""Take rows out of the quarantine: store corrected or retried rows like any other, or dismiss them."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import NamedTuple
from uuid import UUID, uuid4

from services.application.logs.ingest import IngestReceipt, LogBatch, store_batch
from services.application.logs.lines import BodyLimits, Encoding, UploadedBody
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import InvalidValue, NotFound
from tradewind.units import MIB

MAX_RETRIED = 5_000
"""Rows retried at once: this many are stored in a second or two."""

MAX_DISMISSED = 50_000
"""Rows dismissed at once: this many are removed in a second or two."""

MAX_RETRIED_BYTES = 32 * MIB
"""Total size of their lines: they are in memory several times while they are stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedRow:
    """A rejected row; ``raw`` is ``None`` where the line was too long, or is no UTF-8 text.

    ``key_id`` : the API key that uploaded it, which stays its owner after a correction; ``None`` where a user did.
    """

    id: int
    row: int
    field: str
    reason: str
    raw: str | None
    key_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectionGroup:
    """Rows in quarantine for one reason, counted; ``newest`` is the id of the newest."""

    field: str
    reason: str
    rows: int
    newest: int


class RejectionReason(NamedTuple):
    """The field and reason that rows were rejected for."""

    field: str
    reason: str


class RetryResult(NamedTuple):
    """Counts of rows stored, rejected again, and left of the same reason without a retry."""

    stored: int
    refused: int
    left: int


def retry_row(row_id: int, corrected: str, *, uow: UnitOfWork, clock: Clock) -> IngestReceipt:
    """Store a corrected row as a batch of its own, and take the rejected one out of the quarantine.

    Raises
    ------
    NotFound : it is not there, or no longer.
    InvalidValue : it is rejected again, and stays in quarantine; or there is more than one row.
    """
    row = uow.quarantine.get(row_id)
    lines = [line for line in corrected.split("\n") if line.strip()]
    if len(lines) != 1:
        raise InvalidValue("row", "must be one JSON object on one line")
    receipt = _store_lines(lines, row.key_id, uow, clock)
    if receipt.nothing_valid:
        rejection = receipt.rejections[0]
        raise InvalidValue(rejection.field, rejection.reason)
    uow.quarantine.remove(row_id)
    uow.audit.note("quarantine.mended", f"row {row.row}", field=row.field, reason=row.reason)
    uow.commit()
    return receipt


def retry_rows(refused_for: RejectionReason, *, uow: UnitOfWork, clock: Clock) -> RetryResult:
    """Retry rows of one reason unchanged, the oldest first; rows that are rejected again stay in quarantine.

    Raises
    ------
    NotFound : no complete row is in quarantine for this reason.
    InvalidValue : all of them are rejected again; nothing changes.
    """
    rows = uow.quarantine.lock_oldest(refused_for, limit=MAX_RETRIED, most_bytes=MAX_RETRIED_BYTES)
    if not rows:
        raise NotFound("the quarantine has no complete row for this reason")
    left = uow.quarantine.count(refused_for) - len(rows)
    by_key: dict[UUID | None, list[str]] = {}
    for row in rows:
        by_key.setdefault(row.key_id, []).append(row.raw or "")
    receipts = [_store_lines(lines, key_id, uow, clock) for key_id, lines in by_key.items()]
    if all(receipt.nothing_valid for receipt in receipts):
        rejection = receipts[0].rejections[0]
        raise InvalidValue(rejection.field, f"{rejection.reason}: all {len(rows)} rows are rejected again")
    uow.quarantine.remove(*(row.id for row in rows))
    rejected = sum(receipt.rejected - receipt.already_stored for receipt in receipts)
    retried = RetryResult(len(rows) - rejected, rejected, left)
    uow.audit.note(
        "quarantine.retried",
        f"{len(rows)} rows",
        field=refused_for.field,
        reason=refused_for.reason,
        stored=retried.stored,
    )
    uow.commit()
    return retried


def _store_lines(lines: Sequence[str], key_id: UUID | None, uow: UnitOfWork, clock: Clock) -> IngestReceipt:
    """Store lines as a new batch of the API key that uploaded them, whatever their earlier receipt was."""
    body = UploadedBody(BytesIO("".join(f"{line}\n" for line in lines).encode()), Encoding.IDENTITY, BodyLimits())
    once = f"retry:{uuid4()}"
    batch = LogBatch(tenant_id=uow.tenant_id, idempotency_key=once, body=body, key_id=key_id, from_quarantine=True)
    return store_batch(batch, uow=uow, clock=clock)


def dismiss_row(row_id: int, *, uow: UnitOfWork) -> None:
    """Take a row out of the quarantine for good.

    Raises
    ------
    NotFound : it is not there, or no longer.
    """
    row = uow.quarantine.get(row_id)
    uow.quarantine.remove(row_id)
    uow.audit.note("quarantine.dismissed", f"row {row.row}", field=row.field, reason=row.reason)
    uow.commit()


def dismiss_rows(refused_for: RejectionReason | None, *, uow: UnitOfWork) -> int:
    """Take the oldest rows out of the quarantine for good, of one reason or of all; return how many.

    Raises
    ------
    NotFound : there is none, or no longer.
    """
    removed = uow.quarantine.remove_all(refused_for, limit=MAX_DISMISSED)
    if not removed:
        raise NotFound("the quarantine has no such row, or no longer")
    detail = {} if refused_for is None else refused_for._asdict()
    uow.audit.note("quarantine.dismissed", f"{removed} rows", **detail)
    uow.commit()
    return removed
