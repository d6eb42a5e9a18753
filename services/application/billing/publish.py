"""Review a draft, and publish it from a date on: differences, effect, and what would have no price."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from services.application.billing.draft_prices import apply_rules
from services.application.billing.negotiate import check_currency_of_customers
from services.application.billing.price_books import PriceBook, claim_draft, format_price, parse_stored_price
from services.application.billing.price_changes import PriceChange, list_price_changes
from services.application.models.sla_tiers import NamedTiers
from services.application.shared.jobs import PricesChanged
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, InvalidValue
from tradewind.sla.price_rules import find_rule


class Coverage(NamedTuple):
    """How many tiers of the current release a draft prices.

    ``new`` : priced by the draft's rules when it is published, because they are newer than its prices.
    """

    tiers: int
    unpriced: int
    new: int


def count_coverage(book: PriceBook, uow: UnitOfWork) -> Coverage:
    """Return how many tiers of the current release would have no price if the draft were published now."""
    release = uow.releases.find_current()
    tiers = {} if release is None else uow.price_rules.list_tiers(release)
    without = [tier for tier_id, tier in tiers.items() if tier_id not in book.prices]
    rules = uow.price_rules.list_of_book(book.id)
    new = sum(find_rule(rules, tier) is not None for tier in without)
    return Coverage(len(tiers), len(without) - new, new)


def publish_book(
    book_id: UUID, *, effective_from: datetime | None, version: int | None, uow: UnitOfWork, clock: Clock
) -> PriceBook:
    """Publish a draft from a date on, or from now; the previous book ends then. The differences to it are stored.

    Raises
    ------
    NotFound : the tenant has no such book.
    InvalidValue : nothing is priced in it, or the date has passed.
    Conflict : it is published, it was changed meanwhile, another book starts at the same time, or a customer has
        negotiated prices or a spending limit in another currency.
    """
    now = clock.now()
    book = claim_draft(book_id, version, uow)
    if rules := uow.price_rules.list_of_book(book_id):  # tiers may be newer than the draft's prices
        apply_rules(book, rules, uow)
        book = uow.price_books.get(book_id)
    if not book.prices:
        raise InvalidValue("prices", "the book prices no tier; set the price of one before publishing it")
    begins_at = now if effective_from is None else effective_from
    if begins_at < now:
        raise InvalidValue("effective_from", "has passed; prices hold from now or a later date on")
    check_currency_of_customers(book.currency, begins_at, uow)
    if uow.price_books.starts_at(begins_at):
        raise Conflict("another published book begins at the same time; choose another date")
    before = find_book_before(begins_at, uow.price_books.list_all())
    changes = list_price_changes(book, before, uow)
    uow.price_books.publish(
        book_id,
        effective_from=begins_at,
        at=now,
        changes=[_serialize_change(change, None if before is None else before.currency) for change in changes],
    )
    uow.audit.note("price_book.published", book.name, id=str(book_id), effective_from=begins_at.isoformat())
    published = uow.price_books.get(book_id)
    uow.publish(PricesChanged(uow.tenant_id))
    uow.commit()
    return published


def find_book_before(begins_at: datetime, books: Iterable[PriceBook]) -> PriceBook | None:
    """Return the published book that is current until a time."""
    started = [book for book in books if book.effective_from is not None and book.effective_from < begins_at]
    return max(started, key=lambda book: book.effective_from or begins_at, default=None)


def _serialize_change(change: PriceChange, currency_before: str | None) -> Mapping[str, Any]:
    """Return a difference as it is stored with the published book: names that later releases do not know."""
    return {
        "tiers": [{"place": tiers.place, "names": list(tiers.names)} for tiers in change.tiers],
        "before": format_price(change.before),
        "after": format_price(change.after),
        "currency_before": currency_before,
    }


def read_published_changes(book: PriceBook, uow: UnitOfWork) -> Sequence[PriceChange] | None:
    """Return the differences that a book was published with; ``None`` where none were stored."""
    stored = uow.price_books.find_published_changes(book.id)
    if stored is None:
        return None
    return [
        PriceChange(
            [NamedTiers(tiers["place"], tiers["names"]) for tiers in change["tiers"]],
            parse_stored_price(change["before"]),
            parse_stored_price(change["after"]),
        )
        for change in stored
    ]
