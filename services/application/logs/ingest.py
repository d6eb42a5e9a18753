"""Store a batch of transfer records once; rejected rows go to the quarantine with their reason."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple, Self
from uuid import UUID

from services.application.logs.lines import Line, UploadedBody
from services.application.logs.quarantine_room import QuarantineRoom
from services.application.logs.rows import BatchLinks, BatchOwners, Block, RejectedRow
from services.application.shared.jobs import RefreshModels
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, InvalidValue
from tradewind.units import MIB
from tradewind.wire.logs import MAX_REJECTIONS_SHOWN, Rejection

BLOCK_ROWS = 2_000
BLOCK_BYTES = 8 * MIB
"""A block is rendered while the one before is stored, so two blocks at most are in memory."""

CLOCK_SKEW = timedelta(hours=1)
"""An agent's clock may be this far in the future before its rows are rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBatch:
    """One complete upload. Without an idempotency key its content is the key.

    ``key_id`` : the API key that first uploaded its rows, where it is not the acting one.
    ``from_quarantine`` : its rows have their room in the quarantine, so those that are rejected again return there,
    however full it is.
    """

    tenant_id: UUID
    idempotency_key: str | None
    body: UploadedBody
    key_id: UUID | None = None
    from_quarantine: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReceipt:
    """The result of a batch. ``rejected`` includes the ``already_stored`` rows."""

    batch_id: UUID
    received_at: datetime
    content_sha256: bytes | None = None
    """Known once the batch is closed."""
    accepted: int = 0
    rejected: int = 0
    already_stored: int = 0
    not_quarantined: int = 0
    """Rejected rows that the quarantine had no room for: their lines are not stored."""
    rejections: tuple[Rejection, ...] = ()
    repeated: bool = False
    """The idempotency key was used before: this is the receipt of that time."""

    @property
    def nothing_valid(self) -> bool:
        """Whether every row was rejected for its content, and none because it is stored already."""
        return self.accepted == 0 and self.already_stored == 0

    def add(self, *, accepted: int, already_stored: int, not_quarantined: int, rejected: Sequence[RejectedRow]) -> Self:
        """Return the receipt with the rows of one more block."""
        room = MAX_REJECTIONS_SHOWN - len(self.rejections)
        shown = tuple(Rejection(row=row.row, field=row.field, reason=row.reason) for row in rejected[:room])
        return replace(
            self,
            accepted=self.accepted + accepted,
            rejected=self.rejected + len(rejected),
            already_stored=self.already_stored + already_stored,
            not_quarantined=self.not_quarantined + not_quarantined,
            rejections=self.rejections + shown,
        )


class RenderedBlock(NamedTuple):
    """Rows of a block in the form of the store, and the months (year, month) in which they started."""

    lines: Sequence[bytes]
    months: Collection[tuple[int, int]]


def ingest_logs(batch: LogBatch, *, uow: UnitOfWork, clock: Clock) -> IngestReceipt:
    """Store every valid row of ``batch`` and the reason for every other, in one transaction.

    Memory does not grow with the batch. Rows whose record is stored already are rejected as such.

    Raises
    ------
    Conflict : the idempotency key was used for other content.
    InvalidValue : there is no row at all, or the body is damaged.
    TooLarge : the body is beyond its limits.
    """
    with uow:
        receipt = store_batch(batch, uow=uow, clock=clock)
        if not receipt.repeated:
            uow.commit()
    return receipt


def store_batch(batch: LogBatch, *, uow: UnitOfWork, clock: Clock) -> IngestReceipt:
    """Store a batch within an open transaction, which the caller commits.

    A repeated batch is processed again if none of its rows was accepted.
    """
    idempotency_key = batch.idempotency_key or f"sha256:{batch.body.compute_sha256().hex()}"
    now = clock.now()
    receipt = uow.batches.claim(idempotency_key, at=now, key_id=batch.key_id)
    if receipt.repeated:
        if receipt.content_sha256 != batch.body.compute_sha256():
            raise Conflict("this Idempotency-Key was used for other content; use a new key for a new batch")
        if not receipt.nothing_valid:
            return receipt
        receipt = uow.batches.reopen(receipt, at=now)  # rows that were rejected may be valid by now
    room = QuarantineRoom(uow.quarantine, bounded=not batch.from_quarantine)
    receipt = _store_rows(batch.body, receipt, uow, room)
    uow.batches.close(receipt)
    if receipt.accepted:
        uow.publish(RefreshModels(batch.tenant_id))
    return receipt


def _store_rows(body: UploadedBody, receipt: IngestReceipt, uow: UnitOfWork, room: QuarantineRoom) -> IngestReceipt:
    """Store all rows and return the receipt; each block is rendered while the one before is stored."""
    latest = receipt.received_at + CLOCK_SKEW
    earliest = uow.closed_months.hold()
    write = _BlockWrite(uow, room)
    links = BatchLinks(uow.links, before_query=write.wait)
    owners = BatchOwners(uow.owners, before_query=write.wait)
    for lines in _list_blocks(body.read_lines()):
        block = Block(lines, links, owners, earliest=earliest, latest=latest)
        rendered = uow.transfers.render(block, batch_id=receipt.batch_id, received_at=receipt.received_at)
        receipt = write.finish_block(receipt)
        write.start(block, rendered)
    receipt = write.finish_block(receipt)
    if receipt.accepted + receipt.rejected == 0:
        raise InvalidValue("body", "has no rows")
    uow.links.count(links.sum_new_rows())
    return replace(receipt, content_sha256=body.compute_sha256())


def _list_blocks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    block: list[Line] = []
    size = 0
    for line in lines:
        block.append(line)
        size += len(line.content)
        if len(block) >= BLOCK_ROWS or size >= BLOCK_BYTES:
            yield block
            block, size = [], 0
    if block:
        yield block


class _BlockWrite:
    """The block that is being stored, if there is one."""

    def __init__(self, uow: UnitOfWork, room: QuarantineRoom) -> None:
        self._uow, self._room = uow, room
        self._current: tuple[Block, Future[Collection[int]]] | None = None

    def start(self, block: Block, rendered: RenderedBlock) -> None:
        self._current = (block, self._uow.transfers.store(rendered))

    def wait(self) -> None:
        """Return when the unit of work may be used again."""
        if self._current is not None:
            self._current[1].result()

    def finish_block(self, receipt: IngestReceipt) -> IngestReceipt:
        """Put the rejected rows of the block into the quarantine, and add the block to the receipt."""
        if self._current is None:
            return receipt
        block, stored_before = self._current[0], self._current[1].result()
        self._current = None
        block.reject_stored(stored_before)
        return receipt.add(
            accepted=block.accepted,
            already_stored=len(stored_before),
            not_quarantined=self._room.add(block.rejected, batch_id=receipt.batch_id),
            rejected=block.rejected,
        )
