"""``/v1/sla-tiers``: what can be promised on each link, and at which price."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import Query

from services.api.dependencies import AnyKey, Parts
from services.api.routes.billing.price_fields import to_visible_price
from services.api.routing import create_v1_router
from services.application.access.authenticate import Principal
from services.application.billing.negotiate import load_customer_price_list
from services.application.billing.price_list import CustomerPrices, PublishedBook, find_price
from services.application.models.sla_tiers import LinkTier
from tradewind.wire.base import BIGINT_MAX
from tradewind.wire.pricing import CurrentTierPrice, SlaTier
from tradewind.wire.records import WireParameters
from tradewind.wire.releases import TierBounds

USUAL_PAGE, LARGEST_PAGE = 200, 1000

OfLink = Annotated[UUID | None, Query(description="Only tiers of this link.")]
Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="Tiers in the answer at most.")]
Offset = Annotated[int, Query(ge=0, le=BIGINT_MAX, description="Tiers to leave out before those of the answer.")]

router = create_v1_router("/sla-tiers", "prices")


@router.get("")
def list_tiers(
    parts: Parts, principal: AnyKey, link_id: OfLink = None, limit: Limit = USUAL_PAGE, offset: Offset = 0
) -> Sequence[SlaTier]:
    """List tiers of the current release, link by link, each with its price in the current book.

    A key that belongs to a customer, whatever its scopes, sees the prices that are negotiated with that one, as its
    quotes have them.
    """
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        release = uow.releases.find_current()
        if release is None:
            return []
        prices = load_customer_price_list(release, uow)
        book, negotiated = prices.get_current_book(), prices.find_negotiated(principal.key_id)
        tiers = uow.sla_tiers.list_page(release, limit=limit, offset=offset, link_id=link_id)
        return [_to_wire(each, book, negotiated, principal) for each in tiers]


def _to_wire(
    found: LinkTier, book: PublishedBook | None, negotiated: CustomerPrices | None, principal: Principal
) -> SlaTier:
    partition = found.partition
    return SlaTier(
        tier_id=found.tier.id,
        name=found.name,
        link_id=found.link_id,
        cluster_id=found.cluster_id,
        kind=partition.kind,
        confidence=partition.confidence,
        energy_basis=partition.energy_basis,
        lower=partition.lower,
        upper=partition.upper,
        closed=partition.closed,
        parameters=WireParameters(**partition.parameters.list_known()),
        probability=partition.probability,
        regret=partition.regret,
        needs_review=found.tier.needs_review,
        reviewed=None if found.tier.reviewed is None else TierBounds(**found.tier.reviewed._asdict()),
        price=_price(found.tier.id, book, negotiated, principal),
    )


def _price(
    tier_id: UUID, book: PublishedBook | None, negotiated: CustomerPrices | None, principal: Principal
) -> CurrentTierPrice | None:
    """Return what a tier costs the caller, by the rule of quotes: what is negotiated counts for each key held."""
    if book is None:
        return None
    price = find_price(tier_id, book.prices, book.currency, negotiated)
    if price is None:
        return None
    return CurrentTierPrice(
        book_id=book.id,
        currency=book.currency,
        energy_basis=book.energy_basis,
        **to_visible_price(price.model, principal, price.adjustment)._asdict(),
    )
