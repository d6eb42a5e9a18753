"""Receipts of uploaded logs: ``POST /v1/logs`` and ``GET /v1/logs/batches/{id}``."""

from datetime import datetime
from uuid import UUID

from tradewind.wire.base import Open

MAX_REJECTIONS_SHOWN = 100
"""Rejections named in a receipt; the rest are in the quarantine with the same field and reason."""

ALREADY_STORED = "is already stored"
"""Reason of a row whose id is that of a stored one: nothing is lost by its rejection."""


class Rejection(Open):
    """One row that was refused: its number (1 is the first line), the dotted field, the reason."""

    row: int
    field: str
    reason: str


class BatchReceipt(Open):
    batch_id: UUID
    accepted: int
    rejected: int
    rejections: tuple[Rejection, ...] = ()
    not_quarantined: int = 0
    """Refused rows beyond the room of the quarantine: they are counted, but not stored for correction."""
    received_at: datetime | None = None
    duplicate: bool = False
    """True when the idempotency key had been used for the same content: nothing was stored again."""

    @property
    def stored_any(self) -> bool:
        """Return whether the service has any of it, be it from before."""
        return bool(self.accepted) or any(rejection.reason == ALREADY_STORED for rejection in self.rejections)
