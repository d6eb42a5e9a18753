"""What a price book would have earned of the requests that were quoted lately, had it been in force.

The requests stay as they were: what customers would have asked for at other prices is not guessed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from uuid import UUID

from services.application.price_books import PriceBook
from tradewind.pricing import PriceModel, energy_cost
from tradewind.sla import EnergyBasis
from tradewind.units import GB

_EXACT = Context(prec=80)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Requests that were quoted in one tier on one energy basis; ``known_…`` : of those whose energy was known."""

    tier_id: UUID
    energy_basis: EnergyBasis
    requests: int
    total_bytes: int
    known_requests: int
    known_bytes: int
    energy_j: float


@dataclass(frozen=True, slots=True)
class Earned:
    """Of some requests, in the main unit of a book's currency, exact.

    ``margin`` is what is left of the revenue beyond what the book says bytes, energy and the transfer itself cost.
    ``unpriced`` : requests that it would not have quoted.
    """

    revenue: Decimal = Decimal(0)
    energy_cost: Decimal = Decimal(0)
    margin: Decimal = Decimal(0)
    unpriced: int = 0

    def __add__(self, other: "Earned") -> "Earned":
        return Earned(
            _EXACT.add(self.revenue, other.revenue),
            _EXACT.add(self.energy_cost, other.energy_cost),
            _EXACT.add(self.margin, other.margin),
            self.unpriced + other.unpriced,
        )


NOTHING = Earned()


def earned(demand: Demand, model: PriceModel | None, basis: EnergyBasis) -> Earned:
    """What a price earns of requests; those whose energy is charged and not known on its basis are not priced."""
    if model is None or (model.needs_energy and demand.energy_basis is not basis):
        return Earned(unpriced=demand.requests)
    requests, moved_bytes = demand.requests, demand.total_bytes
    if model.needs_energy:
        requests, moved_bytes = demand.known_requests, demand.known_bytes
    energy = energy_cost(model, demand.energy_j)
    gigabytes = _EXACT.divide(Decimal(moved_bytes), Decimal(GB))
    cost = _EXACT.add(_EXACT.multiply(model.base, Decimal(requests)), _EXACT.multiply(model.per_gb, gigabytes))
    cost = _EXACT.add(cost, energy)
    margin = _EXACT.multiply(cost, model.margin)
    return Earned(_EXACT.add(cost, margin), energy, margin, demand.requests - requests)


@dataclass(frozen=True, slots=True)
class TierWhatIf:
    """Demand of a tier, and what two books earn of it."""

    tier_id: UUID
    requests: int
    total_bytes: int
    in_force: Earned
    draft: Earned


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The demand tier by tier, those that earn most in the draft first, and the sums over all of them."""

    tiers: Sequence[TierWhatIf]
    in_force: Earned
    draft: Earned

    @property
    def requests(self) -> int:
        return sum(each.requests for each in self.tiers)


def what_if(demand: Collection[Demand], *, draft: PriceBook, in_force: PriceBook | None) -> WhatIf:
    """Replay a demand against a draft and the book in force."""
    by_tier: dict[UUID, list[Demand]] = {}
    for each in demand:
        by_tier.setdefault(each.tier_id, []).append(each)
    tiers = [
        TierWhatIf(
            tier_id,
            sum(each.requests for each in of_tier),
            sum(each.total_bytes for each in of_tier),
            _by_book(of_tier, in_force),
            _by_book(of_tier, draft),
        )
        for tier_id, of_tier in by_tier.items()
    ]
    tiers.sort(key=lambda tier: (-tier.draft.revenue, -tier.in_force.revenue, -tier.requests, tier.tier_id))
    return WhatIf(tiers, sum((one.in_force for one in tiers), NOTHING), sum((one.draft for one in tiers), NOTHING))


def _by_book(demand: Iterable[Demand], book: PriceBook | None) -> Earned:
    prices: Mapping[UUID, PriceModel] = {} if book is None else book.prices
    basis = EnergyBasis.TOTAL if book is None else book.energy_basis
    return sum((earned(each, prices.get(each.tier_id), basis) for each in demand), NOTHING)
