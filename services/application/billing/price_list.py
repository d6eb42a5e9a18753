"""The published prices of a tenant in memory: the current book, and those whose date is still to come."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from tradewind.sla.kinds import EnergyBasis
from tradewind.sla.pricing import PriceModel


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedBook:
    """Prices by tier from a date on; it never changes."""

    id: UUID
    currency: str
    energy_basis: EnergyBasis
    effective_from: datetime
    prices: Mapping[UUID, PriceModel]


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomerPrices:
    """Prices that are negotiated with a customer: ``fixed`` by tier go before the book, which is adjusted otherwise.

    ``adjustment`` : -0.1 is 10 % off. ``currency`` : of the fixed prices.
    """

    id: UUID
    customer_id: UUID
    starts_at: datetime
    ends_at: datetime | None
    adjustment: Decimal
    currency: str | None
    fixed: Mapping[UUID, PriceModel]


class SpendingLimit(NamedTuple):
    """The most that the transfers of a customer may cost in a calendar month; ``customer`` : its name."""

    customer_id: UUID
    customer: str
    amount: Decimal
    currency: str


class AdjustedPrice(NamedTuple):
    """What a tier costs one customer: a price, and the share by which the amount differs from it."""

    model: PriceModel
    adjustment: Decimal = Decimal(0)


def find_price(
    tier_id: UUID, prices: Mapping[UUID, PriceModel], currency: str, negotiated: CustomerPrices | None
) -> AdjustedPrice | None:
    """Return what a tier costs by a book, given as its prices and currency, under what is negotiated."""
    model = prices.get(tier_id)
    if negotiated is None:
        return None if model is None else AdjustedPrice(model)
    if (fixed := negotiated.fixed.get(tier_id)) is not None:
        # Books in another currency are refused; a price in the wrong one must not be quoted whatever happens.
        return AdjustedPrice(fixed) if negotiated.currency == currency else None
    return None if model is None else AdjustedPrice(model, negotiated.adjustment)


@dataclass(frozen=True, slots=True)
class PriceList:
    """The current book and those to come, the earliest first, read at one time of the store's clock.

    ``negotiated`` : current, and to come. ``holders`` : the customer of each key. ``limits`` : of what each customer
    spends.
    """

    books: tuple[PublishedBook, ...] = ()
    read_at: datetime | None = None
    negotiated: tuple[CustomerPrices, ...] = ()
    holders: Mapping[UUID, UUID] = field(default_factory=dict)
    limits: Mapping[UUID, SpendingLimit] = field(default_factory=dict)

    def find_limit(self, key_id: UUID) -> SpendingLimit | None:
        """Return the spending limit of the customer of a key."""
        customer_id = self.holders.get(key_id) if self.limits else None
        return None if customer_id is None else self.limits.get(customer_id)

    def list_priced_tiers(self) -> frozenset[UUID]:
        """Return the tiers that have a price in the current book or in one to come."""
        return frozenset(tier_id for book in self.books for tier_id in book.prices)

    def get_current_book(self) -> PublishedBook | None:
        """Return the book that was current when the list was read."""
        return self.schedule(0.0).at(0.0)

    def find_negotiated(self, key_id: UUID) -> CustomerPrices | None:
        """Return what was negotiated with the customer of a key when the list was read."""
        customer_id = self.holders.get(key_id)
        return None if customer_id is None else self.schedule(0.0).list_negotiated(0.0).get(customer_id)

    def schedule(self, read_s: float) -> "Schedule":
        """Return when prices start on a process's own clock; ``read_s`` : that clock when the list was read.

        Every process follows the store's clock in this way, so that all of them change prices together.
        """
        if self.read_at is None:
            return NO_SCHEDULE
        read_at = self.read_at

        def to_local_s(at: datetime) -> float:
            return read_s + (at - read_at).total_seconds()

        return Schedule(
            tuple((to_local_s(book.effective_from), book) for book in self.books),
            tuple(
                Period(to_local_s(each.starts_at), math.inf if each.ends_at is None else to_local_s(each.ends_at), each)
                for each in self.negotiated
            ),
        )


NO_PRICES = PriceList()


class Period(NamedTuple):
    """Negotiated prices with the monotonic times, s, between which they are current."""

    from_s: float
    until_s: float
    prices: CustomerPrices


class Schedule(NamedTuple):
    """Books and the monotonic time, s, from which each is current, ascending; and periods of negotiated prices."""

    starts: tuple[tuple[float, PublishedBook], ...] = ()
    periods: tuple[Period, ...] = ()

    def at(self, now_s: float) -> PublishedBook | None:
        """Return the current book."""
        return next((book for from_s, book in reversed(self.starts) if from_s <= now_s), None)

    def list_negotiated(self, now_s: float) -> Mapping[UUID, CustomerPrices]:
        """Return the current negotiated prices by customer."""
        return {each.prices.customer_id: each.prices for each in self.periods if each.from_s <= now_s < each.until_s}

    def get_next_start_s(self, now_s: float) -> float:
        """Return when prices change next; infinity if no change is known."""
        changes = [from_s for from_s, _ in self.starts]
        changes += [bound_s for each in self.periods for bound_s in each[:2]]
        return min((at_s for at_s in changes if at_s > now_s), default=math.inf)


NO_SCHEDULE = Schedule()
