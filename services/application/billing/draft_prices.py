"""Price a draft tier by tier and by rules.

A price that was set for a tier overrides the rules. Where it is removed, the rules count again.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from services.application.billing.price_books import PriceBook, claim_draft, format_rules, note_prices
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import InvalidValue
from tradewind.sla.price_rules import PriceRule, check_rules, price_by_rules
from tradewind.sla.pricing import PriceModel


class RuleCounts(NamedTuple):
    """How many tiers of the current release each rule prices, and how many have a price of their own or none."""

    by_rule: Sequence[int]
    overridden: int
    unpriced: int


def set_prices(
    book_id: UUID, prices: Mapping[UUID, PriceModel | None], *, version: int | None, uow: UnitOfWork
) -> PriceBook:
    """Set prices of single tiers in a draft, or remove those that are ``None``: the rules of the draft count then.

    Parameters
    ----------
    version : that the change is based on; ``None`` accepts any.

    Raises
    ------
    NotFound : the tenant has no such book.
    InvalidValue : one of the tiers is not the tenant's.
    Conflict : the book is published, or it was changed meanwhile.
    """
    book = claim_draft(book_id, version, uow)
    changed = {tier_id: price for tier_id, price in prices.items() if price != book.prices.get(tier_id)}
    if not changed:
        return book
    priced = [
        tier_id for tier_id, price in changed.items() if price is not None
    ]  # removed prices may be of tiers that no longer exist
    if not uow.price_books.knows_tiers(priced):
        raise InvalidValue("tier_id", "is no tier of yours; GET /v1/sla-tiers lists them")
    uow.price_books.put(book_id, changed)
    note_prices(book, changed, uow)
    removed = [tier_id for tier_id, price in changed.items() if price is None]
    if removed and (rules := uow.price_rules.list_of_book(book_id)):
        apply_rules(uow.price_books.get(book_id), rules, uow)
    after = uow.price_books.get(book_id)
    uow.commit()
    return after


def set_rules(book_id: UUID, rules: Sequence[PriceRule], *, version: int | None, uow: UnitOfWork) -> PriceBook:
    """Set the rules of a draft, and price by them every tier of the current release without a price of its own.

    Parameters
    ----------
    version : that the change is based on; ``None`` accepts any.

    Raises
    ------
    NotFound : the tenant has no such book.
    InvalidValue : the rules contradict each other.
    Conflict : the book is published, or it was changed meanwhile.
    """
    check_rules(rules)
    book = claim_draft(book_id, version, uow)
    before = uow.price_rules.list_of_book(book_id)
    if list(before) != list(rules):
        uow.price_rules.replace(book_id, rules)
        uow.audit.note(
            "price_book.rules_set", book.name, id=str(book_id), before=format_rules(before), after=format_rules(rules)
        )
    apply_rules(book, rules, uow)
    priced = uow.price_books.get(book_id)
    uow.commit()
    return priced


def apply_rules(book: PriceBook, rules: Sequence[PriceRule], uow: UnitOfWork) -> None:
    """Price the tiers of the current release by rules, in a draft that is claimed.

    Tiers with a price of their own keep it. Prices by former rules go where no rule matches any more.
    """
    release = uow.releases.find_current()
    tiers = {} if release is None else uow.price_rules.list_tiers(release)
    by_rule = uow.price_rules.list_priced(book.id)
    overridden = book.prices.keys() - by_rule
    found, _ = price_by_rules(rules, {tier_id: tier for tier_id, tier in tiers.items() if tier_id not in overridden})
    changed: dict[UUID, PriceModel | None] = dict.fromkeys(by_rule - found.keys())
    changed |= {tier_id: price for tier_id, price in found.items() if book.prices.get(tier_id) != price}
    if changed:
        uow.price_books.put(book.id, changed)
        note_prices(book, changed, uow)
    if changed or found.keys() != by_rule:
        uow.price_rules.mark(book.id, list(found))


def count_rules(book: PriceBook, rules: Sequence[PriceRule], uow: UnitOfWork) -> RuleCounts:
    """Return what each rule of a book prices in the current release."""
    release = uow.releases.find_current()
    tiers = {} if release is None else uow.price_rules.list_tiers(release)
    overridden = tiers.keys() & (book.prices.keys() - uow.price_rules.list_priced(book.id))
    _, counts = price_by_rules(rules, {tier_id: tier for tier_id, tier in tiers.items() if tier_id not in overridden})
    return RuleCounts(counts, len(overridden), len(tiers.keys() - book.prices.keys()))
