"""``/v1/price-books/{id}/rules`` and ``review``: price a draft by rules, and see what it would change."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Response

from services.api.dependencies import Parts, ProviderKey
from services.api.routes.billing.price_books import IfMatch, build_earnings, parse_version
from services.api.routing import create_v1_router
from services.application.billing.draft_prices import count_rules, set_rules
from services.application.billing.price_books import PriceBook, find_current_book
from services.application.billing.price_changes import PriceChange, list_price_changes
from services.application.billing.publish import count_coverage
from services.application.billing.what_if import replay_demand
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.sla.pricing import PriceModel
from tradewind.wire.price_rules import (
    BookReview,
    NewPriceRules,
    PriceRulesOfBook,
    ReviewedChange,
    WirePriceRule,
)
from tradewind.wire.pricing import WirePriceModel

router = create_v1_router("/price-books", "prices")


def _version(if_match: IfMatch = None) -> int | None:
    return parse_version(if_match)


Version = Annotated[int | None, Depends(_version)]


@router.get("/{book_id}/rules")
def read_rules(book_id: UUID, parts: Parts, principal: ProviderKey, response: Response) -> PriceRulesOfBook:
    """Return the rules of a book, with how many tiers of the current release each prices."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return _to_wire(uow.price_books.get(book_id), uow, response)


@router.put("/{book_id}/rules")
def put_rules(
    book_id: UUID, new: NewPriceRules, parts: Parts, principal: ProviderKey, *, version: Version, response: Response
) -> PriceRulesOfBook:
    """Set all rules of a draft; every tier without a price of its own is priced by the first rule that matches it."""
    rules = [rule.to_rule() for rule in new.rules]
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        book = set_rules(book_id, rules, version=version, uow=uow)
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        return _to_wire(book, uow, response)


def _to_wire(book: PriceBook, uow: UnitOfWork, response: Response) -> PriceRulesOfBook:
    rules = uow.price_rules.list_of_book(book.id)
    counts = count_rules(book, rules, uow)
    response.headers["ETag"] = f'"{book.version}"'
    return PriceRulesOfBook(
        book_id=book.id,
        version=book.version,
        rules=tuple(map(WirePriceRule.of, rules)),
        tiers=tuple(counts.by_rule),
        overridden=counts.overridden,
        unpriced=counts.unpriced,
    )


@router.get("/{book_id}/review")
def review(book_id: UUID, parts: Parts, principal: ProviderKey) -> BookReview:
    """Compare a book with the current one: prices, tiers without one, and the transfers of the last thirty days."""
    now = parts.clock.now()
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        book, current = uow.price_books.get(book_id), find_current_book(uow.price_books, now)
        changes = list_price_changes(book, current, uow)
        coverage = count_coverage(book, uow)
        replay = replay_demand(book, current, now=now, uow=uow)
    return BookReview(
        book_id=book.id,
        version=book.version,
        current_book_id=None if current is None else current.id,
        changes=tuple(map(_to_wire_change, changes)),
        tiers=coverage.tiers,
        unpriced_tiers=coverage.unpriced,
        since=replay.since,
        requests=replay.what_if.requests,
        unpriced_requests=replay.what_if.draft.unpriced,
        book=build_earnings(replay.what_if.draft),
        current=None if current is None else build_earnings(replay.what_if.current),
    )


def _to_wire_change(change: PriceChange) -> ReviewedChange:
    return ReviewedChange(
        tiers=tuple(named.format() for named in change.tiers),
        count=sum(len(named.names) for named in change.tiers),
        before=_to_wire_price(change.before),
        after=_to_wire_price(change.after),
    )


def _to_wire_price(price: PriceModel | None) -> WirePriceModel | None:
    return None if price is None else WirePriceModel.of(price)
