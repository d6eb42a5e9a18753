"""What a price book would have earned of the requests of the last days, had it been in force, and what is left of it.

The requests stay as they were: what customers would have asked for at other prices is not guessed. Energy is what the
models in service predicted for the requests; nobody has measured it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Context, Decimal
from typing import NamedTuple
from uuid import UUID

from services.application.billing.price_books import PriceBook
from services.application.models.sla_tiers import LinkTier, format_path
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.sla.kinds import EnergyBasis
from tradewind.sla.pricing import PriceModel, compute_energy_amount
from tradewind.units import GB

REPLAYED_PERIOD = timedelta(days=30)
"""Whose requests a book is tried on."""

_EXACT = Context(prec=80)
_NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Requests in one tier on one energy basis; ``known_…`` : of those whose energy was known."""

    tier_id: UUID
    energy_basis: EnergyBasis
    requests: int
    total_bytes: int
    known_requests: int
    known_bytes: int
    energy_j: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Earnings:
    """Of some requests, in the main unit of a book's currency, exact.

    ``energy_charged`` and ``mark_up`` are parts of the revenue, as the book charges them. ``energy_cost`` is what the
    modelled energy costs the provider, on the book's basis; ``None`` where nobody has said what a kWh costs.
    ``unpriced`` : requests that the book would not have quoted. ``energy_unknown`` : those that it would have, whose
    energy is not known on its basis, so that their cost is missing.
    """

    revenue: Decimal = _NOTHING
    energy_charged: Decimal = _NOTHING
    mark_up: Decimal = _NOTHING
    energy_cost: Decimal | None = _NOTHING
    unpriced: int = 0
    energy_unknown: int = 0

    @property
    def margin(self) -> Decimal | None:
        """Revenue less the cost of the energy."""
        return None if self.energy_cost is None else _EXACT.subtract(self.revenue, self.energy_cost)

    def __add__(self, other: "Earnings") -> "Earnings":
        return Earnings(
            revenue=_EXACT.add(self.revenue, other.revenue),
            energy_charged=_EXACT.add(self.energy_charged, other.energy_charged),
            mark_up=_EXACT.add(self.mark_up, other.mark_up),
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
    demand: Demand, model: PriceModel | None, basis: EnergyBasis, cost_per_kwh: Decimal | None = None
) -> Earnings:
    """What a price earns of requests; those whose energy is charged and not known on its basis are not priced.

    Parameters
    ----------
    cost_per_kwh : what energy costs the provider, in the currency of the price; ``None`` where that is not known.
    """
    knows_energy = demand.energy_basis is basis
    if model is None or (model.needs_energy and not knows_energy):
        return Earnings(unpriced=demand.requests, energy_cost=None if cost_per_kwh is None else _NOTHING)
    known_requests, energy_j = (demand.known_requests, demand.energy_j) if knows_energy else (0, 0.0)
    requests, moved_bytes = demand.requests, demand.total_bytes
    if model.needs_energy:
        requests, moved_bytes = demand.known_requests, demand.known_bytes
    energy = compute_energy_amount(model.per_kwh, energy_j)
    gigabytes = _EXACT.divide(Decimal(moved_bytes), Decimal(GB))
    charged = _EXACT.add(_EXACT.multiply(model.base, Decimal(requests)), _EXACT.multiply(model.per_gb, gigabytes))
    charged = _EXACT.add(charged, energy)
    mark_up = _EXACT.multiply(charged, model.margin)
    return Earnings(
        revenue=_EXACT.add(charged, mark_up),
        energy_charged=energy,
        mark_up=mark_up,
        energy_cost=None if cost_per_kwh is None else compute_energy_amount(cost_per_kwh, energy_j),
        unpriced=demand.requests - requests,
        energy_unknown=requests - known_requests,
    )


@dataclass(frozen=True, slots=True)
class TierWhatIf:
    """Demand of a tier, and what two books earn of it."""

    tier_id: UUID
    requests: int
    total_bytes: int
    in_force: Earnings
    draft: Earnings


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The demand tier by tier, those that earn most in the draft first, and the sums over all of them."""

    tiers: Sequence[TierWhatIf]
    in_force: Earnings
    draft: Earnings

    @property
    def requests(self) -> int:
        return sum(each.requests for each in self.tiers)


def what_if(demand: Collection[Demand], *, draft: PriceBook, in_force: PriceBook | None) -> WhatIf:
    """Replay a demand against a draft and the book in force.

    In one currency a kWh costs the provider what the draft says, whichever book is in force: it is the newer word.
    """
    by_tier: dict[UUID, list[Demand]] = {}
    for each in demand:
        by_tier.setdefault(each.tier_id, []).append(each)
    cost_in_force = None
    if in_force is not None:
        shared = in_force.currency == draft.currency
        cost_in_force = draft.energy_cost_per_kwh if shared else in_force.energy_cost_per_kwh
    tiers = [
        TierWhatIf(
            tier_id,
            sum(each.requests for each in of_tier),
            sum(each.total_bytes for each in of_tier),
            _by_book(of_tier, in_force, cost_in_force),
            _by_book(of_tier, draft, draft.energy_cost_per_kwh),
        )
        for tier_id, of_tier in by_tier.items()
    ]
    tiers.sort(key=lambda tier: (-tier.draft.revenue, -tier.in_force.revenue, -tier.requests, tier.tier_id))
    return WhatIf(
        tiers, sum((one.in_force for one in tiers), NO_EARNINGS), sum((one.draft for one in tiers), NO_EARNINGS)
    )


def _by_book(demand: Iterable[Demand], book: PriceBook | None, cost_per_kwh: Decimal | None) -> Earnings:
    prices: Mapping[UUID, PriceModel] = {} if book is None else book.prices
    basis = EnergyBasis.TOTAL if book is None else book.energy_basis
    return sum((compute_earnings(each, prices.get(each.tier_id), basis, cost_per_kwh) for each in demand), NO_EARNINGS)


class PlacedTier(NamedTuple):
    """A tier of the release in force. ``place`` : its link and cluster in words."""

    name: str
    place: str


class Replay(NamedTuple):
    """``tiers`` : those of the release in force; what was asked for in others has no name any more."""

    what_if: WhatIf
    tiers: Mapping[UUID, PlacedTier]
    since: datetime


def replay_demand(draft: PriceBook, in_force: PriceBook | None, *, now: datetime, uow: UnitOfWork) -> Replay:
    """The draft beside the book in force, on the requests of the last days."""
    since = now - REPLAYED_PERIOD
    tried = what_if(uow.quotes.demand(since), draft=draft, in_force=in_force)
    release = uow.releases.current()
    tiers: Sequence[LinkTier] = []
    if release is not None:
        tiers = uow.sla_tiers.of(release, [each.tier_id for each in tried.tiers])
    paths = {link.id: format_path(link.key) for link in uow.links.all()}
    named = {each.tier.id: PlacedTier(each.name, f"{paths[each.link_id]}, {each.cluster}") for each in tiers}
    return Replay(tried, named, since)
