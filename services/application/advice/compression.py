"""What transfers observed of codecs, and the advice that follows from it."""

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
from tradewind.compression.prior import build_typical_probe, load_packaged_history
from tradewind.path import Path
from tradewind.recommendation import AnswerSource, Recommendation
from tradewind.units import format_count
from tradewind.wire.compression import AdviceRequest, ExpectedRates, FileClassRequest, WireObservation

FRESH_S = 60.0
"""Time for which a tenant's history is used from memory before it is read again."""

MAX_TENANTS = 1000
"""Histories in memory at once."""

MAX_OF_A_TENANT = 5000
"""Observations stored of all cases together; bounded because a machine's name is any text. API keys share the room
equally, so that none drives out what the agents of another have seen.
"""

MAX_OF_A_KEY = 40
"""Newest observations stored of a setting, kind, size and machine: twice what an estimate uses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenObservation:
    id: UUID
    seen_at: datetime
    observation: CodecObservation


class CompressionHistory(Protocol):
    """Observations of one tenant; a port because the application may not import persistence."""

    def add(self, seen: Sequence[SeenObservation]) -> int:
        """Store the observations that are not stored yet; return how many were new.

        Older ones beyond ``MAX_OF_A_KEY`` of a case are removed, and beyond ``MAX_OF_A_TENANT`` those of the API keys
        that have most.
        """

    def list_all(self) -> Sequence[CodecObservation]:
        """Return the observations in order of time."""

    def list_learned(self) -> Sequence[CodecStatistics]:
        """Return statistics by setting, those of most observations first."""

    def list_machines(self) -> Sequence[str]:
        """Return the machines that compressed, the one seen last first."""


def store_observations(observations: Sequence[WireObservation], *, uow: UnitOfWork, clock: Clock) -> int:
    """Store observations of transfers, each once; return how many were new.

    No time is later than the arrival, whatever the sender's clock says: it would count as the newest for ever.

    Raises
    ------
    InvalidValue : a level that its codec does not have.
    """
    now = clock.now()
    seen = [
        SeenObservation(id=wire.id, seen_at=min(wire.seen_at, now), observation=wire.to_observation())
        for wire in observations
    ]
    added = uow.compression.add(seen)
    uow.commit()
    return added


@dataclass(frozen=True, slots=True)
class _CachedHistory:
    history: History
    count: int
    read_at_s: float


class Histories:
    """The history of each tenant on top of the packaged one, read again after ``FRESH_S``."""

    def __init__(
        self,
        units: Callable[[UUID], AbstractContextManager[UnitOfWork]],
        monotonic_s: Callable[[], float],
    ) -> None:
        self._units, self._monotonic_s = units, monotonic_s
        self._held: dict[UUID, _CachedHistory] = {}
        self._changes: Counter[UUID] = Counter()

    def count_changes(self, tenant_id: UUID) -> int:
        """Return how often a history changed, so that a call after a change does not use what was read before it."""
        return self._changes[tenant_id]

    def find_cached(self, tenant_id: UUID) -> tuple[History, int] | None:
        """Return the tenant's history and the count of its own observations; ``None`` where it has to be read."""
        found = self._held.get(tenant_id)
        return (found.history, found.count) if found is not None and self._is_fresh(found) else None

    def _is_fresh(self, held: _CachedHistory) -> bool:
        return self._monotonic_s() - held.read_at_s <= FRESH_S

    def load(self, tenant_id: UUID) -> tuple[History, int]:
        """Read a tenant's history from the database."""
        changes = self._changes[tenant_id]
        with self._units(tenant_id) as uow:
            own = uow.compression.list_all()
        held = _CachedHistory(load_packaged_history().extend(own), len(own), self._monotonic_s())
        if self._changes[tenant_id] == changes:
            for other in [each for each, old in tuple(self._held.items()) if not self._is_fresh(old)]:
                self._held.pop(other, None)
            if len(self._held) >= MAX_TENANTS:
                self._held.pop(next(iter(self._held)), None)
            self._held[tenant_id] = held
        return held.history, held.count

    def forget(self, tenant_id: UUID) -> None:
        """Drop a history that has changed; a read in progress may lack the change and is not cached."""
        self._changes[tenant_id] += 1
        self._held.pop(tenant_id, None)


@dataclass(frozen=True, slots=True)
class CompressionAdvice:
    """Advice with ``source``, which says as text what its expectations are based on."""

    advice: CodecAdvice
    sampled: bool
    source: str


def estimate_baseline(recommendation: Recommendation, path: Path, request: FileClassRequest) -> ExpectedRates:
    """Return what uncompressed files reach at the recommended setting, and what connections of packed ones carry."""
    predicted_bps = recommendation.predicted.throughput_bps.mean
    known = recommendation.source is not AnswerSource.HEURISTIC or path.bandwidth_bps is not None
    reached_bps = discount_assumed_rate(predicted_bps, path_is_known=known)
    return ExpectedRates(reached_bps, min(_share(recommendation, request) * predicted_bps, reached_bps))


def _share(recommendation: Recommendation, request: FileClassRequest) -> float:
    """Return the share of the recommended setting's rate that the requested connections reach, by the table."""
    chunk = next(
        each for each in recommendation.plan if each.max_file_bytes is None or request.file_bytes <= each.max_file_bytes
    )
    table = recommendation.tables.get(chunk.chunk)
    settings = () if table is None else table.predicted.settings
    few = [each.log_throughput_mean for each in settings if each.parameters.streams <= request.connections]
    enough = [each.log_throughput_mean for each in settings if each.parameters.streams <= chunk.parameters.streams]
    if not few or not enough:
        return min(request.connections / chunk.parameters.streams, 1.0)
    return min(math.exp(max(few) - max(enough)), 1.0)


def to_query(request: AdviceRequest) -> CompressionQuery:
    """Return the question of a request; a file without a sample counts as usual of its kind."""
    return request.to_query(build_typical_probe(request.kind))


def to_class_query(request: FileClassRequest, recommendation: Recommendation, path: Path) -> CompressionQuery:
    """Return the question of files that are sent with those of a recommendation."""
    return request.to_query(build_typical_probe(request.kind), estimate_baseline(recommendation, path, request))


def advise_from_history(question: CompressionQuery, history: History, own_count: int) -> CompressionAdvice:
    """Return advice from the tenant's history, or from the packaged one where the tenant has none."""
    basis = f"{format_count(own_count, 'observation')} of this tenant" if own_count else "the packaged measurements"
    source = f"a sample of the file and {basis}" if question.sampled else basis
    return CompressionAdvice(advise(question, history), question.sampled, source)
