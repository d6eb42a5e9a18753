"""The published prices of a tenant in memory: the current book, and those whose date is still to come."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
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


@dataclass(frozen=True, slots=True)
class PriceList:
    """The current book and those to come, the earliest first, read at one time of the store's clock."""

    books: tuple[PublishedBook, ...] = ()
    read_at: datetime | None = None

    def list_priced_tiers(self) -> frozenset[UUID]:
        """Return the tiers that have a price in the current book or in one to come."""
        return frozenset(tier_id for book in self.books for tier_id in book.prices)

    def get_current_book(self) -> PublishedBook | None:
        """Return the book that was current when the list was read."""
        return self.schedule(0.0).at(0.0)

    def schedule(self, read_s: float) -> "Schedule":
        """Return when each book starts on a process's own clock; ``read_s`` : that clock when the list was read.

        Every process follows the store's clock in this way, so that all of them change books together.
        """
        if self.read_at is None:
            return NO_SCHEDULE
        read_at = self.read_at
        return Schedule(tuple((read_s + (book.effective_from - read_at).total_seconds(), book) for book in self.books))


NO_PRICES = PriceList()


class Schedule(NamedTuple):
    """Books and the monotonic time, s, from which each is current, ascending."""

    starts: tuple[tuple[float, PublishedBook], ...] = ()

    def at(self, now_s: float) -> PublishedBook | None:
        """Return the current book."""
        return next((book for from_s, book in reversed(self.starts) if from_s <= now_s), None)

    def get_next_start_s(self, now_s: float) -> float:
        """Return when the next book starts; infinity if none is known."""
        return next((from_s for from_s, _ in self.starts if from_s > now_s), math.inf)


NO_SCHEDULE = Schedule()
