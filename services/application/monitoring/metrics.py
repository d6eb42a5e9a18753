"""Metrics of the last days for pages: bytes moved, SLAs met, tuned against untuned; for all links or for one."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol, Self
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
    find_usual_ends,
)
from services.application.shared.unit_of_work import UnitOfWork

LINKS_COMPARED = 8


class Period(StrEnum):
    """The time up to now that pages sum up."""

    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the period of that name, or the longest."""
        return cls(text) if text in tuple(cls) else cls(cls.MONTH)

    @property
    def length(self) -> timedelta:
        return _LENGTHS[self]

    @property
    def in_words(self) -> str:
        return "24 hours" if self is Period.DAY else f"{self.length.days} days"

    def find_first_day(self, now: datetime) -> date:
        """Return the first of its days in UTC; today is one of them. Of 24 hours it is the day in which they begin."""
        since = (now - self.length).date()
        return since if self is Period.DAY else since + timedelta(days=1)


_LENGTHS: Mapping[Period, timedelta] = MappingProxyType(
    {Period.DAY: timedelta(hours=24), Period.WEEK: timedelta(days=7), Period.MONTH: timedelta(days=30)}
)


class OutcomeRepository(Protocol):
    """Daily sums of one tenant's transfers; a port because the application may not import persistence."""

    def list_tuned(self, since: date, *, limit: int, link_id: UUID | None = None) -> Sequence[TunedTransfers]: ...
    def count_sla_outcomes(self, since: date, link_id: UUID | None = None) -> SlaOutcomes: ...
    def count_latest_sla_outcomes(self, since: datetime, link_id: UUID | None = None) -> SlaOutcomes: ...
    def list_days(self, since: date, link_id: UUID | None = None) -> Sequence[Day]: ...
    def list_hours(self, since: datetime, link_id: UUID | None = None) -> Sequence[Day]: ...
    def count_metered(self, link_ids: Collection[UUID]) -> Mapping[UUID, Mapping[MeteredEnds, int]]: ...
    def count_metered_since(self, since: date, link_id: UUID | None = None) -> Mapping[MeteredEnds, int]: ...
    def sum_moved(self, *, limit: int) -> Sequence[MovedOnLink]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewMetrics:
    """Metrics of an overview.

    ``since`` : when the period began. ``days`` : of the shortest period, its hours. ``ends`` : at which its transfers
    were metered; ``None`` where they differ, so that their energies have no common meaning. ``waiting`` : changed days
    of links that are not summed yet; ``more`` : there are more than were counted.
    """

    period: Period
    since: datetime
    sla_outcomes: SlaOutcomes
    days: Sequence[Day]
    ends: MeteredEnds | None
    gains: Sequence[Gain]
    waiting: int

    @property
    def more(self) -> bool:
        return self.waiting == MAX_COUNTED


def read_overview_metrics(
    uow: UnitOfWork,
    release: int | None,
    now: datetime,
    link_id: UUID | None = None,
    *,
    period: Period = Period.MONTH,
) -> OverviewMetrics:
    """Read the metrics of a period from the sums, which the caller has updated; 24 hours begin with a full hour.

    Transfers are compared with untuned ones by the day.
    """
    day, by_hour = period.find_first_day(now), period is Period.DAY
    since = (now - period.length).replace(minute=0, second=0, microsecond=0)
    tuned = uow.outcomes.list_tuned(day, limit=LINKS_COMPARED, link_id=link_id)
    return OverviewMetrics(
        period=period,
        since=since if by_hour else datetime.combine(day, time(), tzinfo=UTC),
        sla_outcomes=(
            uow.outcomes.count_latest_sla_outcomes(since, link_id)
            if by_hour
            else uow.outcomes.count_sla_outcomes(day, link_id)
        ),
        days=uow.outcomes.list_hours(since, link_id) if by_hour else uow.outcomes.list_days(day, link_id),
        ends=find_usual_ends(uow.outcomes.count_metered_since(day, link_id)),
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
