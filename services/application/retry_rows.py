"""Bring rows out of the quarantine: mended by hand and stored like any other, or dismissed."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Protocol
from uuid import UUID

from services.application.audit import Audit
from services.application.ingest_logs import IngestReceipt, IngestUnitOfWork, LogBatch, store_batch
from services.application.log_lines import BodyLimits, Encoding, UploadedBody
from services.application.log_rows import RejectedRow
from services.application.ports import Clock
from tradewind.errors import InvalidValue


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedRow:
    """A refused row; ``raw`` is absent where the line was too long to keep."""

    id: int
    row: int
    field: str
    reason: str
    raw: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedFor:
    """How many rows wait for one reason; ``newest`` of them by id."""

    field: str
    reason: str
    rows: int
    newest: int


class Quarantine(Protocol):
    def add(self, rows: Sequence[RejectedRow], *, batch_id: UUID) -> None: ...
    def get(self, row_id: int) -> QuarantinedRow: ...
    def remove(self, row_id: int) -> None: ...


class RetryUnitOfWork(IngestUnitOfWork, Protocol):
    """An open transaction of the tenant whose row it is."""

    @property
    def quarantine(self) -> Quarantine: ...
    @property
    def audit(self) -> Audit: ...


def retry_row(row_id: int, mended: str, *, uow: RetryUnitOfWork, clock: Clock) -> IngestReceipt:
    """Store a mended row as a batch of its own, and take the refused one out of the quarantine.

    Raises
    ------
    NotFound : it is not there, or no longer.
    InvalidValue : it is still refused, and stays as it was; or there is more than one row.
    """
    refused = uow.quarantine.get(row_id)
    lines = [line for line in mended.splitlines() if line.strip()]
    if len(lines) != 1:
        raise InvalidValue("row", "must be one JSON object on one line")
    body = UploadedBody(BytesIO(lines[0].encode() + b"\n"), Encoding.IDENTITY, BodyLimits())
    batch = LogBatch(tenant_id=uow.tenant_id, idempotency_key=None, body=body)
    receipt = store_batch(batch, uow=uow, clock=clock)
    if receipt.nothing_valid:
        rejection = receipt.rejections[0]
        raise InvalidValue(rejection.field, rejection.reason)
    uow.quarantine.remove(row_id)
    uow.audit.note("quarantine.mended", f"row {refused.row}", field=refused.field, reason=refused.reason)
    uow.commit()
    return receipt


def dismiss_row(row_id: int, *, uow: RetryUnitOfWork) -> None:
    """Take a row out of the quarantine for good.

    Raises
    ------
    NotFound : it is not there, or no longer.
    """
    refused = uow.quarantine.get(row_id)
    uow.quarantine.remove(row_id)
    uow.audit.note("quarantine.dismissed", f"row {refused.row}", field=refused.field, reason=refused.reason)
    uow.commit()
