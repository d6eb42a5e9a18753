"""Store answered heartbeats from the stream in the database."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import orjson
from pydantic import ValidationError

from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from services.application.transfers.repository import TransferNews, TransferStart, Workload
from services.application.transfers.sessions import TransferKey
from services.application.transfers.silence import compute_silence_limit_s
from services.application.transfers.stream_consumer import StreamConsumer, StreamEntry
from tradewind.errors import InvalidValue
from tradewind.wire.base import describe_validation_error
from tradewind.wire.heartbeats import Heartbeat, SpooledHeartbeat
from tradewind.wire.recommendations import RecommendRequest

MAX_AGE = timedelta(days=30)
"""The clock of a stream is not trusted where its entries are older than this, or from the future."""


@dataclass(frozen=True, slots=True)
class AnsweredHeartbeat:
    """A heartbeat with its decision. ``start`` : the start of its transfer, with the first heartbeat only.

    ``owner`` : key that its session belongs to, ``None`` where the entry has none.
    """

    entry: StreamEntry
    key: TransferKey
    workload: Workload
    beat: SpooledHeartbeat
    start: TransferStart | None
    owner: UUID | None

    @property
    def tenant_id(self) -> UUID:
        return self.key.tenant_id


@dataclass(frozen=True)
class HeartbeatConsumer(StreamConsumer[AnsweredHeartbeat]):
    unit_of_work: Callable[[UUID], UnitOfWork]
    clock: Clock

    def read(self, entry: StreamEntry) -> AnsweredHeartbeat:
        return parse_entry(entry)

    def store(self, tenant_id: UUID, entries: Sequence[AnsweredHeartbeat]) -> Mapping[TransferKey, int]:
        news = to_news(entries, self.clock.now())
        with self.unit_of_work(tenant_id) as work:
            work.journal.note(news)
            work.journal.add(news)
            journalled = work.journal.advance([transfer.transfer_id for transfer in news])
            work.commit()
        return {TransferKey(tenant_id, transfer_id): sequence for transfer_id, sequence in journalled.items()}


def to_news(answered: Sequence[AnsweredHeartbeat], now: datetime) -> Sequence[TransferNews]:
    """Group heartbeats by transfer and owner; the last one received of a sequence number counts.

    They are sorted by time of arrival first: in a batch, entries that another taker left come first.
    """
    by_transfer: dict[tuple[UUID, UUID | None], list[AnsweredHeartbeat]] = {}
    for beat in sorted(answered, key=lambda beat: beat.entry.heard_at):
        by_transfer.setdefault((beat.key.transfer_id, beat.owner), []).append(beat)
    return [_to_news(transfer_id, owner, beats, now) for (transfer_id, owner), beats in by_transfer.items()]


def _to_news(transfer_id: UUID, owner: UUID | None, beats: Sequence[AnsweredHeartbeat], now: datetime) -> TransferNews:
    first, last = beats[0], beats[-1]
    heard_at = _find_trusted_time(last.entry.heard_at, now)
    return TransferNews(
        transfer_id=transfer_id,
        owner=owner,
        workload=first.workload,
        started_at=_find_trusted_time(first.entry.heard_at, now),
        heard_at=heard_at,
        silent_at=heard_at + timedelta(seconds=compute_silence_limit_s(last.beat.heartbeat.interval_s)),
        beats={answered.beat.heartbeat.sequence: answered.beat for answered in beats},
        start=next((answered.start for answered in beats if answered.start is not None), None),
    )


def _find_trusted_time(heard_at: datetime, now: datetime) -> datetime:
    return heard_at if now - MAX_AGE < heard_at <= now else now


def parse_entry(entry: StreamEntry) -> AnsweredHeartbeat:
    """Parse an entry of the stream.

    Raises
    ------
    InvalidValue : a field is missing or wrong.
    """
    fields = entry.fields
    try:
        key = TransferKey(UUID(fields["tenant"].decode()), UUID(fields["transfer"].decode()))
        decision = orjson.loads(fields["decision"])
        decision["chunks"] = [{"chunk": kind, "parameters": known} for kind, _, known in decision["chunks"]]
        beat = SpooledHeartbeat(heartbeat=Heartbeat.model_validate_json(fields["heartbeat"]), **decision)
        request = beat.heartbeat.enquiry or RecommendRequest.model_validate_json(fields["enquiry"])
        start = TransferStart.model_validate_json(fields["begun"]) if "begun" in fields else None
        owner = UUID(fields["owner"].decode()) if "owner" in fields else None
        return AnsweredHeartbeat(entry, key, Workload.from_request(request), beat, start, owner)
    except ValidationError as invalid:
        raise describe_validation_error(invalid.errors(include_url=False, include_context=False)[0]) from None
    except KeyError as missing:
        raise InvalidValue(str(missing.args[0]), "is missing") from None
    except (TypeError, ValueError) as error:
        raise InvalidValue("entry", f"cannot be read: {error}") from None
