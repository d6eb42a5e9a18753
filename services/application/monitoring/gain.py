"""What tuning would have gained on each link of a tenant's history: read by the API and by the page *Gain*."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from services.application.logs.long_jobs import MAX_COUNTED
from services.application.monitoring.overview import find_usual_ends
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.gain import DAYS_ENOUGH, LinkGain, MovedTotals, compute_link_gain
from tradewind.prediction import Interval
from tradewind.transfer import LinkKey

MOST_LINKS = 50
"""Links in a report: those with most transfer time. The others are counted."""


@dataclass(frozen=True, slots=True)
class ReportedLink:
    id: UUID
    key: LinkKey
    gain: LinkGain


@dataclass(frozen=True, slots=True, kw_only=True)
class GainReport:
    """The gains of the links with most transfer time, those first that would save most.

    ``links_left_out`` : links with less time. ``waiting`` : changed days that are not in the sums yet.
    """

    made_at: datetime
    release: int | None
    links: Sequence[ReportedLink]
    links_left_out: int
    waiting: int

    @property
    def saved_hours_a_month(self) -> Interval | None:
        """Hours of all links together, as if their errors were fully correlated; ``None`` without an answer."""
        known = [saved for each in self.links if (saved := each.gain.saved_hours_a_month) is not None]
        return Interval(*(sum(column) for column in zip(*known, strict=True))) if known else None

    @property
    def saved_j_a_month(self) -> float | None:
        known = [saved for each in self.links if (saved := each.gain.saved_j_a_month) is not None]
        return sum(known) if known else None

    @property
    def extrapolated_days(self) -> int | None:
        """Days of logs of the link with fewest, where these are too few for a month; ``None`` where none are."""
        days = [each.gain.moved.days for each in self.links if each.gain.saved_hours_a_month]
        return min((each for each in days if each < DAYS_ENOUGH), default=None)

    @property
    def is_complete(self) -> bool:
        return self.waiting < MAX_COUNTED


def read_gain_report(uow: UnitOfWork, now: datetime, *, most_links: int = MOST_LINKS) -> GainReport:
    """Compute the report from the daily sums and the models of the current release.

    The caller has updated the sums of the latest days. Memory and time depend on the number of links and settings, not
    on that of transfers.
    """
    release = uow.releases.find_current()
    moved = uow.outcomes.sum_moved(limit=most_links)
    link_ids = [each.link_id for each in moved]
    leaves = {} if release is None else uow.models.list_fastest(release, link_ids)
    reasons = {} if release is None else uow.models.list_reasons(release)
    metered = uow.outcomes.count_metered(link_ids)
    known = uow.links.list_all()
    keys, rows = ({link.id: link.key for link in known}, {link.id: link.rows for link in known})
    judged = leaves.keys() | reasons.keys()
    links = [
        ReportedLink(
            each.link_id,
            keys[each.link_id],
            compute_link_gain(
                each.to_totals(comparable=find_usual_ends(metered.get(each.link_id, {})) is not None),
                leaves.get(each.link_id, ()),
                reasons.get(each.link_id),
                waiting_logs=None if each.link_id in judged else rows[each.link_id],
            ),
        )
        for each in moved
        if each.link_id in keys
    ]
    return GainReport(
        made_at=now,
        release=release,
        links=sorted(links, key=lambda each: each.gain.rank),
        links_left_out=max(sum(link.rows > 0 for link in known) - len(links), 0),
        waiting=uow.rollups.count_waiting(MAX_COUNTED),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedOnLink:
    """Sums of a link over all days, as they are stored."""

    link_id: UUID
    totals: MovedTotals

    def to_totals(self, *, comparable: bool) -> MovedTotals:
        """Return the sums; without energy where its transfers were not metered at the same ends."""
        return self.totals if comparable else self.totals.leave_out_energy()
