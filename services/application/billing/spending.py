"""Spending limits of customers: the most that the transfers of a month may cost.

What is spent is what the statement of the month has so far, and the quotes of transfers that run now. A process reads
it again after a moment, so that a few transfers that start at the same time may exceed the limit together.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import NamedTuple
from uuid import UUID

from services.application.billing.price_list import SpendingLimit
from services.application.billing.usage import Month
from services.application.shared.single_flight import SingleFlight
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import SpendingLimitReached, Unavailable
from tradewind.sla.pricing import Price

NEAR_LIMIT = Decimal("0.8")
"""Share of a limit from which the provider is alerted."""

FRESH_S = 2.0
SHARE_OF_TIME = 20.0
"""A sum is reused for this many times as long as it took to compute: it costs a twentieth of the time at most."""


class Spent(NamedTuple):
    """What a customer has spent in a month, in the currency of its limit."""

    month: Month
    amount: Decimal
    limit: SpendingLimit

    @property
    def share(self) -> Decimal:
        return self.amount / self.limit.amount


class NotedSpending(NamedTuple):
    """A limit that is near or reached, for the log. ``share`` : of the limit that is spent."""

    customer_id: UUID
    month: str
    share: float


@dataclass(frozen=True, slots=True)
class _Read:
    spent: Spent
    until_s: float


class SpendingLimits:
    """The spending limits of one process.

    Parameters
    ----------
    units : opens a transaction of a tenant.
    lookups : lets one read of a sum serve all requests that wait for it.
    on_near : called once a month for each customer whose limit is near, and once when it is reached.
    """

    def __init__(
        self,
        units: Callable[[UUID], UnitOfWork],
        lookups: SingleFlight,
        on_near: Callable[[UUID, NotedSpending], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._units = units
        self._lookups = lookups
        self._on_near = on_near
        self._monotonic = monotonic
        self._read: dict[UUID, _Read] = {}
        self._noted: dict[tuple[UUID, bool], Month] = {}

    async def require(self, tenant_id: UUID, limit: SpendingLimit, price: Price, now: datetime) -> None:
        """Refuse a transfer that would cost more than its customer may still spend this month.

        Raises
        ------
        SpendingLimitReached : says how much is spent, and what the transfer would cost.
        """
        if not price.amount or price.currency != limit.currency:
            return
        spent = await self._find_spent(tenant_id, limit, Month.of(now))
        if spent is not None and spent.amount + price.amount > limit.amount:
            raise SpendingLimitReached(
                f"{limit.customer} may spend {limit.amount.normalize():f} {limit.currency} in {spent.month} and has "
                f"spent {spent.amount:f}; this transfer would cost {price.amount:f}. Ask the provider for more, or "
                "copy without an SLA's price until the next month"
            )

    async def _find_spent(self, tenant_id: UUID, limit: SpendingLimit, month: Month) -> Spent | None:
        """Return what is spent, read a moment ago; ``None`` where the store is unreachable and nothing is known."""
        known = self._read.get(limit.customer_id)
        is_usable = known is not None and known.spent.month == month and known.spent.limit == limit
        if known is not None and is_usable and self._monotonic() < known.until_s:
            return known.spent
        try:
            key = ("spent", limit.customer_id, month)
            return await self._lookups.run(key, partial(self._load, tenant_id, limit, month))
        except Unavailable:  # transfers go on while the database is away
            return known.spent if known is not None and is_usable else None

    def _load(self, tenant_id: UUID, limit: SpendingLimit, month: Month) -> Spent:
        started_s = self._monotonic()
        with self._units(tenant_id) as uow:
            spent = load_spent(limit, month, uow)
        ended_s = self._monotonic()
        self._read[limit.customer_id] = _Read(spent, ended_s + max(FRESH_S, SHARE_OF_TIME * (ended_s - started_s)))
        self._note(tenant_id, spent)
        return spent

    def _note(self, tenant_id: UUID, spent: Spent) -> None:
        customer_id = spent.limit.customer_id
        for is_reached, bound in ((False, NEAR_LIMIT), (True, Decimal(1))):
            if spent.share >= bound and self._noted.get((customer_id, is_reached)) != spent.month:
                self._noted[customer_id, is_reached] = spent.month
                self._on_near(tenant_id, NotedSpending(customer_id, str(spent.month), float(round(spent.share, 3))))


def load_spent(limit: SpendingLimit, month: Month, uow: UnitOfWork) -> Spent:
    """Return what a customer has spent in a month, with the quotes of its transfers that run now."""
    return Spent(month, uow.usage.sum_spent(month, limit.customer_id, limit.currency), limit)
