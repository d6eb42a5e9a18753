"""Links with what the current release knows of them, for lists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from services.application.models.learned_model import ModelOverview, StoredLink
from services.application.models.sla_tiers import OpenTiers
from services.application.shared.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedLink:
    """A link with what the current release knows of it.

    ``reason`` : why its newest logs gave no model. ``verdict`` : the metrics of its newest fit.
    """

    link: StoredLink
    labels: Sequence[str]
    model: ModelOverview | None
    reason: str | None
    verdict: Mapping[str, Any] | None
    tiers: OpenTiers | None

    @property
    def accuracy(self) -> float | None:
        return None if self.verdict is None else self.verdict.get("accuracy")


def read_links(uow: UnitOfWork, now: datetime) -> Sequence[ListedLink]:
    """Return all links, those with most logs first."""
    release = uow.releases.find_current()
    book = next((each for each in uow.price_books.list_without_prices() if each.is_current(now)), None)
    known = {} if release is None else uow.models.list_overviews(release)
    reasons = {} if release is None else uow.models.list_reasons(release)
    verdicts = {} if release is None else uow.models.list_verdicts(release)
    tiers = {} if release is None else uow.sla_tiers.count_open(release, None if book is None else book.id)
    labels = uow.links.list_labels()
    return [
        ListedLink(
            link=link,
            labels=labels.get(link.id, ()),
            model=known.get(link.id),
            reason=reasons.get(link.id),
            verdict=verdicts.get(link.id),
            tiers=tiers.get(link.id),
        )
        for link in sorted(uow.links.list_all(), key=lambda link: -link.rows)
    ]
