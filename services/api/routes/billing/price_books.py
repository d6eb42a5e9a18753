"""``/v1/price-books``: drafts, their prices, and publishing."""

import re
from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import Header, Response

from services.api.dependencies import AnyKey, Parts, ProviderKey
from services.api.routes.billing.price_fields import to_visible_price
from services.api.routing import OnceRoute, create_v1_router
from services.application.access.authenticate import Principal, Scope
from services.application.billing.draft_prices import set_prices
from services.application.billing.price_books import (
    PriceBook,
    draft_book,
    find_current_book,
    set_energy_cost,
)
from services.application.billing.publish import publish_book
from services.application.billing.what_if import Earnings, PlacedTier, TierWhatIf, replay_demand
from services.application.billing.withdraw import delete_draft, withdraw_book
from services.bootstrap import Container
from tradewind.errors import InvalidValue, NotFound
from tradewind.sla.pricing import round_amount
from tradewind.wire.pricing import (
    BookEarnings,
    NewPriceBook,
    PriceBookChange,
    Publication,
    TierEarnings,
    TierPrice,
    WirePriceBook,
    WirePriceModel,
    WireWhatIf,
)

router = create_v1_router("/price-books", "prices", OnceRoute)

IfMatch = Annotated[
    str | None,
    Header(
        max_length=40, description="The `ETag` of the book that the change is made on; 409 if it has changed since."
    ),
]

_LARGEST_VERSION_DIGITS = 9
_TAG = re.compile(rf'(?:W/)?(?P<quote>"?)(?P<version>\d{{1,{_LARGEST_VERSION_DIGITS}}})(?P=quote)')


@router.get("")
def list_books(parts: Parts, principal: AnyKey) -> Sequence[WirePriceBook]:
    """List all books, the newest first; a key with only the scope agent sees published ones."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return [_to_wire(book, parts, principal) for book in uow.price_books.list_all() if _is_visible(book, principal)]


@router.post("", status_code=201)
def add_book(new: NewPriceBook, parts: Parts, principal: ProviderKey, response: Response) -> WirePriceBook:
    """Create a draft, empty or with the prices of another book."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        book = draft_book(
            new.name,
            currency=new.currency,
            energy_basis=new.energy_basis,
            copy_of=new.copy_of,
            uow=uow,
            clock=parts.clock,
        )
    return _tag_book(book, parts, principal, response)


@router.get("/{book_id}")
def read_book(book_id: UUID, parts: Parts, principal: AnyKey, response: Response) -> WirePriceBook:
    """Return one book with all its prices; a key with only the scope agent sees no drafts."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        book = uow.price_books.get(book_id)
    if not _is_visible(book, principal):
        raise NotFound("no such price book")
    return _tag_book(book, parts, principal, response)


@router.patch("/{book_id}")
def change_book(
    book_id: UUID,
    change: PriceBookChange,
    parts: Parts,
    principal: ProviderKey,
    *,
    response: Response,
    if_match: IfMatch = None,
) -> WirePriceBook:
    """Store with a draft what energy costs the provider; no price changes by it."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        book = set_energy_cost(book_id, change.energy_cost_per_kwh, version=parse_version(if_match), uow=uow)
    return _tag_book(book, parts, principal, response)


@router.delete("/{book_id}", status_code=204)
def delete_book(book_id: UUID, parts: Parts, principal: ProviderKey, *, if_match: IfMatch = None) -> None:
    """Delete a draft with its prices."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        delete_draft(book_id, version=parse_version(if_match), uow=uow)


@router.get("/{book_id}/what-if")
def replay_book(book_id: UUID, parts: Parts, principal: ProviderKey) -> WireWhatIf:
    """Compute what a book would have earned from the transfers of the last thirty days, next to the current book."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        now = parts.clock.now()
        book, current_book = uow.price_books.get(book_id), find_current_book(uow.price_books, now)
        tried = replay_demand(book, current_book, now=now, uow=uow)
    return WireWhatIf(
        book_id=book.id,
        currency=book.currency,
        energy_basis=book.energy_basis,
        energy_cost_per_kwh=book.energy_cost_per_kwh,
        in_force_book_id=None if current_book is None else current_book.id,
        in_force_currency=None if current_book is None else current_book.currency,
        since=tried.since,
        requests=tried.what_if.requests,
        book=build_earnings(tried.what_if.draft),
        in_force=None if current_book is None else build_earnings(tried.what_if.current),
        tiers=tuple(
            _of_tier(each, tried.tiers.get(each.tier_id), has_book=current_book is not None)
            for each in tried.what_if.tiers
        ),
    )


@router.put("/{book_id}/tiers/{tier_id}")
def set_price(
    book_id: UUID,
    tier_id: UUID,
    price: WirePriceModel,
    parts: Parts,
    principal: ProviderKey,
    *,
    response: Response,
    if_match: IfMatch = None,
) -> WirePriceBook:
    """Set the price of a tier in a draft."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        book = set_prices(book_id, {tier_id: price.to_model()}, version=parse_version(if_match), uow=uow)
    return _tag_book(book, parts, principal, response)


@router.delete("/{book_id}/tiers/{tier_id}")
def remove_price(
    book_id: UUID,
    tier_id: UUID,
    parts: Parts,
    principal: ProviderKey,
    *,
    response: Response,
    if_match: IfMatch = None,
) -> WirePriceBook:
    """Remove the price of a tier from a draft; a tier without a price is not quoted."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        book = set_prices(book_id, {tier_id: None}, version=parse_version(if_match), uow=uow)
    return _tag_book(book, parts, principal, response)


@router.post("/{book_id}/publish")
def publish(
    book_id: UUID,
    parts: Parts,
    principal: ProviderKey,
    *,
    response: Response,
    publication: Publication | None = None,
    if_match: IfMatch = None,
) -> WirePriceBook:
    """Publish a draft from a date on, or from now; the book before it ends there. It then never changes."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        effective_from = None if publication is None else publication.effective_from
        book = publish_book(
            book_id, effective_from=effective_from, version=parse_version(if_match), uow=uow, clock=parts.clock
        )
    parts.snapshots.forget(principal.tenant_id)
    return _tag_book(book, parts, principal, response)


@router.post("/{book_id}/withdraw")
def withdraw(
    book_id: UUID, parts: Parts, principal: ProviderKey, *, response: Response, if_match: IfMatch = None
) -> WirePriceBook:
    """Turn a published book whose date has not come back into a draft, until a minute before the date."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        book = withdraw_book(book_id, version=parse_version(if_match), uow=uow, clock=parts.clock)
    parts.snapshots.forget(principal.tenant_id)
    return _tag_book(book, parts, principal, response)


def _is_visible(book: PriceBook, principal: Principal) -> bool:
    return book.published_at is not None or not principal.is_customer


def parse_version(if_match: str | None) -> int | None:
    """Return the version that a change was made on; ``None`` where the caller accepts any."""
    if if_match is None or if_match == "*":
        return None
    match = _TAG.fullmatch(if_match)
    if match is None:
        raise InvalidValue("If-Match", 'must be the ETag of the book, such as "3"')
    return int(match["version"])


def _tag_book(book: PriceBook, parts: Container, principal: Principal, response: Response) -> WirePriceBook:
    response.headers["ETag"] = f'"{book.version}"'
    return _to_wire(book, parts, principal)


def _to_wire(book: PriceBook, parts: Container, principal: Principal) -> WirePriceBook:
    """Return the book; only the provider sees what energy costs it."""
    now = parts.clock.now()
    is_of_provider = bool(principal.scopes & {Scope.PROVIDER, Scope.OPERATOR})
    return WirePriceBook(
        id=book.id,
        name=book.name,
        currency=book.currency,
        energy_basis=book.energy_basis,
        energy_cost_per_kwh=book.energy_cost_per_kwh if is_of_provider else None,
        state=book.state(now),
        in_force=book.is_current(now),
        version=book.version,
        created_at=book.created_at,
        published_at=book.published_at,
        effective_from=book.effective_from,
        effective_until=book.effective_until,
        prices=tuple(
            TierPrice(tier_id=tier_id, **to_visible_price(price, principal)._asdict())
            for tier_id, price in sorted(book.prices.items())
        ),
    )


def _of_tier(demand: TierWhatIf, tier: PlacedTier | None, *, has_book: bool) -> TierEarnings:
    return TierEarnings(
        tier_id=demand.tier_id,
        name=None if tier is None else tier.name,
        place=None if tier is None else tier.place,
        requests=demand.requests,
        total_bytes=demand.total_bytes,
        book=build_earnings(demand.draft),
        in_force=build_earnings(demand.current) if has_book else None,
    )


def build_earnings(earned: Earnings) -> BookEarnings:
    """Return earnings for the wire, each amount rounded by itself."""
    return BookEarnings(
        revenue=round_amount(earned.revenue),
        energy_charged=round_amount(earned.energy_charged),
        mark_up=round_amount(earned.mark_up),
        credits=round_amount(earned.credits),
        energy_cost=None if earned.energy_cost is None else round_amount(earned.energy_cost),
        margin=None if earned.margin is None else round_amount(earned.margin),
        unpriced=earned.unpriced,
        energy_unknown=earned.energy_unknown,
    )
