"""What is known of a transfer until the journal has its first heartbeats: who started it, and its state.

The journal is stored in batches, so the database lacks a new live transfer for some seconds.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from services.application.transfers.repository import TransferStart
from services.application.transfers.sessions import Sessions, SessionsUnreachable, TransferKey
from services.application.transfers.silence import compute_silence_limit_s
from tradewind.wire.heartbeats import Heartbeat
from tradewind.wire.recommendations import RecommendRequest
from tradewind.wire.transfers import TransferState, TransferSummary, TransferTimeline


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstHeartbeat:
    """The request, the last heartbeat and the start of a transfer as JSON, with the times of its heartbeats.

    ``started_at``, ``heard_at`` : when the service received the first and the last one.
    """

    request: bytes
    heartbeat: bytes
    start: bytes
    started_at: datetime
    heard_at: datetime


async def find_first_heartbeat(key: TransferKey, sessions: Sessions) -> FirstHeartbeat | None:
    """Return what is known of a transfer before it is journalled; ``None`` while sessions are unreachable."""
    try:
        return await sessions.find_first_heartbeat(key)
    except SessionsUnreachable:
        return None


def find_starting_key(first: FirstHeartbeat | None) -> UUID | None:
    """Return the key that started the transfer, if it is known."""
    return None if first is None else TransferStart.model_validate_json(first.start).key_id


def build_timeline(transfer_id: UUID, first: FirstHeartbeat, now: datetime) -> TransferTimeline:
    """Return the transfer as the API shows it once it is journalled, without its samples."""
    request, beat = RecommendRequest.model_validate_json(first.request), Heartbeat.model_validate_json(first.heartbeat)
    expected = TransferStart.model_validate_json(first.start).expected
    silent_at = first.heard_at + timedelta(seconds=compute_silence_limit_s(beat.interval_s))
    summary = TransferSummary(
        transfer_id=transfer_id,
        state=TransferState.LIVE if now < silent_at else TransferState.SILENT,
        source=request.source,
        destination=request.destination,
        network=request.network,
        mover=request.mover,
        sla=request.sla.kind,
        file_count=request.dataset.file_count,
        total_bytes=request.dataset.total_bytes,
        started_at=first.started_at,
        last_heartbeat_at=first.heard_at,
        sequence=beat.sequence,
        journalled_sequence=-1,
        bytes_moved=beat.bytes_moved,
        throughput_bps=beat.throughput_bps,
        agreement_promised=expected.feasible,
    )
    request_json = request.model_dump(mode="json", exclude_none=True)
    return TransferTimeline(transfer=summary, enquiry=request_json, expected=expected, samples=())
