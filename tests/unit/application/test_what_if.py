"""A draft tried on a demand: what it would have earned, compared with the current book."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from services.application.billing.price_books import PriceBook
from services.application.billing.what_if import NO_EARNINGS, Demand, compute_earnings, compute_what_if
from tradewind.sla.kinds import EnergyBasis
from tradewind.sla.pricing import PriceModel, compute_amount

TIER, OTHER = UUID(int=1), UUID(int=2)
DEMAND = Demand(
    tier_id=TIER,
    energy_basis=EnergyBasis.TOTAL,
    requests=4,
    total_bytes=8_000_000_000,
    known_requests=3,
    known_bytes=6_000_000_000,
    energy_j=7_200_000.0,
)
MODEL = PriceModel(base=Decimal(1), per_gb=Decimal("0.5"), per_kwh=Decimal("0.25"), margin=Decimal("0.1"))


def book(prices: dict[UUID, PriceModel], currency: str = "EUR") -> PriceBook:
    return PriceBook(
        id=UUID(int=9),
        name="Winter",
        currency=currency,
        energy_basis=EnergyBasis.TOTAL,
        version=1,
        created_at=datetime(2026, 11, 1, tzinfo=UTC),
        published_at=None,
        effective_from=None,
        effective_until=None,
        prices=prices,
    )


def test_revenue_is_energy_bytes_and_base_with_the_mark_up_on_top() -> None:
    told = compute_earnings(DEMAND, MODEL, EnergyBasis.TOTAL)
    assert told.energy_charged == Decimal("0.5")  # 2 kWh
    assert told.mark_up == Decimal("0.65")  # of 3 for transfers, 3 for 6 GB, 0.5 for energy
    assert told.revenue == Decimal("7.15")


def test_margin_is_what_is_left_of_the_revenue_when_the_energy_is_paid() -> None:
    told = compute_earnings(DEMAND, MODEL, EnergyBasis.TOTAL, Decimal("0.18"))
    assert told.energy_cost == Decimal("0.36")  # 2 kWh, whatever the book charges for them
    assert told.margin == Decimal("6.79")
    free = compute_earnings(DEMAND, PriceModel(per_gb=Decimal("0.01")), EnergyBasis.TOTAL, Decimal("0.18"))
    assert (free.revenue, free.margin) == (Decimal("0.08"), Decimal("-0.28"))
    assert free.energy_unknown == 1  # priced, and its energy is not in the cost
    assert compute_earnings(DEMAND, MODEL, EnergyBasis.TOTAL).margin is None


def test_energy_on_another_basis_than_the_books_is_not_taken_for_its_cost() -> None:
    told = compute_earnings(DEMAND, PriceModel(base=Decimal(1)), EnergyBasis.DYNAMIC, Decimal("0.18"))
    assert (told.revenue, told.energy_cost, told.energy_unknown) == (4, 0, 4)


def test_both_books_of_one_currency_use_the_drafts_cost_of_energy() -> None:
    now, draft = book({TIER: MODEL}), replace(book({TIER: MODEL}), energy_cost_per_kwh=Decimal("0.18"))
    told = compute_what_if([DEMAND], draft=draft, current_book=now)
    assert (told.current.energy_cost, told.draft.energy_cost) == (Decimal("0.36"), Decimal("0.36"))
    dollars = replace(now, currency="USD")
    assert compute_what_if([DEMAND], draft=draft, current_book=dollars).current.margin is None
    dollars = replace(dollars, energy_cost_per_kwh=Decimal("0.2"))
    assert compute_what_if([DEMAND], draft=draft, current_book=dollars).current.energy_cost == Decimal("0.4")


def test_charged_energy_that_is_unknown_is_not_priced() -> None:
    assert compute_earnings(DEMAND, MODEL, EnergyBasis.TOTAL).unpriced == 1
    assert compute_earnings(DEMAND, MODEL, EnergyBasis.DYNAMIC) == replace(NO_EARNINGS, unpriced=4, energy_cost=None)
    assert compute_earnings(DEMAND, PriceModel(base=Decimal(1)), EnergyBasis.DYNAMIC).revenue == 4
    assert compute_earnings(DEMAND, None, EnergyBasis.TOTAL, Decimal(1)) == replace(NO_EARNINGS, unpriced=4)


def test_tiers_are_sorted_by_earnings_in_the_draft() -> None:
    demand = [DEMAND, replace(DEMAND, tier_id=OTHER, requests=10)]
    now, draft = book({TIER: PriceModel(base=Decimal(1))}), book({OTHER: PriceModel(base=Decimal(2))})
    told = compute_what_if(demand, draft=draft, current_book=now)
    assert [each.tier_id for each in told.tiers] == [OTHER, TIER]
    assert (told.current.revenue, told.draft.revenue, told.requests) == (4, 20, 14)
    assert (told.current.unpriced, told.draft.unpriced) == (10, 4)
    assert compute_what_if(demand, draft=draft, current_book=None).current.revenue == 0
    assert compute_what_if([], draft=draft, current_book=now).tiers == []


@given(
    st.lists(st.tuples(st.integers(0, 10**14), st.floats(0, 1e9)), min_size=1, max_size=20),
    st.builds(PriceModel, **{part: st.decimals(0, 10, places=6) for part in ("base", "per_gb", "per_kwh", "margin")}),
)
def test_sums_earn_what_the_requests_earn_one_by_one(requests: list[tuple[int, float]], model: PriceModel) -> None:
    whole = Demand(
        tier_id=TIER,
        energy_basis=EnergyBasis.TOTAL,
        requests=len(requests),
        total_bytes=sum(moved for moved, _ in requests),
        known_requests=len(requests),
        known_bytes=sum(moved for moved, _ in requests),
        energy_j=sum(energy for _, energy in requests),
    )
    one_by_one = sum(compute_amount(model, moved_bytes=moved, energy_j=energy) or 0 for moved, energy in requests)
    assert abs(compute_earnings(whole, model, EnergyBasis.TOTAL).revenue - one_by_one) < Decimal("0.0001")
