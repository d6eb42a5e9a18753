"""The end of a transfer: its records join the logs, and what its agent kept of its heartbeats joins the journal."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from io import BytesIO
from typing import NamedTuple
from uuid import UUID

from services.application.logs.ingest import LogBatch, store_batch
from services.application.logs.lines import BodyLimits, Encoding, UploadedBody
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from services.application.transfers.journal import TransferBeats, TransferEnd, TransferNews, Workload
from services.application.transfers.owners import foreign_transfer_error
from tradewind.dataset import ChunkKind
from tradewind.energy.measured import EnergyReading
from tradewind.errors import InvalidValue
from tradewind.sla.kinds import Sla
from tradewind.sla.outcome import is_met
from tradewind.transfer import LinkKey, Status
from tradewind.wire.heartbeats import Completion, CompletionReceipt, SpooledHeartbeat
from tradewind.wire.recommendations import RecommendRequest
from tradewind.wire.records import WireRecord


class CompletionResult(NamedTuple):
    """``first`` : it had not ended before. ``agreement_kept`` : ``None`` where there was none, or nothing tells."""

    receipt: CompletionReceipt
    status: Status
    first: bool
    agreement_kept: bool | None = None


def complete_transfer(
    transfer_id: UUID,
    completion: Completion,
    *,
    uow: UnitOfWork,
    clock: Clock,
    limits: BodyLimits,
    started_by: UUID | None = None,
) -> CompletionResult:
    """Store the records and late heartbeats of a transfer, and mark it as ended, in one transaction.

    The transfer need not be known. Records that an upload of logs would refuse go to the quarantine; heartbeats with
    values that no transfer can have are left out. How it went is told once, and as a row of the logs tells it: what is
    measured and billed by must not change afterwards.

    ``started_by`` : the key that began it by its quote or session, for a transfer that is not stored yet.

    Raises
    ------
    Conflict : it belongs to another key.
    InvalidValue : a record is of another transfer.
    """
    for number, record in enumerate(completion.records):
        if record.transfer_id != transfer_id:
            raise InvalidValue(f"records.{number}.transfer_id", f"must be that of the transfer, {transfer_id}")
    if not completion.records:
        return _unlogged(transfer_id, completion, uow=uow, clock=clock, started_by=started_by)
    whole, now = _whole(completion.records), clock.now()
    news = _news(transfer_id, whole, completion.heartbeats, now)
    with uow:
        news = replace(news, owner=_require_own(transfer_id, uow, started_by))
        receipt = store_batch(_batch(uow.tenant_id, completion.records, limits), uow=uow, clock=clock)
        new_heartbeats = _journalled(news, uow)
        is_stored = receipt.accepted == len(completion.records)
        ended_at, agreement_kept = _ended(transfer_id, whole, now, uow, is_stored=is_stored)
        uow.commit()
    told = CompletionReceipt(
        accepted=receipt.accepted,
        rejected=receipt.rejected - receipt.already_stored,
        heartbeats=new_heartbeats,
        ended_at=ended_at,
    )
    return CompletionResult(told, whole.outcome.status, ended_at == now, agreement_kept)


def _require_own(transfer_id: UUID, uow: UnitOfWork, started_by: UUID | None) -> UUID | None:
    """Return the owner of a transfer that the acting key may end, ``None`` of one that is new."""
    known = uow.owners.find(transfer_id, started_by=started_by)
    if known.is_of_other_key:
        raise foreign_transfer_error(transfer_id)
    return known.owner


def _journalled(news: TransferNews, uow: UnitOfWork) -> int:
    """How many heartbeats were new."""
    uow.journal.note([news])
    return _added(news, uow)


def _added(noted: TransferBeats, uow: UnitOfWork) -> int:
    """How many heartbeats of a noted transfer were new."""
    if not noted.beats:
        return 0
    new_heartbeats = uow.journal.add([noted])
    uow.journal.advance([noted.transfer_id])
    return new_heartbeats


def _ended(
    transfer_id: UUID, whole: WireRecord, now: datetime, uow: UnitOfWork, *, is_stored: bool
) -> tuple[datetime, bool | None]:
    """Mark the noted transfer as ended: when it ended first, and whether this end kept what was agreed on.

    ``is_stored`` : the logs are known to tell it as the record does, which is looked up otherwise.
    """
    if not (is_stored or uow.journal.is_logged(whole)):
        return uow.journal.end_unlogged(transfer_id, whole.outcome.status, at=now) or now, None
    end = _end(whole, now, uow.journal.agreement(transfer_id), _link_of(whole, uow))
    return uow.journal.end(transfer_id, end), end.agreement_kept


def _unlogged(
    transfer_id: UUID, completion: Completion, *, uow: UnitOfWork, clock: Clock, started_by: UUID | None
) -> CompletionResult:
    """The end of a transfer that has nothing to log; one that nobody has told of is not made known by it."""
    now, new_heartbeats = clock.now(), 0
    beats = {each.heartbeat.sequence: each for each in completion.heartbeats if _is_possible(each)}
    asked = _enquiry_of(beats)
    with uow:
        owner = _require_own(transfer_id, uow, started_by)
        if asked is not None:
            news = TransferNews(
                transfer_id=transfer_id,
                owner=owner,
                workload=Workload.asked(asked),
                started_at=now,
                heard_at=None,
                silent_at=None,
                beats=beats,
            )
            new_heartbeats = _journalled(news, uow)
        ended_at = uow.journal.end_unlogged(transfer_id, completion.status, at=now)
        if asked is None and ended_at is not None:
            new_heartbeats = _added(TransferBeats(transfer_id=transfer_id, beats=beats), uow)
        uow.commit()
    told = CompletionReceipt(accepted=0, rejected=0, heartbeats=new_heartbeats, ended_at=ended_at or now)
    return CompletionResult(told, completion.status, ended_at == now)


def _enquiry_of(beats: Mapping[int, SpooledHeartbeat]) -> RecommendRequest | None:
    return next((each.heartbeat.enquiry for each in beats.values() if each.heartbeat.enquiry is not None), None)


def _whole(records: Sequence[WireRecord]) -> WireRecord:
    """The record of all chunks together; of a tool that tells none, the last it tells."""
    return next((record for record in records if record.chunk in {None, ChunkKind.WHOLE}), records[-1])


def _batch(tenant_id: UUID, records: Sequence[WireRecord], limits: BodyLimits) -> LogBatch:
    """The records as an upload, known by its content."""
    body = BytesIO(b"".join(record.to_line() for record in records))
    return LogBatch(tenant_id=tenant_id, idempotency_key=None, body=UploadedBody(body, Encoding.IDENTITY, limits))


def _news(transfer_id: UUID, whole: WireRecord, heartbeats: Sequence[SpooledHeartbeat], now: datetime) -> TransferNews:
    beats = {each.heartbeat.sequence: each for each in heartbeats if _is_possible(each)}
    asked = _enquiry_of(beats)
    return TransferNews(
        transfer_id=transfer_id,
        workload=Workload.recorded(whole) if asked is None else Workload.asked(asked),
        started_at=min(whole.started_at, now),
        heard_at=None,
        silent_at=None,
        beats=beats,
    )


def _is_possible(spooled: SpooledHeartbeat) -> bool:
    try:
        spooled.heartbeat.to_sample()
    except InvalidValue:
        return False
    return True


def _link_of(whole: WireRecord, uow: UnitOfWork) -> UUID:
    key = LinkKey(whole.source, whole.destination, whole.network, whole.mover.name)
    return uow.links.resolve([key])[key].id


def _end(whole: WireRecord, now: datetime, agreement: Sla | None, link_id: UUID) -> TransferEnd:
    outcome = whole.outcome
    return TransferEnd(
        at=now,
        status=outcome.status,
        bytes_moved=outcome.bytes_moved,
        throughput_bps=outcome.throughput_bps,
        duration_s=_duration_s(whole),
        energy=whole.energy,
        agreement_kept=None if agreement is None else _kept(agreement, whole),
        link_id=link_id,
    )


def _duration_s(whole: WireRecord) -> float:
    return (whole.ended_at - whole.started_at).total_seconds()


def _kept(agreement: Sla, whole: WireRecord) -> bool | None:
    """Whether what was agreed on was kept; a transfer that failed has kept no target, a cancelled one tells nothing."""
    match whole.outcome.status:
        case Status.CANCELLED:
            return None
        case Status.FAILED:
            return None if agreement.target is None else False
    return is_met(
        agreement,
        throughput_bps=whole.outcome.throughput_bps,
        duration_s=_duration_s(whole),
        energy=[EnergyReading(**dict(each)) for each in whole.energy],
    )
