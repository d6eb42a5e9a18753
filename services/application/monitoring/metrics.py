"""Metrics of the last days for pages: bytes moved, SLAs met, tuned against untuned; for all links or for one."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Protocol
from uuid import UUID

from services.application.logs.long_jobs import MAX_COUNTED
from services.application.monitoring.gain import MovedOnLink
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
    """Daily sums of one tenant's transfers; a port because the application may not import persistence."""

    def list_tuned(self, since: date, *, limit: int, link_id: UUID | None = None) -> Sequence[TunedTransfers]: ...
    def count_sla_outcomes(self, since: date, link_id: UUID | None = None) -> SlaOutcomes: ...
    def list_days(self, since: date, link_id: UUID | None = None) -> Sequence[Day]: ...
    def count_metered(self, link_ids: Collection[UUID]) -> Mapping[UUID, Mapping[MeteredEnds, int]]: ...
    def sum_moved(self, *, limit: int) -> Sequence[MovedOnLink]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewMetrics:
    """Metrics of an overview.

    ``waiting`` : changed days of links that are not summed yet; ``more`` : there are more than were counted.
    """

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
    """Read the metrics from the daily sums; the caller has updated the latest ones."""
    since = (now - SINCE).date()
    tuned = uow.outcomes.list_tuned(since, limit=LINKS_COMPARED, link_id=link_id)
    return OverviewMetrics(
        since_days=SINCE.days,
        sla_outcomes=uow.outcomes.count_sla_outcomes(since, link_id),
        days=uow.outcomes.list_days(since, link_id),
        gains=[] if release is None else _compare_links(uow, release, tuned),
        waiting=uow.rollups.count_waiting(MAX_COUNTED),
    )


def _compare_links(uow: UnitOfWork, release: int, tuned: Sequence[TunedTransfers]) -> Sequence[Gain]:
    """Compare for each link with a model what was reached with what its lowest setting is expected to reach."""
    link_ids = [transfers.link_id for transfers in tuned]
    lowest, metered = uow.models.find_lowest_settings(release, link_ids), uow.outcomes.count_metered(link_ids)
    return [
        Gain(tuned=transfers, untuned=estimate_untuned(lowest[transfers.link_id], metered[transfers.link_id]))
        for transfers in tuned
        if transfers.link_id in lowest
    ]
