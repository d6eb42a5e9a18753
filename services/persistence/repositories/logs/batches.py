"""Receipts of uploads, and the rows that were refused."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as insert_or_skip

from services.application.logs.correct_rows import QuarantinedRow, RejectionGroup, RejectionReason
from services.application.logs.ingest import IngestReceipt
from services.application.logs.rows import RejectedRow
from services.persistence.tables import batches, log_quarantine
from tradewind.errors import NotFound
from tradewind.wire.logs import ALREADY_STORED, Rejection

_NOT_YET_KNOWN = bytes(32)
"""Hash of a batch that is still open; nobody else sees it."""


_MENDABLE = log_quarantine.c.reason != ALREADY_STORED
"""Nothing is to be done about a row that came twice."""

_ROW = (
    log_quarantine,
    select(batches.c.key_id).where(batches.c.id == log_quarantine.c.batch_id).scalar_subquery().label("key_id"),
)
"""A row with the API key that brought it."""


class Batches:
    """Batches of one tenant.

    Parameters
    ----------
    key_id : of the key that brings new ones; ``None`` where a person does.
    """

    def __init__(self, connection: Connection, tenant_id: UUID, key_id: UUID | None) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._key_id = key_id

    def claim(self, idempotency_key: str, *, at: datetime, key_id: UUID | None = None) -> IngestReceipt:
        """A new receipt, or what was answered to the key before, as the same API key sent it.

        It is held until the end of the transaction: a rival that claims the key, or looks at its batch again, is waited
        for.

        It is received at the later of two times, the caller's and the database's, which all processes share: one whose
        clock is behind would refuse what ended just now as lying in the future.

        ``key_id`` : of the API key that brought the rows, where it is not the one that acts.
        """
        idempotency_key = _of_its_key(idempotency_key, key_id or self._key_id)
        claimed = self._connection.execute(
            insert_or_skip(batches)
            .values(
                tenant_id=self._tenant_id,
                idempotency_key=idempotency_key,
                content_sha256=_NOT_YET_KNOWN,
                received_at=_not_behind(at),
                accepted=0,
                rejected=0,
                already_stored=0,
                rejections=[],
                key_id=key_id or self._key_id,
            )
            .on_conflict_do_nothing(index_elements=["tenant_id", "idempotency_key"])
            .returning(batches.c.id, batches.c.received_at)
        ).one_or_none()
        if claimed is not None:
            return IngestReceipt(batch_id=claimed.id, received_at=claimed.received_at)
        of_key = select(batches).where(batches.c.idempotency_key == idempotency_key)
        held = of_key.with_for_update(key_share=True)  # rows that refer to the batch need not wait
        earlier = self._connection.execute(held).one()
        return _receipt(earlier, repeated=True)

    def reopen(self, receipt: IngestReceipt, *, at: datetime) -> IngestReceipt:
        """The batch as if it came now, held until the end of the transaction; its rows have left the quarantine."""
        of_batch = batches.c.id == receipt.batch_id
        received_at = self._connection.execute(
            update(batches)
            .where(of_batch)
            .values(received_at=_not_behind(at), key_id=self._key_id)
            .returning(batches.c.received_at)
        ).scalar_one()
        self._connection.execute(delete(log_quarantine).where(log_quarantine.c.batch_id == receipt.batch_id))
        return IngestReceipt(batch_id=receipt.batch_id, received_at=received_at)

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

    def find(self, batch_id: UUID, *, brought_by: Collection[UUID] | None = None) -> IngestReceipt | None:
        """Return a receipt, of a batch that one of these keys brought, ``None`` for any."""
        wanted = select(batches).where(batches.c.id == batch_id)
        if brought_by is not None:
            wanted = wanted.where(batches.c.key_id.in_(brought_by))
        found = self._connection.execute(wanted).one_or_none()
        return None if found is None else _receipt(found, repeated=False)

    def page(self, *, limit: int, before: UUID | None = None) -> Sequence[IngestReceipt]:
        """At most ``limit`` batches that came before the batch ``before``, or before none, the newest first."""
        query = select(batches).order_by(batches.c.id.desc()).limit(limit)  # ids follow the order of creation
        if before is not None:
            query = query.where(batches.c.id < before)
        return [_receipt(row, repeated=False) for row in self._connection.execute(query)]


def _of_its_key(idempotency_key: str, key_id: UUID | None) -> str:
    """Return the idempotency key as it is stored: those of two API keys are never the same."""
    return idempotency_key if key_id is None else f"{key_id}:{idempotency_key}"


def _not_behind(at: datetime) -> ColumnElement[datetime]:
    """The time, or the database's if that is later."""
    return func.greatest(at, func.now(), type_=batches.c.received_at.type)


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
                    "raw": each.raw,
                }
                for each in rows
            ],
        )

    def count(self, refused_for: RejectionReason | None = None) -> int:
        """Rows that wait to be mended or dismissed; of one reason where that is named."""
        return self._connection.execute(
            select(func.count()).select_from(log_quarantine).where(_MENDABLE, *_for(refused_for))
        ).scalar_one()

    def by_reason(self, *, limit: int) -> Sequence[RejectionGroup]:
        """What most rows were refused for, with the newest of them."""
        rows = self._connection.execute(
            select(
                log_quarantine.c.field,
                log_quarantine.c.reason,
                func.count().label("rows"),
                func.max(log_quarantine.c.id).label("newest"),
            )
            .where(_MENDABLE)
            .group_by(log_quarantine.c.field, log_quarantine.c.reason)
            .order_by(func.count().desc(), func.max(log_quarantine.c.id).desc())
            .limit(limit)
        )
        return [RejectionGroup(field=row.field, reason=row.reason, rows=row.rows, newest=row.newest) for row in rows]

    def page(
        self,
        *,
        limit: int,
        before: int | None = None,
        batch_id: UUID | None = None,
        refused_for: RejectionReason | None = None,
    ) -> Sequence[QuarantinedRow]:
        """At most ``limit`` rows older than the row ``before``, or than none, the newest first."""
        wanted = select(*_ROW).where(_MENDABLE, *_for(refused_for))
        query = wanted.order_by(log_quarantine.c.id.desc()).limit(limit)
        if before is not None:
            query = query.where(log_quarantine.c.id < before)
        if batch_id is not None:
            query = query.where(log_quarantine.c.batch_id == batch_id)
        return [_quarantined(row) for row in self._connection.execute(query)]

    def get(self, row_id: int) -> QuarantinedRow:
        """The row, held until the end of the transaction.

        Raises
        ------
        NotFound : it is not there, or no longer.
        """
        query = select(*_ROW).where(log_quarantine.c.id == row_id).with_for_update()
        row = self._connection.execute(query).one_or_none()
        if row is None:
            raise NotFound("this row is no longer in the quarantine")
        return _quarantined(row)

    def oldest(self, refused_for: RejectionReason, *, limit: int, most_bytes: int) -> Sequence[QuarantinedRow]:
        """Rows of one reason that were kept whole, within both bounds, held until the end of the transaction."""
        oldest = (
            select(log_quarantine.c.id, func.octet_length(log_quarantine.c.raw).label("bytes"))
            .where(_MENDABLE, *_for(refused_for), log_quarantine.c.raw.is_not(None))
            .order_by(log_quarantine.c.id)
            .limit(limit)
            .subquery()
        )
        so_far = select(oldest.c.id, func.sum(oldest.c.bytes).over(order_by=oldest.c.id).label("bytes")).subquery()
        within = select(so_far.c.id).where(so_far.c.bytes <= most_bytes)
        query = select(*_ROW).where(log_quarantine.c.id.in_(within)).order_by(log_quarantine.c.id).with_for_update()
        return [_quarantined(row) for row in self._connection.execute(query)]

    def remove(self, *row_ids: int) -> None:
        self._connection.execute(delete(log_quarantine).where(log_quarantine.c.id.in_(row_ids)))


def _for(refused_for: RejectionReason | None) -> tuple[Any, ...]:
    if refused_for is None:
        return ()
    return log_quarantine.c.field == refused_for.field, log_quarantine.c.reason == refused_for.reason


def _quarantined(row: Row[Any]) -> QuarantinedRow:
    return QuarantinedRow(id=row.id, row=row.row, field=row.field, reason=row.reason, raw=row.raw, key_id=row.key_id)


def _storable(text: str) -> str:
    """PostgreSQL's text holds no NUL and no lone surrogate."""
    return text.replace("\x00", "\ufffd").encode(errors="replace").decode()
