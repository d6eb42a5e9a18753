"""Compare a price book with the current one, for its provider to review before publishing."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from services.application.billing.price_books import PriceBook
from services.application.models.sla_tiers import NamedTiers, list_named_tiers
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.sla.pricing import PriceModel


class PriceChange(NamedTuple):
    """Tiers with the same change of price against the current book; ``None`` where there is no price."""

    tiers: Sequence[NamedTiers]
    before: PriceModel | None
    after: PriceModel | None


def list_price_changes(book: PriceBook, current: PriceBook | None, uow: UnitOfWork) -> Sequence[PriceChange]:
    """Return the differences between a book and the current one; changes of few tiers come first."""
    before = {} if current is None else current.prices
    tiers_by_change: dict[tuple[PriceModel | None, PriceModel | None], list[UUID]] = {}
    for tier_id in before.keys() | book.prices.keys():
        pair = before.get(tier_id), book.prices.get(tier_id)
        if pair[0] != pair[1]:
            tiers_by_change.setdefault(pair, []).append(tier_id)
    by_number = sorted(tiers_by_change.items(), key=lambda change: (len(change[1]), min(change[1])))
    return [PriceChange(list_named_tiers(tier_ids, uow), *pair) for pair, tier_ids in by_number]
