"""Store a batch of transfer records once; bad rows go to quarantine with their reason."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import NamedTuple, Protocol, Self
from uuid import UUID

from services.application.jobs import Event, RefreshModels
from services.application.log_lines import Line
from services.application.ports import Clock
from tradewind.errors import Conflict, InvalidValue
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.transfer import LinkKey
from tradewind.wire.logs import MAX_REJECTIONS_SHOWN, Rejection
from tradewind.wire.records import RATE_TOLERANCE, WirePath, WireRecord, parse_row

BLOCK_ROWS = 5_000
BLOCK_BYTES = 8 * 2**20
"""A block is validated, then copied; its records and its rejected lines are all that is held in memory."""

CLOCK_SKEW = timedelta(hours=1)
"""How far a clock of an agent may run ahead before its rows are refused."""

RAW_KEPT_BYTES = 64 * 1024
"""Of a rejected line, for the quarantine."""

ALREADY_STORED = "is already stored"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBatch:
    """One upload, whole and at hand; ``lines`` are read once."""

    tenant_id: UUID
    idempotency_key: str
    content_sha256: bytes
    lines: Iterable[Line]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReceipt:
    """What became of a batch. ``rejected`` counts the ``already_stored`` rows too."""

    batch_id: UUID
    received_at: datetime
    content_sha256: bytes
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

    def plus(self, *, accepted: int, already_stored: int, rejected: Sequence["RejectedRow"]) -> Self:
        room = MAX_REJECTIONS_SHOWN - len(self.rejections)
        shown = tuple(Rejection(row=each.row, field=each.field, reason=each.reason) for each in rejected[:room])
        return replace(
            self,
            accepted=self.accepted + accepted,
            rejected=self.rejected + len(rejected),
            already_stored=self.already_stored + already_stored,
            rejections=self.rejections + shown,
        )


@dataclass(frozen=True, slots=True)
class KnownLink:
    """A stored link and what its endpoints' owner says of its path."""

    id: UUID
    path: Path = UNKNOWN_PATH


class AcceptedRow(NamedTuple):
    row: int
    record: WireRecord
    link: KnownLink


class RejectedRow(NamedTuple):
    row: int
    field: str
    reason: str
    raw: bytes | None


@dataclass(frozen=True, slots=True)
class NewRows:
    """What a batch adds to a link."""

    rows: int
    last_log_at: datetime

    def plus(self, ended_at: datetime) -> Self:
        return replace(self, rows=self.rows + 1, last_log_at=max(self.last_log_at, ended_at))


class Batches(Protocol):
    def claim(self, *, idempotency_key: str, content_sha256: bytes, at: datetime) -> IngestReceipt:
        """A new receipt, or the ``repeated`` one of the key; waits for a rival that holds the key."""

    def close(self, receipt: IngestReceipt) -> None: ...


class Links(Protocol):
    def resolve(self, keys: Collection[LinkKey]) -> Mapping[LinkKey, KnownLink]:
        """Links by names or aliases of their ends; unknown endpoints and links are created."""

    def count(self, new_rows: Mapping[UUID, NewRows]) -> None: ...


class Transfers(Protocol):
    def add(self, rows: Sequence[AcceptedRow], *, batch_id: UUID, received_at: datetime) -> Collection[int]:
        """Store the rows that are new; the numbers of those whose record is stored already."""


class Quarantine(Protocol):
    def add(self, rows: Sequence[RejectedRow], *, batch_id: UUID) -> None: ...


class IngestUnitOfWork(Protocol):
    """One transaction with what ingest needs of the store."""

    @property
    def batches(self) -> Batches: ...
    @property
    def links(self) -> Links: ...
    @property
    def transfers(self) -> Transfers: ...
    @property
    def quarantine(self) -> Quarantine: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
    def publish(self, event: Event) -> None: ...
    def commit(self) -> None: ...


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
        receipt = uow.batches.claim(
            idempotency_key=batch.idempotency_key, content_sha256=batch.content_sha256, at=clock.now()
        )
        if receipt.repeated:
            if receipt.content_sha256 != batch.content_sha256:
                raise Conflict("this Idempotency-Key was used for other content; use a new key for a new batch")
            return receipt
        validator = BlockValidator(uow.links, latest=receipt.received_at + CLOCK_SKEW)
        new_rows: dict[UUID, NewRows] = {}
        for block in _blocks(batch.lines):
            accepted, rejected = validator.split(block)
            stored_before = uow.transfers.add(accepted, batch_id=receipt.batch_id, received_at=receipt.received_at)
            if stored_before:
                rejected += [RejectedRow(row, "id", ALREADY_STORED, None) for row in stored_before]
                accepted = [each for each in accepted if each.row not in stored_before]
            rejected.sort()
            uow.quarantine.add(rejected, batch_id=receipt.batch_id)
            _count(accepted, into=new_rows)
            receipt = receipt.plus(accepted=len(accepted), already_stored=len(stored_before), rejected=rejected)
        if receipt.accepted + receipt.rejected == 0:
            raise InvalidValue("body", "has no rows")
        uow.links.count(new_rows)
        uow.batches.close(receipt)
        if receipt.accepted:
            uow.publish(RefreshModels(batch.tenant_id))
        uow.commit()
    return receipt


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


def _count(rows: Iterable[AcceptedRow], *, into: dict[UUID, NewRows]) -> None:
    for _, record, link in rows:
        seen = into.get(link.id)
        into[link.id] = seen.plus(record.ended_at) if seen else NewRows(1, record.ended_at)


class BlockValidator:
    """Splits blocks into rows to store and rows to refuse; remembers the links it has met."""

    def __init__(self, links: Links, *, latest: datetime) -> None:
        self._links = links
        self._latest = latest
        self._known: dict[LinkKey, KnownLink] = {}

    def split(self, block: Iterable[Line]) -> tuple[list[AcceptedRow], list[RejectedRow]]:
        """Rows of ``block`` with their links, and the others with field and reason."""
        rejected: list[RejectedRow] = []
        parsed: list[tuple[Line, WireRecord, LinkKey]] = []
        for line in block:
            try:
                record = _parse(line, self._latest)
            except InvalidValue as wrong:
                rejected.append(_rejection(line, wrong))
            else:
                parsed.append((line, record, _link_key(record)))
        unknown = {key for _, _, key in parsed}.difference(self._known)
        if unknown:
            self._known.update(self._links.resolve(unknown))
        accepted: list[AcceptedRow] = []
        for line, record, key in parsed:
            link = self._known[key]
            try:
                accepted.append(AcceptedRow(line.number, _on_known_path(record, link.path), link))
            except InvalidValue as wrong:
                rejected.append(_rejection(line, wrong))
        return accepted, rejected


def _link_key(record: WireRecord) -> LinkKey:
    return LinkKey(record.source, record.destination, record.network, record.mover.name)


def _parse(line: Line, latest: datetime) -> WireRecord:
    if line.too_long:
        raise InvalidValue("row", "is longer than 1 MiB")
    record = parse_row(line.content)
    if record.ended_at > latest:
        raise InvalidValue("ended_at", "lies in the future")
    if len(record.energy) > 1 and record.energy[0].host is record.energy[1].host:
        raise InvalidValue("energy", f"names the {record.energy[0].host} host twice")
    return record


def _on_known_path(record: WireRecord, known: Path) -> WireRecord:
    """The record with what it does not say of its path taken from the endpoint's known pairs."""
    if known is UNKNOWN_PATH:
        return record
    if known.bandwidth_bps is not None and record.outcome.throughput_bps > RATE_TOLERANCE * known.bandwidth_bps:
        raise InvalidValue("outcome.throughput_bps", "is above the link's known rate; see the endpoint's known pairs")
    stated = record.path or WirePath()
    missing = {
        name: getattr(known, name)
        for name in ("bandwidth_bps", "rtt_s", "buffer_bytes")
        if getattr(stated, name) is None and getattr(known, name) is not None
    }
    return record.model_copy(update={"path": stated.model_copy(update=missing)}) if missing else record


def _rejection(line: Line, wrong: InvalidValue) -> RejectedRow:
    return RejectedRow(line.number, wrong.field, wrong.reason, line.content[:RAW_KEPT_BYTES])
