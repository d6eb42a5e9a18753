"""Receipts of uploads, and the rows that were refused."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, Row, insert, select, update
from sqlalchemy.dialects.postgresql import insert as insert_or_skip

from services.application.ingest_logs import IngestReceipt
from services.application.log_rows import RejectedRow
from services.persistence.tables import batches, log_quarantine
from tradewind.wire.logs import Rejection

_NOT_YET_KNOWN = bytes(32)
"""Hash of a batch that is still open; nobody else sees it."""


class Batches:
    """Batches of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def claim(self, idempotency_key: str, *, at: datetime) -> IngestReceipt:
        """A new receipt, or what was answered to the key before. A rival's open claim is waited for."""
        claimed = self._connection.execute(
            insert_or_skip(batches)
            .values(
                tenant_id=self._tenant_id,
                idempotency_key=idempotency_key,
                content_sha256=_NOT_YET_KNOWN,
                received_at=at,
                accepted=0,
                rejected=0,
                already_stored=0,
                rejections=[],
            )
            .on_conflict_do_nothing(index_elements=["tenant_id", "idempotency_key"])
            .returning(batches.c.id)
        ).scalar_one_or_none()
        if claimed is not None:
            return IngestReceipt(batch_id=claimed, received_at=at)
        earlier = self._connection.execute(select(batches).where(batches.c.idempotency_key == idempotency_key)).one()
        return _receipt(earlier, repeated=True)

    def close(self, receipt: IngestReceipt) -> None:
        """Keep the final counts and the hash of the content."""
        self._connection.execute(
            update(batches)
            .where(batches.c.id == receipt.batch_id)
            .values(
                content_sha256=receipt.content_sha256,
                accepted=receipt.accepted,
                rejected=receipt.rejected,
                already_stored=receipt.already_stored,
                rejections=[each.model_dump() for each in receipt.rejections],
            )
        )

    def find(self, batch_id: UUID) -> IngestReceipt | None:
        found = self._connection.execute(select(batches).where(batches.c.id == batch_id)).one_or_none()
        return None if found is None else _receipt(found, repeated=False)


def _receipt(row: Row[tuple[object, ...]], *, repeated: bool) -> IngestReceipt:
    return IngestReceipt(
        batch_id=row.id,
        received_at=row.received_at,
        content_sha256=row.content_sha256,
        accepted=row.accepted,
        rejected=row.rejected,
        already_stored=row.already_stored,
        rejections=tuple(Rejection(**each) for each in row.rejections),
        repeated=repeated,
    )


class Quarantine:
    """Refused rows of one tenant, with the reason and what the line said."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def add(self, rows: Sequence[RejectedRow], *, batch_id: UUID) -> None:
        if not rows:
            return
        self._connection.execute(
            insert(log_quarantine).inline(),
            [
                {
                    "tenant_id": self._tenant_id,
                    "batch_id": batch_id,
                    "row": each.row,
                    "field": _storable(each.field),
                    "reason": _storable(each.reason),
                    "raw": None if each.raw is None else _storable(each.raw.decode(errors="replace")),
                }
                for each in rows
            ],
        )


def _storable(text: str) -> str:
    """PostgreSQL's text holds no NUL and no lone surrogate."""
    return text.replace("\x00", "\ufffd").encode(errors="replace").decode()
