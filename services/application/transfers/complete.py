"""Complete a transfer: store its records in the logs, and the heartbeats that its agent stored in the journal."""

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
from services.application.transfers.owners import make_foreign_transfer_error
from services.application.transfers.repository import TransferBeats, TransferEnd, TransferNews, Workload
from tradewind.dataset import ChunkKind
from tradewind.energy.measured import EnergyReading
from tradewind.errors import InvalidValue
from tradewind.sla.kinds import Sla
from tradewind.sla.outcome import is_met
from tradewind.transfer import LinkKey, Status
from tradewind.wire.heartbeats import Completion, CompletionReceipt, SpooledHeartbeat
from tradewind.wire.recommendations import RecommendRequest
from tradewind.wire.records import WireFailure, WireOutcome, WireRecord


class CompletionResult(NamedTuple):
    """The receipt of a completion.

    ``first`` : the transfer had not ended before. ``is_sla_met`` : whether the SLA was met; ``None`` without an
    SLA, or where it is unknown.
    """

    receipt: CompletionReceipt
    status: Status
    first: bool
    is_sla_met: bool | None = None


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

    The transfer may be unknown. Records that an upload of logs would reject go to the quarantine; heartbeats with
    impossible values are left out. The result is stored once, and only as a row of the logs has it: measurement and
    billing must not change afterwards.

    ``started_by`` : the key that started it by its quote or session, for a transfer that is not stored yet.

    Raises
    ------
    Conflict : it belongs to another key.
    InvalidValue : a record is of another transfer.
    """
    for number, record in enumerate(completion.records):
        if record.transfer_id != transfer_id:
            raise InvalidValue(f"records.{number}.transfer_id", f"must be that of the transfer, {transfer_id}")
    if not completion.records:
        return _complete_without_records(transfer_id, completion, uow=uow, clock=clock, started_by=started_by)
    total, now = _select_total(completion.records), clock.now()
    news = _to_news(transfer_id, total, completion.heartbeats, now)
    with uow:
        news = replace(news, owner=_require_own(transfer_id, uow, started_by))
        # What the service saw begin is stored and billed, however many links uploads of the key have made.
        uow.links.resolve({_get_link_key(record) for record in completion.records}, is_bounded=False)
        receipt = store_batch(_to_batch(uow.tenant_id, completion.records, limits), uow=uow, clock=clock)
        new_heartbeats = _store_heartbeats(news, uow)
        is_stored = receipt.accepted == len(completion.records)
        ended_at, is_sla_met = _mark_ended(transfer_id, total, now, uow, is_stored=is_stored)
        uow.commit()
    completion_receipt = CompletionReceipt(
        accepted=receipt.accepted,
        rejected=receipt.rejected - receipt.already_stored,
        heartbeats=new_heartbeats,
        ended_at=ended_at,
    )
    return CompletionResult(completion_receipt, total.outcome.status, ended_at == now, is_sla_met)


def _require_own(transfer_id: UUID, uow: UnitOfWork, started_by: UUID | None) -> UUID | None:
    """Return the owner of a transfer that the acting key may end, ``None`` of one that is new."""
    known = uow.owners.find(transfer_id, started_by=started_by)
    if known.is_of_other_key:
        raise make_foreign_transfer_error(transfer_id)
    return known.owner


def _store_heartbeats(news: TransferNews, uow: UnitOfWork) -> int:
    """Store a transfer and its heartbeats; return how many heartbeats were new."""
    uow.journal.note([news])
    return _add_samples(news, uow)


def _add_samples(noted: TransferBeats, uow: UnitOfWork) -> int:
    """Store heartbeats of a stored transfer; return how many were new."""
    if not noted.beats:
        return 0
    new_heartbeats = uow.journal.add([noted])
    uow.journal.advance([noted.transfer_id])
    return new_heartbeats


def _mark_ended(
    transfer_id: UUID, total: WireRecord, now: datetime, uow: UnitOfWork, *, is_stored: bool
) -> tuple[datetime, bool | None]:
    """Mark the stored transfer as ended; return when it first ended, and whether this end met the SLA.

    ``is_stored`` : the logs are known to have this record; otherwise they are searched for it.
    """
    if not (is_stored or uow.journal.is_logged(total)):
        return uow.journal.end_unlogged(
            transfer_id, total.outcome.status, _find_failure(total.outcome), at=now
        ) or now, None
    end = _to_end(total, now, uow.journal.find_sla(transfer_id), _find_link_id(total, uow))
    return uow.journal.end(transfer_id, end), end.is_sla_met


def _complete_without_records(
    transfer_id: UUID, completion: Completion, *, uow: UnitOfWork, clock: Clock, started_by: UUID | None
) -> CompletionResult:
    """Complete a transfer that has no records; a transfer that is unknown stays unknown."""
    now, new_heartbeats = clock.now(), 0
    beats = {beat.heartbeat.sequence: beat for beat in completion.heartbeats if _is_possible(beat)}
    request = _find_request(beats)
    with uow:
        owner = _require_own(transfer_id, uow, started_by)
        if request is not None:
            news = TransferNews(
                transfer_id=transfer_id,
                owner=owner,
                workload=Workload.from_request(request),
                started_at=now,
                heard_at=None,
                silent_at=None,
                beats=beats,
            )
            new_heartbeats = _store_heartbeats(news, uow)
        ended_at = uow.journal.end_unlogged(transfer_id, completion.status, _find_failure(completion), at=now)
        if request is None and ended_at is not None:
            new_heartbeats = _add_samples(TransferBeats(transfer_id=transfer_id, beats=beats), uow)
        uow.commit()
    completion_receipt = CompletionReceipt(accepted=0, rejected=0, heartbeats=new_heartbeats, ended_at=ended_at or now)
    return CompletionResult(completion_receipt, completion.status, ended_at == now)


def _find_request(beats: Mapping[int, SpooledHeartbeat]) -> RecommendRequest | None:
    return next((beat.heartbeat.enquiry for beat in beats.values() if beat.heartbeat.enquiry is not None), None)


def _select_total(records: Sequence[WireRecord]) -> WireRecord:
    """Return the record of all chunks together; the last record of a tool that writes none."""
    return next((record for record in records if record.chunk in {None, ChunkKind.WHOLE}), records[-1])


def _to_batch(tenant_id: UUID, records: Sequence[WireRecord], limits: BodyLimits) -> LogBatch:
    """Return the records as an upload, identified by its content."""
    body = BytesIO(b"".join(record.to_line() for record in records))
    return LogBatch(tenant_id=tenant_id, idempotency_key=None, body=UploadedBody(body, Encoding.IDENTITY, limits))


def _to_news(
    transfer_id: UUID, total: WireRecord, heartbeats: Sequence[SpooledHeartbeat], now: datetime
) -> TransferNews:
    beats = {beat.heartbeat.sequence: beat for beat in heartbeats if _is_possible(beat)}
    request = _find_request(beats)
    return TransferNews(
        transfer_id=transfer_id,
        workload=Workload.from_record(total) if request is None else Workload.from_request(request),
        started_at=min(total.started_at, now),
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


def _find_link_id(total: WireRecord, uow: UnitOfWork) -> UUID:
    key = _get_link_key(total)
    return uow.links.resolve([key], is_bounded=False)[key].id


def _get_link_key(record: WireRecord) -> LinkKey:
    return LinkKey(record.source, record.destination, record.network, record.mover.name)


def _to_end(total: WireRecord, now: datetime, sla: Sla | None, link_id: UUID) -> TransferEnd:
    outcome = total.outcome
    return TransferEnd(
        at=now,
        status=outcome.status,
        bytes_moved=outcome.bytes_moved,
        throughput_bps=outcome.throughput_bps,
        duration_s=_compute_duration_s(total),
        energy=total.energy,
        is_sla_met=None if sla is None else _is_sla_met(sla, total),
        link_id=link_id,
        failure=_find_failure(total.outcome),
    )


def _find_failure(end: WireOutcome | Completion) -> WireFailure | None:
    """Return why a transfer failed or was cancelled, if its agent says so; what has succeeded has no failure."""
    return None if end.status is Status.SUCCEEDED else end.failure


def _compute_duration_s(total: WireRecord) -> float:
    return (total.ended_at - total.started_at).total_seconds()


def _is_sla_met(sla: Sla, total: WireRecord) -> bool | None:
    """Return whether the SLA was met; a failed transfer meets no target, of a cancelled one it is unknown."""
    match total.outcome.status:
        case Status.CANCELLED:
            return None
        case Status.FAILED:
            return None if sla.target is None else False
    return is_met(
        sla,
        throughput_bps=total.outcome.throughput_bps,
        duration_s=_compute_duration_s(total),
        energy=[EnergyReading(**dict(reading)) for reading in total.energy],
    )
