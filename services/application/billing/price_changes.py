"""What a price book changes of the one in force, as its provider looks at it before publishing."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from services.application.billing.price_books import PriceBook
from services.application.models.sla_tiers import NamedTiers, list_named_tiers
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.sla.pricing import PriceModel


class PriceChange(NamedTuple):
    """Tiers whose price differs alike from that in force; ``None`` where they have none."""

    tiers: Sequence[NamedTiers]
    before: PriceModel | None
    after: PriceModel | None


def list_price_changes(book: PriceBook, in_force: PriceBook | None, uow: UnitOfWork) -> Sequence[PriceChange]:
    """What differs between a book and the one in force, what few tiers share first."""
    before = {} if in_force is None else in_force.prices
    alike: dict[tuple[PriceModel | None, PriceModel | None], list[UUID]] = {}
    for tier_id in before.keys() | book.prices.keys():
        pair = before.get(tier_id), book.prices.get(tier_id)
        if pair[0] != pair[1]:
            alike.setdefault(pair, []).append(tier_id)
    by_number = sorted(alike.items(), key=lambda change: (len(change[1]), min(change[1])))
    return [PriceChange(list_named_tiers(tier_ids, uow), *pair) for pair, tier_ids in by_number]
