"""What transfers have seen of codecs, and the advice that follows from it."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from services.application.advice.codec_outlook import CodecStatistics
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.compression.advice import CodecAdvice, CompressionQuery, advise, discount_assumed_rate
from tradewind.compression.history import CodecObservation, History
from tradewind.compression.prior import load_packaged_history, typical_probe
from tradewind.path import Path
from tradewind.recommendation import AnswerSource, Recommendation
from tradewind.units import format_count
from tradewind.wire.compression import AdviceRequest, ExpectedRates, FileClassRequest, WireObservation

FRESH_S = 60.0
"""For how long a tenant's history is answered from memory before it is read anew."""

MOST_TENANTS = 1000
"""Histories in memory at once."""

MOST_OF_A_TENANT = 5000
"""Observations that are kept of all keys together, the newest: what machines are called is any text."""

KEPT_OF_A_KEY = 40
"""Newest observations of a setting, kind, size and machine that are kept: twice what an estimate remembers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenObservation:
    id: UUID
    seen_at: datetime
    observation: CodecObservation


class CompressionHistory(Protocol):
    def add(self, seen: Sequence[SeenObservation]) -> int:
        """Keep those that are not known; how many were new.

        What is beyond ``KEPT_OF_A_KEY`` of their keys is dropped, and beyond ``MOST_OF_A_TENANT`` of all.
        """

    def all(self) -> Sequence[CodecObservation]:
        """In order of time."""

    def learned(self) -> Sequence[CodecStatistics]:
        """By setting, those of most observations first."""

    def machines(self) -> Sequence[str]:
        """That have packed, the one seen last first."""


def store_observations(told: Sequence[WireObservation], *, uow: UnitOfWork, clock: Clock) -> int:
    """Store what transfers have seen, each once; how many were new.

    None was seen later than it has come, whatever its sender's clock says: it would count as the newest for ever.

    Raises
    ------
    InvalidValue : a level that its codec does not have.
    """
    now = clock.now()
    seen = [
        SeenObservation(id=each.id, seen_at=min(each.seen_at, now), observation=each.to_observation()) for each in told
    ]
    kept = uow.compression.add(seen)
    uow.commit()
    return kept


@dataclass(frozen=True, slots=True)
class _Held:
    history: History
    count: int
    read_at_s: float


class Histories:
    """The history of each tenant on top of the packaged one, read anew after ``FRESH_S``."""

    def __init__(
        self,
        units: Callable[[UUID], AbstractContextManager[UnitOfWork]],
        monotonic_s: Callable[[], float],
    ) -> None:
        self._units, self._monotonic_s = units, monotonic_s
        self._held: dict[UUID, _Held] = {}
        self._changes: Counter[UUID] = Counter()

    def changes(self, tenant_id: UUID) -> int:
        """How often it has changed: who asks after a change is not answered by what was read before it."""
        return self._changes[tenant_id]

    def held(self, tenant_id: UUID) -> tuple[History, int] | None:
        """The tenant's history and how many observations of its own it has; ``None`` where it has to be read."""
        found = self._held.get(tenant_id)
        return (found.history, found.count) if found is not None and self._is_fresh(found) else None

    def _is_fresh(self, held: _Held) -> bool:
        return self._monotonic_s() - held.read_at_s <= FRESH_S

    def load(self, tenant_id: UUID) -> tuple[History, int]:
        """Read it: a database is asked."""
        changes = self._changes[tenant_id]
        with self._units(tenant_id) as uow:
            own = uow.compression.all()
        held = _Held(load_packaged_history().extend(own), len(own), self._monotonic_s())
        if self._changes[tenant_id] == changes:
            for other in [each for each, old in tuple(self._held.items()) if not self._is_fresh(old)]:
                self._held.pop(other, None)
            if len(self._held) >= MOST_TENANTS:
                self._held.pop(next(iter(self._held)), None)
            self._held[tenant_id] = held
        return held.history, held.count

    def forget(self, tenant_id: UUID) -> None:
        """It has changed; what is being read meanwhile may be without the change."""
        self._changes[tenant_id] += 1
        self._held.pop(tenant_id, None)


@dataclass(frozen=True, slots=True)
class CompressionAdvice:
    """``source`` : what the expectations rest on, in words."""

    advice: CodecAdvice
    sampled: bool
    source: str


def estimate_baseline(recommendation: Recommendation, path: Path, asked: FileClassRequest) -> ExpectedRates:
    """What files reach as they are, at the recommended setting, and what the connections of packed ones carry."""
    predicted_bps = recommendation.predicted.throughput_bps.mean
    known = recommendation.source is not AnswerSource.HEURISTIC or path.bandwidth_bps is not None
    reached_bps = discount_assumed_rate(predicted_bps, path_is_known=known)
    return ExpectedRates(reached_bps, min(_share(recommendation, asked) * predicted_bps, reached_bps))


def _share(recommendation: Recommendation, asked: FileClassRequest) -> float:
    """Of what the recommended setting is expected to reach, the share of so many streams, as the table tells it."""
    chunk = next(
        each for each in recommendation.plan if each.max_file_bytes is None or asked.file_bytes <= each.max_file_bytes
    )
    table = recommendation.tables.get(chunk.chunk)
    settings = () if table is None else table.predicted.settings
    few = [each.log_throughput_mean for each in settings if each.parameters.streams <= asked.connections]
    enough = [each.log_throughput_mean for each in settings if each.parameters.streams <= chunk.parameters.streams]
    if not few or not enough:
        return min(asked.connections / chunk.parameters.streams, 1.0)
    return min(math.exp(max(few) - max(enough)), 1.0)


def to_query(asked: AdviceRequest) -> CompressionQuery:
    """A file and a path in the words of the domain; one that was not sampled is taken for usual of its kind."""
    return asked.to_query(typical_probe(asked.kind))


def to_class_question(asked: FileClassRequest, recommendation: Recommendation, path: Path) -> CompressionQuery:
    """Likewise of files that go beside those of a recommendation."""
    return asked.to_query(typical_probe(asked.kind), estimate_baseline(recommendation, path, asked))


def advise_from_history(question: CompressionQuery, history: History, own_count: int) -> CompressionAdvice:
    """Advice from the tenant's history, where it has none from the packaged one."""
    of = f"{format_count(own_count, 'observation')} of this tenant" if own_count else "the packaged measurements"
    source = f"a sample of the file and {of}" if question.sampled else of
    return CompressionAdvice(advise(question, history), question.sampled, source)
