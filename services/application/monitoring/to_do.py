"""What waits for the provider's users: tiers to review and to price, held models, refused rows and drafts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from services.application.billing.price_books import BookState, ListedBook
from services.application.billing.spending import Spent, list_spent, sort_near_limit
from services.application.billing.usage import Month
from services.application.models.tier_decisions import list_undecided
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.wire.releases import UndecidedTiers


@dataclass(frozen=True, slots=True)
class TierCount:
    """Some tiers of the current release, and the number of their links."""

    tiers: int
    links: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToDo:
    """What waits for a decision or a correction.

    ``undecided`` : links whose new model would remove or move priced tiers. ``not_offered`` : tiers with a price in the
    current book that the current release no longer has. ``near_limit`` : customers that have spent most of their limit
    of this month. ``refused_rows`` : in the quarantine.
    """

    to_review: TierCount
    unpriced: TierCount
    undecided: Sequence[UndecidedTiers]
    not_offered: int
    near_limit: Sequence[Spent]
    refused_rows: int
    drafts: Sequence[ListedBook]
    current_book: ListedBook | None


def read_to_do(uow: UnitOfWork, release: int | None, now: datetime) -> ToDo:
    """Count what waits for the provider; ``release`` : the current one."""
    books = uow.price_books.list_without_prices()
    book = next((each for each in books if each.is_current(now)), None)
    tiers = {} if release is None else uow.sla_tiers.count_open(release, None if book is None else book.id)
    return ToDo(
        to_review=_count_tiers([each.to_review for each in tiers.values()]),
        unpriced=_count_tiers([each.unpriced for each in tiers.values()]),
        undecided=list_undecided(uow),
        not_offered=0 if book is None or release is None else uow.price_books.count_not_offered(book.id, release),
        near_limit=sort_near_limit(list_spent(Month.of(now), uow).values()),
        refused_rows=uow.quarantine.count(),
        drafts=[each for each in books if each.state(now) is BookState.DRAFT],
        current_book=book,
    )


def _count_tiers(by_link: Sequence[int]) -> TierCount:
    return TierCount(sum(by_link), sum(count > 0 for count in by_link))
