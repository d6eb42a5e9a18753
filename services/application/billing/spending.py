"""Spending limits of customers: the most that the transfers of a month may cost.

What is spent is what the statement of the month has so far, and the quotes whose transfers are not on it yet. A process
counts what it quoted itself from that moment on, until it is stored. It reads the sum of the month again in the
background, so that other processes' quotes count a few seconds later.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import NamedTuple
from uuid import UUID

from services.application.billing.price_list import SpendingLimit
from services.application.billing.usage import Month, Spending
from services.application.shared.single_flight import SingleFlight
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import SpendingLimitReached, Unavailable
from tradewind.sla.pricing import Price

NEAR_LIMIT = Decimal("0.8")
"""Share of a limit from which the provider is alerted."""

FRESH_S = 2.0
SHARE_OF_TIME = 20.0
"""A sum is read again after this many times as long as it took to compute: it costs a twentieth of the time at most."""

MOST_STALE_S = 600.0
"""A sum that nobody needed for so long is read before it counts."""

RESERVED_FOR = timedelta(hours=1)
"""A quote reserves its amount for so long while no transfer of it is known, stored or not."""

NOTHING = Spending(Decimal(0), Decimal(0))


class Spent(NamedTuple):
    """What a customer has spent in a month, in the currency of its limit."""

    month: Month
    spending: Spending
    limit: SpendingLimit

    @property
    def amount(self) -> Decimal:
        return self.spending.amount

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
    """A sum that was read. Of the quotes of this process it has those of ``stored`` transfers."""

    month: Month
    currency: str
    spending: Spending
    until_s: float
    stored: Collection[UUID]


class _Given(NamedTuple):
    """A quote that this process gave, at a time of its own clock."""

    transfer_id: UUID
    amount: Decimal
    currency: str
    at_s: float


def _add(spending: Spending, given: Iterable[_Given], currency: str) -> Spending:
    """Return what is spent together with quotes that it has not."""
    own = sum((each.amount for each in given if each.currency == currency), Decimal(0))
    return Spending(spending.billed, spending.reserved + own)


class SpendingLimits:
    """The spending limits of one process, which counts the quotes that it gave itself until they are stored.

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
        self._given: dict[UUID, list[_Given]] = {}
        self._noted: dict[tuple[UUID, bool], Month] = {}

    async def spend(
        self, tenant_id: UUID, limit: SpendingLimit, price: Price, *, transfer_id: UUID, now: datetime
    ) -> None:
        """Count a quote as spent, or refuse one that would cost more than its customer may still spend this month.

        Raises
        ------
        SpendingLimitReached : says how much is spent and reserved, and what the transfer would cost.
        """
        if not price.amount or price.currency != limit.currency:
            return
        month = Month.of(now)
        read = await self._find_read(tenant_id, limit, month)
        # From here to the note nothing is awaited: no other request spends meanwhile.
        spent = self._add_given(read, limit)
        if read is not None and spent.amount + price.amount > limit.amount:
            self._note(tenant_id, Spent(month, spent, limit))
            raise SpendingLimitReached(
                f"{limit.customer} may spend {limit.amount.normalize():f} {limit.currency} in {month} and has "
                f"spent {spent.billed:f}, with {spent.reserved:f} reserved by quotes whose transfers are not logged "
                f"yet; this transfer would cost {price.amount:f}. Ask the provider for more, or copy without an SLA's "
                "price until the next month"
            )
        given = _Given(transfer_id, price.amount, price.currency, self._monotonic())
        self._given.setdefault(limit.customer_id, []).append(given)

    async def _find_read(self, tenant_id: UUID, limit: SpendingLimit, month: Month) -> _Read | None:
        """Return the last sum, and have an old one read again meanwhile; only the first of a month is waited for.

        ``None`` where the store is unreachable and nothing is known.
        """
        known, now_s = self._read.get(limit.customer_id), self._monotonic()
        if known is not None and (known.month, known.currency) != (month, limit.currency):
            known = None
        if known is not None and now_s < known.until_s:
            return known
        key, load = ("spent", limit.customer_id, month), partial(self._load, tenant_id, limit, month)
        if known is not None and now_s < known.until_s + MOST_STALE_S:
            self._lookups.start(key, load)
            return known
        try:
            return await self._lookups.run(key, load)
        except Unavailable:  # transfers go on while the database is unreachable
            return known

    def _add_given(self, read: _Read | None, limit: SpendingLimit) -> Spending:
        """Return what is spent with the quotes of this process that the sum has not; forget those that it has."""
        given = self._given.get(limit.customer_id, [])
        stored = () if read is None else read.stored
        given[:] = [each for each in given if each.transfer_id not in stored and self._is_reserved(each)]
        return _add(NOTHING if read is None else read.spending, given, limit.currency)

    def _is_reserved(self, given: _Given) -> bool:
        return given.at_s > self._monotonic() - RESERVED_FOR.total_seconds()

    def _load(self, tenant_id: UUID, limit: SpendingLimit, month: Month) -> _Read:
        started_s = self._monotonic()
        given = [each for each in tuple(self._given.get(limit.customer_id, ())) if self._is_reserved(each)]
        with self._units(tenant_id) as uow:
            # Asked for first: a quote that is stored between the two counts as given, and not in the sum.
            stored = uow.quotes.find_stored([each.transfer_id for each in given])
            waiting = [each for each in given if each.transfer_id not in stored]
            without = [each.transfer_id for each in waiting]
            found = uow.usage.list_spent(month, customer_id=limit.customer_id, without=without)
        spending = found.get((limit.customer_id, limit.currency), NOTHING)
        ended_s = self._monotonic()
        until_s = ended_s + max(FRESH_S, SHARE_OF_TIME * (ended_s - started_s))
        read = _Read(month, limit.currency, spending, until_s, stored)
        self._read[limit.customer_id] = read
        self._note(tenant_id, Spent(month, _add(spending, waiting, limit.currency), limit))
        return read

    def _note(self, tenant_id: UUID, spent: Spent) -> None:
        customer_id = spent.limit.customer_id
        for is_reached, bound in ((False, NEAR_LIMIT), (True, Decimal(1))):
            if spent.share >= bound and self._noted.get((customer_id, is_reached)) != spent.month:
                self._noted[customer_id, is_reached] = spent.month
                self._on_near(tenant_id, NotedSpending(customer_id, str(spent.month), float(round(spent.share, 3))))


def list_spent(month: Month, uow: UnitOfWork, customer_id: UUID | None = None) -> Mapping[UUID, Spent]:
    """Return what customers with a limit have spent in a month, or what one has."""
    limits = [limit for limit in uow.customers.list_limits() if customer_id in (None, limit.customer_id)]
    if not limits:
        return {}
    found = uow.usage.list_spent(month, customer_id=customer_id)
    return {
        limit.customer_id: Spent(month, found.get((limit.customer_id, limit.currency), NOTHING), limit)
        for limit in limits
    }


def sort_near_limit(spent: Iterable[Spent]) -> Sequence[Spent]:
    """Return the customers that have spent at least `NEAR_LIMIT` of their limit, those with the largest share first."""
    return sorted(
        (each for each in spent if each.share >= NEAR_LIMIT), key=lambda each: (-each.share, each.limit.customer)
    )
