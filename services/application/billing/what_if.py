"""Replay completed transfers against a price book: what it would have earned, after credits and energy cost.

The transfers stay unchanged: what customers would have moved at other prices is not estimated. Energy is what the
models predicted for them, which is what they were quoted by; it is not measured.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Context, Decimal
from typing import NamedTuple
from uuid import UUID

from services.application.billing.negotiate import load_current_customer_prices
from services.application.billing.price_books import PriceBook
from services.application.billing.price_list import CustomerPrices, find_price
from services.application.models.sla_tiers import LinkTier, format_path
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.sla.kinds import EnergyBasis
from tradewind.sla.pricing import PriceModel, compute_energy_amount
from tradewind.units import GB

REPLAYED_PERIOD = timedelta(days=30)
"""Age of the transfers that a book is replayed on."""

_EXACT = Context(prec=80)
_NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Completed transfers (``requests``) in one tier on one energy basis that met, or missed, their SLA.

    ``known_…`` : of those whose energy is known. ``is_missed`` : a credit is due. ``customer_id`` : of their keys then.
    """

    tier_id: UUID
    energy_basis: EnergyBasis
    requests: int
    total_bytes: int
    known_requests: int
    known_bytes: int
    energy_j: float
    is_missed: bool = False
    customer_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Earnings:
    """Earnings from some requests, exact, in the main unit of a book's currency.

    ``energy_charged``, ``mark_up`` : parts of the revenue, as the book charges them.
    ``credits`` : given back of it for missed SLAs. ``energy_cost`` : cost of the
    modelled energy for the provider, on the book's basis; ``None`` where the cost of a kWh is not set. ``unpriced`` :
    requests that the book would not have quoted. ``energy_unknown`` : quoted requests whose energy is unknown on its
    basis, so that their cost is missing.
    """

    revenue: Decimal = _NOTHING
    energy_charged: Decimal = _NOTHING
    mark_up: Decimal = _NOTHING
    credits: Decimal = _NOTHING
    energy_cost: Decimal | None = _NOTHING
    unpriced: int = 0
    energy_unknown: int = 0

    @property
    def margin(self) -> Decimal | None:
        """Revenue less credits and the cost of the energy."""
        if self.energy_cost is None:
            return None
        return _EXACT.subtract(_EXACT.subtract(self.revenue, self.credits), self.energy_cost)

    def __add__(self, other: "Earnings") -> "Earnings":
        return Earnings(
            revenue=_EXACT.add(self.revenue, other.revenue),
            energy_charged=_EXACT.add(self.energy_charged, other.energy_charged),
            mark_up=_EXACT.add(self.mark_up, other.mark_up),
            credits=_EXACT.add(self.credits, other.credits),
            energy_cost=(
                None
                if self.energy_cost is None or other.energy_cost is None
                else _EXACT.add(self.energy_cost, other.energy_cost)
            ),
            unpriced=self.unpriced + other.unpriced,
            energy_unknown=self.energy_unknown + other.energy_unknown,
        )


NO_EARNINGS = Earnings()


def compute_earnings(
    demand: Demand,
    model: PriceModel | None,
    basis: EnergyBasis,
    cost_per_kwh: Decimal | None = None,
    *,
    adjustment: Decimal = _NOTHING,
) -> Earnings:
    """Return what a price earns from requests; charged energy that is unknown on its basis leaves them unpriced.

    Parameters
    ----------
    cost_per_kwh : the provider's cost of energy, in the currency of the price; ``None`` where it is unknown.
    adjustment : of what is negotiated with the customer; it changes the revenue and each of its parts.
    """
    knows_energy = demand.energy_basis is basis
    if model is None or (model.needs_energy and not knows_energy):
        return Earnings(unpriced=demand.requests, energy_cost=None if cost_per_kwh is None else _NOTHING)
    known_requests, energy_j = (demand.known_requests, demand.energy_j) if knows_energy else (0, 0.0)
    requests, moved_bytes = demand.requests, demand.total_bytes
    if model.needs_energy:
        requests, moved_bytes = demand.known_requests, demand.known_bytes
    factor = _EXACT.add(Decimal(1), adjustment)
    energy = _EXACT.multiply(compute_energy_amount(model.per_kwh, energy_j), factor)
    gigabytes = _EXACT.divide(Decimal(moved_bytes), Decimal(GB))
    charged = _EXACT.add(_EXACT.multiply(model.base, Decimal(requests)), _EXACT.multiply(model.per_gb, gigabytes))
    charged = _EXACT.add(_EXACT.multiply(charged, factor), energy)
    mark_up = _EXACT.multiply(charged, model.margin)
    revenue = _EXACT.add(charged, mark_up)
    return Earnings(
        revenue=revenue,
        energy_charged=energy,
        mark_up=mark_up,
        credits=_EXACT.multiply(revenue, model.credit) if demand.is_missed else _NOTHING,
        energy_cost=None if cost_per_kwh is None else compute_energy_amount(cost_per_kwh, energy_j),
        unpriced=demand.requests - requests,
        energy_unknown=requests - known_requests,
    )


@dataclass(frozen=True, slots=True)
class TierWhatIf:
    """Demand of a tier, and what two books earn from it."""

    tier_id: UUID
    requests: int
    total_bytes: int
    current: Earnings
    draft: Earnings


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The demand by tier, sorted by earnings in the draft, and the sums over all tiers."""

    tiers: Sequence[TierWhatIf]
    current: Earnings
    draft: Earnings

    @property
    def requests(self) -> int:
        return sum(tier.requests for tier in self.tiers)


def compute_what_if(
    demand: Collection[Demand],
    *,
    draft: PriceBook,
    current_book: PriceBook | None,
    negotiated: Mapping[UUID, CustomerPrices] | None = None,
) -> WhatIf:
    """Replay a demand against a draft and the current book, under what is negotiated with customers.

    If both have one currency, the draft's cost of a kWh counts for both: it is the newer value.
    """
    of_customers = negotiated or {}
    by_tier: dict[UUID, list[Demand]] = {}
    for part in demand:
        by_tier.setdefault(part.tier_id, []).append(part)
    current_cost = None
    if current_book is not None:
        shared = current_book.currency == draft.currency
        current_cost = draft.energy_cost_per_kwh if shared else current_book.energy_cost_per_kwh
    tiers = [
        TierWhatIf(
            tier_id,
            sum(part.requests for part in of_tier),
            sum(part.total_bytes for part in of_tier),
            _sum_earnings(of_tier, current_book, current_cost, of_customers),
            _sum_earnings(of_tier, draft, draft.energy_cost_per_kwh, of_customers),
        )
        for tier_id, of_tier in by_tier.items()
    ]
    tiers.sort(key=lambda tier: (-tier.draft.revenue, -tier.current.revenue, -tier.requests, tier.tier_id))
    return WhatIf(
        tiers, sum((tier.current for tier in tiers), NO_EARNINGS), sum((tier.draft for tier in tiers), NO_EARNINGS)
    )


def _sum_earnings(
    demand: Iterable[Demand],
    book: PriceBook | None,
    cost_per_kwh: Decimal | None,
    negotiated: Mapping[UUID, CustomerPrices],
) -> Earnings:
    if book is None:
        return sum((compute_earnings(part, None, EnergyBasis.TOTAL, cost_per_kwh) for part in demand), NO_EARNINGS)
    earned = NO_EARNINGS
    for part in demand:
        of_customer = None if part.customer_id is None else negotiated.get(part.customer_id)
        model, adjustment = find_price(part.tier_id, book.prices, book.currency, of_customer) or (None, _NOTHING)
        earned += compute_earnings(part, model, book.energy_basis, cost_per_kwh, adjustment=adjustment)
    return earned


class PlacedTier(NamedTuple):
    """A tier of the current release. ``place`` : its link and cluster as text."""

    name: str
    place: str


class Replay(NamedTuple):
    """The result of a replay. ``tiers`` : of the current release; requested tiers of earlier ones have no name."""

    what_if: WhatIf
    tiers: Mapping[UUID, PlacedTier]
    since: datetime


def replay_demand(draft: PriceBook, current_book: PriceBook | None, *, now: datetime, uow: UnitOfWork) -> Replay:
    """Replay the recent requests against a draft and the current book."""
    since = now - REPLAYED_PERIOD
    negotiated = load_current_customer_prices(now, uow)
    demand = uow.quotes.sum_demand(since)
    result = compute_what_if(demand, draft=draft, current_book=current_book, negotiated=negotiated)
    release = uow.releases.find_current()
    tiers: Sequence[LinkTier] = []
    if release is not None:
        tiers = uow.sla_tiers.of(release, [tier.tier_id for tier in result.tiers])
    paths = {link.id: format_path(link.key) for link in uow.links.list_all()}
    named = {tier.tier.id: PlacedTier(tier.name, f"{paths[tier.link_id]}, {tier.cluster}") for tier in tiers}
    return Replay(result, named, since)
