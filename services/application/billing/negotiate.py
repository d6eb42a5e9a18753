"""Prices that are negotiated with a customer: an adjustment of the book, and rules that go before it.

They hold from one time until another, or until the next of the customer begin. Those that have started never change;
they can only be ended. A quote keeps its price whatever is negotiated afterwards.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from services.application.billing.customers import check_currency_of_books, claim_customer
from services.application.billing.price_list import CustomerPrices, PriceList
from services.application.billing.usage import Month
from services.application.shared.jobs import PricesChanged
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, InvalidValue, NotFound
from tradewind.sla.price_rules import PriceRule, check_rules, describe_rules, price_by_rules
from tradewind.sla.pricing import check_adjustment


@dataclass(frozen=True, slots=True, kw_only=True)
class Negotiation:
    """What is negotiated. ``adjustment`` : of the prices of the book, -0.1 is 10 % off. ``rules`` : go before the book.

    ``currency`` : of the rules; ``None`` where there are none.
    """

    adjustment: Decimal = Decimal(0)
    rules: tuple[PriceRule, ...] = ()
    currency: str | None = None

    def __post_init__(self) -> None:
        check_adjustment(self.adjustment)
        if not self.adjustment and not self.rules:
            raise InvalidValue("adjustment", "is 0 and there is no rule, so that nothing is negotiated")


@dataclass(frozen=True, slots=True, kw_only=True)
class NegotiatedPrices:
    """Negotiated prices of a customer. ``effective_until`` : their end, or the start of the next of the customer."""

    id: UUID
    customer_id: UUID
    negotiation: Negotiation
    starts_at: datetime
    ends_at: datetime | None
    effective_until: datetime | None

    def has_started(self, now: datetime) -> bool:
        return self.starts_at <= now

    def overlaps(self, month: Month) -> bool:
        """Return whether they hold on a part of a month."""
        ends_at = self.effective_until
        return self.starts_at < month.ends_at and (ends_at is None or ends_at > max(self.starts_at, month.begins_at))

    def is_current(self, now: datetime) -> bool:
        return self.has_started(now) and (self.effective_until is None or now < self.effective_until)


def add_negotiated_prices(
    customer_id: UUID,
    negotiation: Negotiation,
    *,
    starts_at: datetime | None,
    ends_at: datetime | None,
    uow: UnitOfWork,
    clock: Clock,
) -> NegotiatedPrices:
    """Let prices be negotiated with a customer from a time on, or from now; those before it end then.

    Raises
    ------
    NotFound : the tenant has no such customer.
    InvalidValue : the start has passed, the end comes before it, or the rules are not in the currency of the books.
    Conflict : the customer is archived, or has prices that begin at the same time.
    """
    check_rules(negotiation.rules)
    now = clock.now()
    uow.customers.lock()
    customer = claim_customer(customer_id, None, uow)
    begins_at = now if starts_at is None else starts_at
    if begins_at < now:
        raise InvalidValue("starts_at", "has passed; prices hold from now or a later date on")
    if ends_at is not None and ends_at <= begins_at:
        raise InvalidValue("ends_at", "must come after the start")
    if any(each.starts_at == begins_at for each in uow.negotiated_prices.list_of(customer_id)):
        raise Conflict("other prices of this customer begin at the same time; choose another date")
    _check_currency(negotiation, uow)
    prices_id = uow.negotiated_prices.add(customer_id, negotiation, starts_at=begins_at, ends_at=ends_at, at=now)
    uow.audit.note(
        "customer.prices_negotiated",
        customer.name,
        id=str(customer_id),
        starts_at=begins_at.isoformat(),
        ends_at="none" if ends_at is None else ends_at.isoformat(),
        adjustment=f"{negotiation.adjustment:f}",
        rules=describe_rules(negotiation.rules),
    )
    return _finish(customer_id, prices_id, uow)


def end_negotiated_prices(
    prices_id: UUID, *, ends_at: datetime | None, uow: UnitOfWork, clock: Clock, customer_id: UUID | None = None
) -> NegotiatedPrices | None:
    """End negotiated prices at a time, or now; prices that have not started are removed. Return what is left of them.

    ``customer_id`` : whose prices they have to be; ``None`` : any customer's.

    Raises
    ------
    NotFound : the tenant, or the customer, has no such prices.
    InvalidValue : the end has passed, or comes after the one that they have.
    Conflict : they have ended already.
    """
    now = clock.now()
    uow.customers.lock()
    prices = next((each for each in uow.negotiated_prices.list_all() if each.id == prices_id), None)
    if prices is None or customer_id not in (None, prices.customer_id):
        raise NotFound("no such negotiated prices")
    customer = uow.customers.get(prices.customer_id)
    if prices.effective_until is not None and prices.effective_until <= now:
        raise Conflict("these prices have ended already")
    end = now if ends_at is None else ends_at
    if end < now:
        raise InvalidValue("ends_at", "has passed; prices end now or at a later date")
    if prices.effective_until is not None and end > prices.effective_until:
        until = f"{prices.effective_until:%Y-%m-%d %H:%M:%S} UTC"
        raise InvalidValue("ends_at", f"comes after {until}, when these prices end; negotiate new ones to go on")
    uow.audit.note("customer.prices_ended", customer.name, id=str(customer.id), ends_at=end.isoformat())
    if end <= prices.starts_at:
        uow.negotiated_prices.delete(prices_id)
        uow.publish(PricesChanged(uow.tenant_id))
        uow.commit()
        return None
    uow.negotiated_prices.end(prices_id, end)
    return _finish(customer.id, prices_id, uow)


def _finish(customer_id: UUID, prices_id: UUID, uow: UnitOfWork) -> NegotiatedPrices:
    after = next(each for each in uow.negotiated_prices.list_of(customer_id) if each.id == prices_id)
    uow.publish(PricesChanged(uow.tenant_id))
    uow.commit()
    return after


def _check_currency(negotiation: Negotiation, uow: UnitOfWork) -> None:
    """Refuse rules in another currency than that of a book that is current or waits for its date."""
    if not negotiation.rules:
        return
    if negotiation.currency is None:
        raise InvalidValue("currency", "is missing; rules have prices in a currency, such as EUR")
    check_currency_of_books("currency", negotiation.currency, uow)


def check_currency_of_customers(currency: str, begins_at: datetime, uow: UnitOfWork) -> None:
    """Refuse a book in another currency than that of rules which customers have then, or of their spending limits.

    No customer changes until the transaction ends, so that none gets a limit or rules in another currency meanwhile.

    Raises
    ------
    Conflict : names the customer.
    """
    uow.customers.lock()
    for each in uow.negotiated_prices.list_all():
        is_over = each.effective_until is not None and each.effective_until <= begins_at
        if each.negotiation.rules and each.negotiation.currency != currency and not is_over:
            name = uow.customers.get(each.customer_id).name
            raise Conflict(
                f"{name} has negotiated prices in {each.negotiation.currency}, and the book is in {currency}; "
                "end those prices first"
            )
    for limit in uow.customers.list_limits():
        if limit.currency != currency:
            raise Conflict(
                f"{limit.customer} has a spending limit in {limit.currency}, and the book is in {currency}; "
                "change that limit first"
            )


def load_customer_price_list(release_id: int | None, uow: UnitOfWork) -> PriceList:
    """Return the published prices, with those that customers have negotiated for tiers of a release."""
    books = uow.price_books.load_price_list()
    found = [each for each in uow.negotiated_prices.list_all() if _counts_after(each, books.read_at)]
    limits = {limit.customer_id: limit for limit in uow.customers.list_limits()}
    if not found and not limits:
        return books
    negotiated = _apply_rules(found, release_id, uow)
    return replace(books, negotiated=negotiated, holders=uow.customers.list_holders(), limits=limits)


def load_current_customer_prices(now: datetime, uow: UnitOfWork) -> Mapping[UUID, CustomerPrices]:
    """Return the negotiated prices of each customer that are current."""
    found = [each for each in uow.negotiated_prices.list_all() if each.is_current(now)]
    return {each.customer_id: each for each in _apply_rules(found, uow.releases.find_current(), uow)}


def _counts_after(prices: NegotiatedPrices, read_at: datetime | None) -> bool:
    return read_at is not None and (prices.effective_until is None or prices.effective_until > read_at)


def _apply_rules(
    found: Sequence[NegotiatedPrices], release_id: int | None, uow: UnitOfWork
) -> tuple[CustomerPrices, ...]:
    has_rules = any(each.negotiation.rules for each in found)
    tiers = uow.price_rules.list_tiers(release_id) if has_rules and release_id is not None else {}
    return tuple(
        CustomerPrices(
            id=each.id,
            customer_id=each.customer_id,
            starts_at=each.starts_at,
            ends_at=each.effective_until,
            adjustment=each.negotiation.adjustment,
            currency=each.negotiation.currency,
            fixed=price_by_rules(each.negotiation.rules, tiers)[0] if each.negotiation.rules else {},
        )
        for each in found
    )
