"""Store a batch of transfer records once; bad rows go to quarantine with their reason."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol, Self
from uuid import UUID

from services.application.logs.lines import Line, UploadedBody
from services.application.logs.rows import AcceptedRow, Block, LinkBook, Links, OwnerBook, RejectedRow
from services.application.shared.jobs import Event, RefreshModels
from services.application.shared.ports import Clock, Transaction
from services.application.transfers.owners import TransferOwners
from tradewind.errors import Conflict, InvalidValue
from tradewind.units import MIB
from tradewind.wire.logs import MAX_REJECTIONS_SHOWN, Rejection

BLOCK_ROWS = 2_000
BLOCK_BYTES = 8 * MIB
"""A block is rendered while the one before is stored: two of them are all that is held in memory."""

CLOCK_SKEW = timedelta(hours=1)
"""How far a clock of an agent may run ahead before its rows are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBatch:
    """One upload, whole and at hand. Without an idempotency key its content is the key.

    ``key_id`` : the API key that its rows came with, where another brings them than who acts.
    """

    tenant_id: UUID
    idempotency_key: str | None
    body: UploadedBody
    key_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReceipt:
    """What became of a batch. ``rejected`` counts the ``already_stored`` rows too."""

    batch_id: UUID
    received_at: datetime
    content_sha256: bytes | None = None
    """Known once the batch is closed."""
    accepted: int = 0
    rejected: int = 0
    already_stored: int = 0
    rejections: tuple[Rejection, ...] = ()
    repeated: bool = False
    """The idempotency key was used before: this is what was answered then."""

    @property
    def nothing_valid(self) -> bool:
        """Every row was refused for what it says, rather than for being there already."""
        return self.accepted == 0 and self.already_stored == 0

    def plus(self, *, accepted: int, already_stored: int, rejected: Sequence[RejectedRow]) -> Self:
        room = MAX_REJECTIONS_SHOWN - len(self.rejections)
        shown = tuple(Rejection(row=each.row, field=each.field, reason=each.reason) for each in rejected[:room])
        return replace(
            self,
            accepted=self.accepted + accepted,
            rejected=self.rejected + len(rejected),
            already_stored=self.already_stored + already_stored,
            rejections=self.rejections + shown,
        )


class Batches(Protocol):
    def claim(self, idempotency_key: str, *, at: datetime, key_id: UUID | None = None) -> IngestReceipt:
        """A new receipt, or the ``repeated`` one of the key; held until the transaction ends; waits for a rival."""

    def reopen(self, receipt: IngestReceipt, *, at: datetime) -> IngestReceipt:
        """The batch as if it came now, held until the end of the transaction; its rows have left the quarantine."""

    def close(self, receipt: IngestReceipt) -> None: ...


class RenderedBlock(NamedTuple):
    """Rows of a block in the form that the store takes, and the months (year, month) in which they started."""

    lines: Sequence[bytes]
    months: Collection[tuple[int, int]]


class Transfers(Protocol):
    def render(self, rows: Iterable[AcceptedRow], *, batch_id: UUID, received_at: datetime) -> RenderedBlock: ...

    def store(self, block: RenderedBlock) -> Future[Collection[int]]:
        """Begin to store the rows that are new; the result are the numbers of those that were stored before.

        Until it is there, nothing but ``render`` may be asked of the unit of work.
        """


class Quarantine(Protocol):
    def add(self, rows: Sequence[RejectedRow], *, batch_id: UUID) -> None: ...


class ClosedMonths(Protocol):
    def hold(self) -> datetime | None:
        """Nothing that began before this time may be stored, until the end of the transaction."""


class IngestUnitOfWork(Transaction, Protocol):
    """One transaction with what ingest needs of the store."""

    @property
    def tenant_id(self) -> UUID: ...
    @property
    def batches(self) -> Batches: ...
    @property
    def closed_months(self) -> ClosedMonths: ...
    @property
    def links(self) -> Links: ...
    @property
    def owners(self) -> TransferOwners: ...
    @property
    def transfers(self) -> Transfers: ...
    @property
    def quarantine(self) -> Quarantine: ...
    def publish(self, event: Event) -> None: ...


def ingest_logs(batch: LogBatch, *, uow: IngestUnitOfWork, clock: Clock) -> IngestReceipt:
    """Store every valid row of ``batch`` and the reason for every other, in one transaction.

    Memory does not grow with the batch. Rows whose record is stored already are refused as such.

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


def store_batch(batch: LogBatch, *, uow: IngestUnitOfWork, clock: Clock) -> IngestReceipt:
    """The same within an open transaction, which the caller commits.

    A batch of which no row was taken is looked at again when it comes again.
    """
    idempotency_key = batch.idempotency_key or f"sha256:{batch.body.sha256().hex()}"
    now = clock.now()
    receipt = uow.batches.claim(idempotency_key, at=now, key_id=batch.key_id)
    if receipt.repeated:
        if receipt.content_sha256 != batch.body.sha256():
            raise Conflict("this Idempotency-Key was used for other content; use a new key for a new batch")
        if not receipt.nothing_valid:
            return receipt
        receipt = uow.batches.reopen(receipt, at=now)  # what was refused may be right by now
    receipt = _store_rows(batch.body, receipt, uow)
    uow.batches.close(receipt)
    if receipt.accepted:
        uow.publish(RefreshModels(batch.tenant_id))
    return receipt


def _store_rows(body: UploadedBody, receipt: IngestReceipt, uow: IngestUnitOfWork) -> IngestReceipt:
    """The receipt, counted up: each block is rendered while the one before is stored."""
    latest = receipt.received_at + CLOCK_SKEW
    earliest = uow.closed_months.hold()
    storing = _Storing(uow)
    links = LinkBook(uow.links, before_asking=storing.wait)
    owners = OwnerBook(uow.owners, before_asking=storing.wait)
    for lines in _blocks(body.lines()):
        block = Block(lines, links, owners, earliest=earliest, latest=latest)
        rendered = uow.transfers.render(block, batch_id=receipt.batch_id, received_at=receipt.received_at)
        receipt = storing.settle(receipt)
        storing.begin(block, rendered)
    receipt = storing.settle(receipt)
    if receipt.accepted + receipt.rejected == 0:
        raise InvalidValue("body", "has no rows")
    uow.links.count(links.new_rows())
    return replace(receipt, content_sha256=body.sha256())


def _blocks(lines: Iterable[Line]) -> Iterator[list[Line]]:
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


class _Storing:
    """The block that is being stored, if one is."""

    def __init__(self, uow: IngestUnitOfWork) -> None:
        self._uow = uow
        self._under_way: tuple[Block, Future[Collection[int]]] | None = None

    def begin(self, block: Block, rendered: RenderedBlock) -> None:
        self._under_way = (block, self._uow.transfers.store(rendered))

    def wait(self) -> None:
        """Return when the unit of work may be asked again."""
        if self._under_way is not None:
            self._under_way[1].result()

    def settle(self, receipt: IngestReceipt) -> IngestReceipt:
        """Put the refused rows of the block into the quarantine, and add it to the receipt."""
        if self._under_way is None:
            return receipt
        block, stored_before = self._under_way[0], self._under_way[1].result()
        self._under_way = None
        block.refuse(stored_before)
        self._uow.quarantine.add(block.rejected, batch_id=receipt.batch_id)
        return receipt.plus(accepted=block.accepted, already_stored=len(stored_before), rejected=block.rejected)
