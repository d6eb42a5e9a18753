"""Bring rows out of the quarantine: mended by hand and stored like any other, or dismissed."""

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

MOST_RETRIED = 5_000
"""Rows at once: as many are stored in a second or two."""

MOST_RETRIED_BYTES = 32 * MIB
"""Of their lines together: they are in memory several times over while they are stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedRow:
    """A refused row; ``raw`` is absent where the line was too long to keep, or is no UTF-8 text.

    ``key_id`` : of the API key that brought it, whose it is still once it is mended; ``None`` where a person did.
    """

    id: int
    row: int
    field: str
    reason: str
    raw: str | None
    key_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectionGroup:
    """How many rows wait for one reason; ``newest`` of them by id."""

    field: str
    reason: str
    rows: int
    newest: int


class RejectionReason(NamedTuple):
    """What rows were refused for."""

    field: str
    reason: str


class RetryResult(NamedTuple):
    """Rows that left the quarantine, those that are refused again, and those of the same reason that were not tried."""

    stored: int
    refused: int
    left: int


def retry_row(row_id: int, mended: str, *, uow: UnitOfWork, clock: Clock) -> IngestReceipt:
    """Store a mended row as a batch of its own, and take the refused one out of the quarantine.

    Raises
    ------
    NotFound : it is not there, or no longer.
    InvalidValue : it is still refused, and stays as it was; or there is more than one row.
    """
    refused = uow.quarantine.get(row_id)
    lines = [line for line in mended.split("\n") if line.strip()]
    if len(lines) != 1:
        raise InvalidValue("row", "must be one JSON object on one line")
    receipt = _stored(lines, refused.key_id, uow, clock)
    if receipt.nothing_valid:
        rejection = receipt.rejections[0]
        raise InvalidValue(rejection.field, rejection.reason)
    uow.quarantine.remove(row_id)
    uow.audit.note("quarantine.mended", f"row {refused.row}", field=refused.field, reason=refused.reason)
    uow.commit()
    return receipt


def retry_rows(refused_for: RejectionReason, *, uow: UnitOfWork, clock: Clock) -> RetryResult:
    """Try rows of one reason again as they are, the oldest first; what is refused again is back in the quarantine.

    Raises
    ------
    NotFound : no row was refused for that and kept whole.
    InvalidValue : every one of them is refused again; they stay as they were.
    """
    rows = uow.quarantine.oldest(refused_for, limit=MOST_RETRIED, most_bytes=MOST_RETRIED_BYTES)
    if not rows:
        raise NotFound("no row waits in the quarantine for this reason whose line was kept whole")
    left = uow.quarantine.count(refused_for) - len(rows)
    by_key: dict[UUID | None, list[str]] = {}
    for each in rows:
        by_key.setdefault(each.key_id, []).append(each.raw or "")
    receipts = [_stored(lines, key_id, uow, clock) for key_id, lines in by_key.items()]
    if all(each.nothing_valid for each in receipts):
        rejection = receipts[0].rejections[0]
        raise InvalidValue(rejection.field, f"{rejection.reason}: so all {len(rows)} rows are refused again")
    uow.quarantine.remove(*(each.id for each in rows))
    refused = sum(each.rejected - each.already_stored for each in receipts)
    retried = RetryResult(len(rows) - refused, refused, left)
    uow.audit.note(
        "quarantine.retried",
        f"{len(rows)} rows",
        field=refused_for.field,
        reason=refused_for.reason,
        stored=retried.stored,
    )
    uow.commit()
    return retried


def _stored(lines: Sequence[str], key_id: UUID | None, uow: UnitOfWork, clock: Clock) -> IngestReceipt:
    """The lines as a new batch of the API key that brought them, whatever was answered to the same ones before."""
    body = UploadedBody(BytesIO("".join(f"{line}\n" for line in lines).encode()), Encoding.IDENTITY, BodyLimits())
    batch = LogBatch(tenant_id=uow.tenant_id, idempotency_key=f"retry:{uuid4()}", body=body, key_id=key_id)
    return store_batch(batch, uow=uow, clock=clock)


def dismiss_row(row_id: int, *, uow: UnitOfWork) -> None:
    """Take a row out of the quarantine for good.

    Raises
    ------
    NotFound : it is not there, or no longer.
    """
    refused = uow.quarantine.get(row_id)
    uow.quarantine.remove(row_id)
    uow.audit.note("quarantine.dismissed", f"row {refused.row}", field=refused.field, reason=refused.reason)
    uow.commit()
