"""Heartbeats that were answered, from the stream into the database."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import orjson
from pydantic import ValidationError

from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from services.application.transfers.journal import TransferNews, TransferStart, Workload
from services.application.transfers.sessions import TransferKey
from services.application.transfers.silence import silent_after_s
from services.application.transfers.stream_journal import Entry, StreamJournal
from tradewind.errors import InvalidValue
from tradewind.wire.base import describe_validation_error
from tradewind.wire.heartbeats import Heartbeat, SpooledHeartbeat
from tradewind.wire.recommendations import RecommendRequest

OLDEST_BELIEVED = timedelta(days=30)
"""A stream whose entries are older, or from the future, has no clock that is worth anything."""


@dataclass(frozen=True, slots=True)
class AnsweredHeartbeat:
    """A heartbeat with its decision, of the transfer that its enquiry began; the first one tells of its begin.

    ``owner`` : key that its session belongs to, ``None`` of entries that say nothing of it.
    """

    entry: Entry
    key: TransferKey
    workload: Workload
    beat: SpooledHeartbeat
    begun: TransferStart | None
    owner: UUID | None

    @property
    def tenant_id(self) -> UUID:
        return self.key.tenant_id


@dataclass(frozen=True)
class HeartbeatJournal(StreamJournal[AnsweredHeartbeat]):
    unit_of_work: Callable[[UUID], UnitOfWork]
    clock: Clock

    def read(self, entry: Entry) -> AnsweredHeartbeat:
        return parse_entry(entry)

    def store(self, tenant_id: UUID, told: Sequence[AnsweredHeartbeat]) -> Mapping[TransferKey, int]:
        news = to_news(told, self.clock.now())
        with self.unit_of_work(tenant_id) as work:
            work.journal.note(news)
            work.journal.add(news)
            journalled = work.journal.advance([each.transfer_id for each in news])
            work.commit()
        return {TransferKey(tenant_id, transfer_id): sequence for transfer_id, sequence in journalled.items()}


def to_news(answered: Sequence[AnsweredHeartbeat], now: datetime) -> Sequence[TransferNews]:
    """By transfer and owner; of a sequence number that came twice the one heard last stands.

    In the order of their hearing, which a batch need not have: what another taker left behind comes first in it.
    """
    by_transfer: dict[tuple[UUID, UUID | None], list[AnsweredHeartbeat]] = {}
    for each in sorted(answered, key=lambda each: each.entry.heard_at):
        by_transfer.setdefault((each.key.transfer_id, each.owner), []).append(each)
    return [_news(transfer_id, owner, told, now) for (transfer_id, owner), told in by_transfer.items()]


def _news(transfer_id: UUID, owner: UUID | None, told: Sequence[AnsweredHeartbeat], now: datetime) -> TransferNews:
    first, last = told[0], told[-1]
    heard_at = _believed(last.entry.heard_at, now)
    return TransferNews(
        transfer_id=transfer_id,
        owner=owner,
        workload=first.workload,
        started_at=_believed(first.entry.heard_at, now),
        heard_at=heard_at,
        silent_at=heard_at + timedelta(seconds=silent_after_s(last.beat.heartbeat.interval_s)),
        beats={each.beat.heartbeat.sequence: each.beat for each in told},
        begun=next((each.begun for each in told if each.begun is not None), None),
    )


def _believed(heard_at: datetime, now: datetime) -> datetime:
    return heard_at if now - OLDEST_BELIEVED < heard_at <= now else now


def parse_entry(entry: Entry) -> AnsweredHeartbeat:
    """The entry in the words of the domain.

    Raises
    ------
    InvalidValue : it is not what answering a heartbeat puts there.
    """
    fields = entry.fields
    try:
        key = TransferKey(UUID(fields["tenant"].decode()), UUID(fields["transfer"].decode()))
        decision = orjson.loads(fields["decision"])
        decision["chunks"] = [{"chunk": kind, "parameters": known} for kind, _, known in decision["chunks"]]
        beat = SpooledHeartbeat(heartbeat=Heartbeat.model_validate_json(fields["heartbeat"]), **decision)
        enquiry = beat.heartbeat.enquiry or RecommendRequest.model_validate_json(fields["enquiry"])
        begun = TransferStart.model_validate_json(fields["begun"]) if "begun" in fields else None
        owner = UUID(fields["owner"].decode()) if "owner" in fields else None
        return AnsweredHeartbeat(entry, key, Workload.asked(enquiry), beat, begun, owner)
    except ValidationError as invalid:
        raise describe_validation_error(invalid.errors(include_url=False, include_context=False)[0]) from None
    except KeyError as missing:
        raise InvalidValue(str(missing.args[0]), "is missing") from None
    except (TypeError, ValueError) as error:
        raise InvalidValue("entry", f"cannot be read: {error}") from None
