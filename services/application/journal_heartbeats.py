"""Heartbeats that were answered, from the stream into the database: first committed, then acknowledged.

Whatever dies between the two makes an entry come again, which stores nothing twice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Protocol, Self
from uuid import UUID

import orjson
from pydantic import ValidationError

from services.application.ports import Clock
from services.application.silence import silent_after_s
from services.application.transfer_journal import TransferJournal, TransferNews, Workload
from services.application.tuning_sessions import TransferKey
from tradewind.errors import InvalidValue, TradewindError, Unavailable
from tradewind.wire.base import reason_of
from tradewind.wire.heartbeats import Heartbeat, SpooledHeartbeat
from tradewind.wire.recommendations import RecommendRequest

BATCH = 1_000
MAX_BATCHES = 100
"""A run ends after so many; the next one goes on."""

OLDEST_BELIEVED = timedelta(days=30)
"""A stream whose entries are older, or from the future, has no clock that is worth anything."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One answered heartbeat in the stream, as it was put there; ``token`` names it."""

    token: str
    heard_at: datetime
    fields: Mapping[str, bytes]


class HandedOver(Protocol):
    """The stream of answered heartbeats. Each entry is given to one taker, and again when that one has died."""

    def take(self, limit: int) -> Sequence[Entry]: ...

    def settle(self, entries: Sequence[Entry], journalled: Mapping[TransferKey, int]) -> None:
        """Let sessions tell what is journalled, then forget the entries."""

    def give_back(self, entries: Sequence[Entry]) -> None:
        """Let the next taker have what is not settled of these, whoever it is."""


class JournalUnitOfWork(Protocol):
    """A transaction of one tenant."""

    @property
    def journal(self) -> TransferJournal: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
    def commit(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Answered:
    """A heartbeat with its decision, of the transfer that its enquiry began."""

    entry: Entry
    key: TransferKey
    workload: Workload
    beat: SpooledHeartbeat


@dataclass(frozen=True, slots=True)
class Run:
    """What became of the entries of a run."""

    stored: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class HeartbeatJournal:
    """Parameters
    ----------
    on_dropped : told of each entry that cannot be stored, and why.
    """

    handed_over: HandedOver
    unit_of_work: Callable[[UUID], JournalUnitOfWork]
    clock: Clock
    on_dropped: Callable[[Entry, str], None]

    def run(self) -> Run:
        """Store what is in the stream, batch by batch.

        Raises
        ------
        Unavailable : the database or the stream is away; what was not acknowledged comes again.
        """
        done = Run()
        for _ in range(MAX_BATCHES):
            entries = self.handed_over.take(BATCH)
            try:
                stored = self._store(entries)
            except Unavailable:
                self.handed_over.give_back(entries)
                raise
            done = Run(done.stored + stored, done.dropped + len(entries) - stored)
            if len(entries) < BATCH:
                break
        return done

    def _store(self, entries: Sequence[Entry]) -> int:
        by_tenant: dict[UUID, list[Answered]] = {}
        dropped: list[Entry] = []
        for entry in entries:
            try:
                answered = read(entry)
            except InvalidValue as wrong:
                self.on_dropped(entry, str(wrong))
                dropped.append(entry)
            else:
                by_tenant.setdefault(answered.key.tenant_id, []).append(answered)
        if dropped:
            self.handed_over.settle(dropped, {})
        return sum(self._store_of_tenant(tenant_id, answered) for tenant_id, answered in by_tenant.items())

    def _store_of_tenant(self, tenant_id: UUID, answered: Sequence[Answered]) -> int:
        """Store in one transaction; what it refuses is narrowed down by halves, so that it holds up nothing else."""
        entries = [each.entry for each in answered]
        try:
            journalled = self._commit(tenant_id, answered)
        except Exception as error:
            if isinstance(error, TradewindError) and error.retryable:
                raise
            if len(answered) > 1:
                half = len(answered) // 2
                return sum(self._store_of_tenant(tenant_id, part) for part in (answered[:half], answered[half:]))
            self.on_dropped(entries[0], repr(error))
            self.handed_over.settle(entries, {})
            return 0
        self.handed_over.settle(entries, journalled)
        return len(answered)

    def _commit(self, tenant_id: UUID, answered: Sequence[Answered]) -> Mapping[TransferKey, int]:
        news = news_of(answered, self.clock.now())
        with self.unit_of_work(tenant_id) as work:
            work.journal.note(news)
            work.journal.add(news)
            journalled = work.journal.advance([each.transfer_id for each in news])
            work.commit()
        return {TransferKey(tenant_id, transfer_id): sequence for transfer_id, sequence in journalled.items()}


def news_of(answered: Sequence[Answered], now: datetime) -> Sequence[TransferNews]:
    """By transfer; of a sequence number that came twice the one heard last stands.

    In the order of their hearing, which a batch need not have: what another taker left behind comes first in it.
    """
    by_transfer: dict[UUID, list[Answered]] = {}
    for each in sorted(answered, key=lambda each: each.entry.heard_at):
        by_transfer.setdefault(each.key.transfer_id, []).append(each)
    return [_news(transfer_id, told, now) for transfer_id, told in by_transfer.items()]


def _news(transfer_id: UUID, told: Sequence[Answered], now: datetime) -> TransferNews:
    first, last = told[0], told[-1]
    heard_at = _believed(last.entry.heard_at, now)
    return TransferNews(
        transfer_id=transfer_id,
        workload=first.workload,
        started_at=_believed(first.entry.heard_at, now),
        heard_at=heard_at,
        silent_at=heard_at + timedelta(seconds=silent_after_s(last.beat.heartbeat.interval_s)),
        beats={each.beat.heartbeat.sequence: each.beat for each in told},
    )


def _believed(heard_at: datetime, now: datetime) -> datetime:
    return heard_at if now - OLDEST_BELIEVED < heard_at <= now else now


def read(entry: Entry) -> Answered:
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
        return Answered(entry, key, Workload.asked(enquiry), beat)
    except ValidationError as invalid:
        raise reason_of(invalid.errors(include_url=False, include_context=False)[0]) from None
    except KeyError as missing:
        raise InvalidValue(str(missing.args[0]), "is missing") from None
    except (TypeError, ValueError) as error:
        raise InvalidValue("entry", f"cannot be read: {error}") from None
