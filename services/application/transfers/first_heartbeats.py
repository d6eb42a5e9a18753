"""What the first heartbeats of a transfer told, until the journal has them: who began it, and how it stands.

The journal is stored in batches, so that for some seconds the database does not know a transfer that lives.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from services.application.transfers.journal import TransferStart
from services.application.transfers.sessions import Sessions, SessionsUnreachable, TransferKey
from services.application.transfers.silence import silent_after_s
from tradewind.wire.heartbeats import Heartbeat
from tradewind.wire.recommendations import RecommendRequest
from tradewind.wire.transfers import TransferState, TransferSummary, TransferTimeline


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstHeartbeat:
    """JSON of the enquiry, of the last heartbeat and of its begin; when the service heard the first and the last."""

    enquiry: bytes
    heartbeat: bytes
    begun: bytes
    began_at: datetime
    heard_at: datetime


async def find_first_heartbeat(key: TransferKey, sessions: Sessions) -> FirstHeartbeat | None:
    """What is known of a transfer before it is journalled; nothing while the store of sessions is away."""
    try:
        return await sessions.find_first_heartbeat(key)
    except SessionsUnreachable:
        return None


def find_starting_key(told: FirstHeartbeat | None) -> UUID | None:
    """The key that began the transfer, if that is known."""
    return None if told is None else TransferStart.model_validate_json(told.begun).key_id


def build_timeline(transfer_id: UUID, told: FirstHeartbeat, now: datetime) -> TransferTimeline:
    """The transfer as it will be told of once it is journalled, without its samples."""
    enquiry, beat = RecommendRequest.model_validate_json(told.enquiry), Heartbeat.model_validate_json(told.heartbeat)
    expected = TransferStart.model_validate_json(told.begun).expected
    silent_at = told.heard_at + timedelta(seconds=silent_after_s(beat.interval_s))
    summary = TransferSummary(
        transfer_id=transfer_id,
        state=TransferState.LIVE if now < silent_at else TransferState.SILENT,
        source=enquiry.source,
        destination=enquiry.destination,
        network=enquiry.network,
        mover=enquiry.mover,
        sla=enquiry.sla.kind,
        file_count=enquiry.dataset.file_count,
        total_bytes=enquiry.dataset.total_bytes,
        started_at=told.began_at,
        last_heartbeat_at=told.heard_at,
        sequence=beat.sequence,
        journalled_sequence=-1,
        bytes_moved=beat.bytes_moved,
        throughput_bps=beat.throughput_bps,
        agreement_promised=expected.feasible,
    )
    asked = enquiry.model_dump(mode="json", exclude_none=True)
    return TransferTimeline(transfer=summary, enquiry=asked, expected=expected, samples=())
