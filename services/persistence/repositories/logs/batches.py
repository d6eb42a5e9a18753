"""Receipts of uploads, and the rows that were refused."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as insert_or_skip

from services.application.logs.correct_rows import QuarantinedRow, RejectionGroup, RejectionReason
from services.application.logs.ingest import IngestReceipt
from services.application.logs.quarantine_room import QuarantineUse
from services.application.logs.rows import RejectedRow
from services.persistence.tables import batches, log_quarantine
from tradewind.errors import NotFound
from tradewind.wire.logs import Rejection

_NOT_YET_KNOWN = bytes(32)
"""Hash of a batch that is still open; nobody else sees it."""


_ROW = (
    log_quarantine,
    select(batches.c.key_id).where(batches.c.id == log_quarantine.c.batch_id).scalar_subquery().label("key_id"),
)
"""A row with the API key that uploaded it."""


class Batches:
    """Batches of one tenant.

    Parameters
    ----------
    key_id : the key that uploads new ones; ``None`` where a user does.
    """

    def __init__(self, connection: Connection, tenant_id: UUID, key_id: UUID | None) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._key_id = key_id

    def claim(self, idempotency_key: str, *, at: datetime, key_id: UUID | None = None) -> IngestReceipt:
        """Return a new receipt, or the earlier answer to the same API key.

        It is locked until the transaction ends: a rival that claims the key, or retries the batch, is waited for.

        It is received at the later of two times, the caller's and the database's, which all processes share: a process
        whose clock is behind would refuse a transfer that has just finished as lying in the future.

        ``key_id`` : the API key that uploaded the rows, where it is not the one that acts.
        """
        idempotency_key = _of_its_key(idempotency_key, key_id or self._key_id)
        claimed = self._connection.execute(
            insert_or_skip(batches)
            .values(
                tenant_id=self._tenant_id,
                idempotency_key=idempotency_key,
                content_sha256=_NOT_YET_KNOWN,
                received_at=_choose_later(at),
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
        return _build_receipt(earlier, repeated=True)

    def reopen(self, receipt: IngestReceipt, *, at: datetime) -> IngestReceipt:
        """Return the batch as if it arrived now, locked until the transaction ends, with its rows out of the
        quarantine.
        """
        of_batch = batches.c.id == receipt.batch_id
        received_at = self._connection.execute(
            update(batches)
            .where(of_batch)
            .values(received_at=_choose_later(at), key_id=self._key_id)
            .returning(batches.c.received_at)
        ).scalar_one()
        self._connection.execute(delete(log_quarantine).where(log_quarantine.c.batch_id == receipt.batch_id))
        return IngestReceipt(batch_id=receipt.batch_id, received_at=received_at)

    def close(self, receipt: IngestReceipt) -> None:
        """Store the final counts and the hash of the content."""
        self._connection.execute(
            update(batches)
            .where(batches.c.id == receipt.batch_id)
            .values(
                content_sha256=receipt.content_sha256,
                accepted=receipt.accepted,
                rejected=receipt.rejected,
                already_stored=receipt.already_stored,
                not_quarantined=receipt.not_quarantined,
                rejections=[each.model_dump() for each in receipt.rejections],
            )
        )

    def find(self, batch_id: UUID, *, brought_by: Collection[UUID] | None = None) -> IngestReceipt | None:
        """Return a receipt of a batch that one of these keys uploaded; ``None`` : any key."""
        filters = select(batches).where(batches.c.id == batch_id)
        if brought_by is not None:
            filters = filters.where(batches.c.key_id.in_(brought_by))
        found = self._connection.execute(filters).one_or_none()
        return None if found is None else _build_receipt(found, repeated=False)

    def list_page(self, *, limit: int, before: UUID | None = None) -> Sequence[IngestReceipt]:
        """Return at most ``limit`` batches before the batch ``before``, the newest first."""
        query = select(batches).order_by(batches.c.id.desc()).limit(limit)  # ids follow the order of creation
        if before is not None:
            query = query.where(batches.c.id < before)
        return [_build_receipt(row, repeated=False) for row in self._connection.execute(query)]


def _of_its_key(idempotency_key: str, key_id: UUID | None) -> str:
    """Return the idempotency key as it is stored: those of two API keys are never the same."""
    return idempotency_key if key_id is None else f"{key_id}:{idempotency_key}"


def _choose_later(at: datetime) -> ColumnElement[datetime]:
    """Return the time, or the database's if that is later."""
    return func.greatest(at, func.now(), type_=batches.c.received_at.type)


def _build_receipt(row: Row[tuple[object, ...]], *, repeated: bool) -> IngestReceipt:
    return IngestReceipt(
        batch_id=row.id,
        received_at=row.received_at,
        content_sha256=row.content_sha256,
        accepted=row.accepted,
        rejected=row.rejected,
        already_stored=row.already_stored,
        not_quarantined=row.not_quarantined,
        rejections=tuple(Rejection(**each) for each in row.rejections),
        repeated=repeated,
    )


class Quarantine:
    """Refused rows of one tenant, with the reason and the text of the line."""

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
                    "field": _make_storable(each.field),
                    "reason": _make_storable(each.reason),
                    "raw": each.raw,
                }
                for each in rows
            ],
        )

    def count(self, refused_for: RejectionReason | None = None) -> int:
        """Return how many rows wait to be corrected or dismissed; of one reason where that is given."""
        return self._connection.execute(
            select(func.count()).select_from(log_quarantine).where(*_filter_by_reason(refused_for))
        ).scalar_one()

    def group_by_reason(self, *, limit: int) -> Sequence[RejectionGroup]:
        """Return the most frequent reasons, with the newest row of each."""
        rows = self._connection.execute(
            select(
                log_quarantine.c.field,
                log_quarantine.c.reason,
                func.count().label("rows"),
                func.max(log_quarantine.c.id).label("newest"),
            )
            .group_by(log_quarantine.c.field, log_quarantine.c.reason)
            .order_by(func.count().desc(), func.max(log_quarantine.c.id).desc())
            .limit(limit)
        )
        return [RejectionGroup(field=row.field, reason=row.reason, rows=row.rows, newest=row.newest) for row in rows]

    def list_page(
        self,
        *,
        limit: int,
        before: int | None = None,
        batch_id: UUID | None = None,
        refused_for: RejectionReason | None = None,
    ) -> Sequence[QuarantinedRow]:
        """Return at most ``limit`` rows older than the row ``before``, the newest first."""
        filters = select(*_ROW).where(*_filter_by_reason(refused_for))
        query = filters.order_by(log_quarantine.c.id.desc()).limit(limit)
        if before is not None:
            query = query.where(log_quarantine.c.id < before)
        if batch_id is not None:
            query = query.where(log_quarantine.c.batch_id == batch_id)
        return [_to_quarantined(row) for row in self._connection.execute(query)]

    def get(self, row_id: int) -> QuarantinedRow:
        """Return the row, locked until the transaction ends.

        Raises
        ------
        NotFound : it is not there, or no longer.
        """
        query = select(*_ROW).where(log_quarantine.c.id == row_id).with_for_update()
        row = self._connection.execute(query).one_or_none()
        if row is None:
            raise NotFound("this row is no longer in the quarantine")
        return _to_quarantined(row)

    def lock_oldest(self, refused_for: RejectionReason, *, limit: int, most_bytes: int) -> Sequence[QuarantinedRow]:
        """Return rows of one reason whose text is stored, within both bounds, locked until the transaction ends."""
        oldest = (
            select(log_quarantine.c.id, func.octet_length(log_quarantine.c.raw).label("bytes"))
            .where(*_filter_by_reason(refused_for), log_quarantine.c.raw.is_not(None))
            .order_by(log_quarantine.c.id)
            .limit(limit)
            .subquery()
        )
        so_far = select(oldest.c.id, func.sum(oldest.c.bytes).over(order_by=oldest.c.id).label("bytes")).subquery()
        within = select(so_far.c.id).where(so_far.c.bytes <= most_bytes)
        query = select(*_ROW).where(log_quarantine.c.id.in_(within)).order_by(log_quarantine.c.id).with_for_update()
        return [_to_quarantined(row) for row in self._connection.execute(query)]

    def measure(self, batch_id: UUID) -> Sequence[QuarantineUse]:
        """Return what the rows to correct take: of the key that uploaded this batch, and of the tenant."""
        uploader = select(batches.c.key_id).where(batches.c.id == batch_id).scalar_subquery()
        of_key = batches.c.key_id.is_not_distinct_from(uploader)
        size = func.coalesce(func.octet_length(log_quarantine.c.raw), 0) + func.octet_length(log_quarantine.c.reason)
        rows, taken = func.count(), func.sum(size)
        found = self._connection.execute(
            select(rows.filter(of_key), taken.filter(of_key), rows, taken).select_from(
                log_quarantine.join(batches, batches.c.id == log_quarantine.c.batch_id)
            )
        ).one()
        return QuarantineUse(found[0], int(found[1] or 0)), QuarantineUse(found[2], int(found[3] or 0))

    def remove_all(self, refused_for: RejectionReason | None, *, limit: int) -> int:
        """Remove the oldest rows, of one reason where that is given; return how many."""
        oldest = (
            select(log_quarantine.c.id)
            .where(*_filter_by_reason(refused_for))
            .order_by(log_quarantine.c.id)
            .limit(limit)
            .with_for_update()
        )
        return self._connection.execute(delete(log_quarantine).where(log_quarantine.c.id.in_(oldest))).rowcount

    def remove(self, *row_ids: int) -> None:
        self._connection.execute(delete(log_quarantine).where(log_quarantine.c.id.in_(row_ids)))


def _filter_by_reason(refused_for: RejectionReason | None) -> tuple[Any, ...]:
    if refused_for is None:
        return ()
    return log_quarantine.c.field == refused_for.field, log_quarantine.c.reason == refused_for.reason


def _to_quarantined(row: Row[Any]) -> QuarantinedRow:
    return QuarantinedRow(id=row.id, row=row.row, field=row.field, reason=row.reason, raw=row.raw, key_id=row.key_id)


def _make_storable(text: str) -> str:
    """Return text without NUL and lone surrogates, which PostgreSQL's text cannot hold."""
    return text.replace("\x00", "\ufffd").encode(errors="replace").decode()
