"""What pages tell of the last days: what was moved, agreements kept, tuned beside untuned; of all links or of one."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Protocol
from uuid import UUID

from services.application.logs.long_jobs import MAX_COUNTED
from services.application.monitoring.overview import (
    Day,
    Gain,
    MeteredEnds,
    SlaOutcomes,
    TunedTransfers,
    estimate_untuned,
)
from services.application.shared.unit_of_work import UnitOfWork

SINCE = timedelta(days=30)
LINKS_COMPARED = 8


class OutcomeRepository(Protocol):
    def tuned(self, since: date, *, limit: int, link_id: UUID | None = None) -> Sequence[TunedTransfers]: ...
    def sla_outcomes(self, since: date, link_id: UUID | None = None) -> SlaOutcomes: ...
    def days(self, since: date, link_id: UUID | None = None) -> Sequence[Day]: ...
    def metered(self, link_ids: Collection[UUID]) -> Mapping[UUID, Mapping[MeteredEnds, int]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewMetrics:
    """``waiting`` : days of links that have changed and are not added up yet; ``more`` of them than were counted."""

    since_days: int
    sla_outcomes: SlaOutcomes
    days: Sequence[Day]
    gains: Sequence[Gain]
    waiting: int

    @property
    def more(self) -> bool:
        return self.waiting == MAX_COUNTED


def read_overview_metrics(
    uow: UnitOfWork, release: int | None, now: datetime, link_id: UUID | None = None
) -> OverviewMetrics:
    """Of the rollups as they are: whoever shows them has made those that changed a moment ago."""
    since = (now - SINCE).date()
    tuned = uow.outcomes.tuned(since, limit=LINKS_COMPARED, link_id=link_id)
    return OverviewMetrics(
        since_days=SINCE.days,
        sla_outcomes=uow.outcomes.sla_outcomes(since, link_id),
        days=uow.outcomes.days(since, link_id),
        gains=[] if release is None else _gains(uow, release, tuned),
        waiting=uow.rollups.waiting(MAX_COUNTED),
    )


def _gains(uow: UnitOfWork, release: int, tuned: Sequence[TunedTransfers]) -> Sequence[Gain]:
    """Of each link that has a model: what was reached beside what its lowest setting is expected to reach."""
    link_ids = [each.link_id for each in tuned]
    lowest, metered = uow.models.lowest_settings(release, link_ids), uow.outcomes.metered(link_ids)
    return [
        Gain(tuned=each, untuned=estimate_untuned(lowest[each.link_id], metered[each.link_id]))
        for each in tuned
        if each.link_id in lowest
    ]
