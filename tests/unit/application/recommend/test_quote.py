"""Recommendations quote the current price, from what is in memory."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest

from services.application.billing.price_list import PriceList, PublishedBook
from services.application.recommend.lookup import Snapshots
from services.application.recommend.snapshot import Index
from tests.unit.application.recommend.models import leaf_model, snapshot
from tests.unit.application.recommend.requests import LEARNED, answer, enquiry
from tradewind.errors import Unavailable
from tradewind.sla.kinds import EnergyBasis, SlaKind
from tradewind.sla.pricing import PriceModel, compute_amount

DAY = datetime(2026, 12, 1, tzinfo=UTC)
TIER = answer(enquiry()).recommendation.sla.tier_id


def book(price: PriceModel, basis=EnergyBasis.TOTAL, tier=TIER, at=DAY, number=1) -> PublishedBook:
    return PublishedBook(
        id=UUID(int=number), currency="EUR", energy_basis=basis, effective_from=at, prices={tier: price}
    )


def offered(price_book, asked=None, learned=LEARNED):
    return answer(asked or enquiry(), replace(learned, book=price_book)).recommendation


def test_recommendation_quotes_the_price_of_its_tier():
    model = PriceModel(base=Decimal("0.1"), per_gb=Decimal(2), per_kwh=Decimal(30), margin=Decimal("0.5"))
    made = offered(book(model))
    assert made.sla.price.amount == compute_amount(model, moved_bytes=30_000_000, energy_j=made.predicted.energy_j.mean)
    assert (made.sla.price.currency, made.sla.price.basis) == ("EUR", EnergyBasis.TOTAL)


def test_nothing_is_quoted_without_a_current_book():
    assert offered(None).sla.price is None


def test_a_tier_without_price_is_not_quoted_and_the_rationale_says_so():
    made = offered(book(PriceModel(base=Decimal(1)), tier=UUID(int=9)))
    assert made.sla.price is None
    assert "no price for this tier" in made.rationale


def test_charged_energy_that_is_unknown_never_counts_as_zero():
    learned = snapshot(leaf_model(300, 100_000, powered=False))
    made = offered(book(PriceModel(base=Decimal(1), per_kwh=Decimal("0.3"))), learned=learned)
    assert made.sla.price is None
    assert "charges energy" in made.rationale
    assert offered(book(PriceModel(base=Decimal(1))), learned=learned).sla.price.amount == 1


def test_book_charges_energy_on_its_own_basis_whatever_the_sla():
    model = PriceModel(per_kwh=Decimal(1000))
    by_total = offered(book(model)).sla.price.amount
    by_dynamic = offered(book(model, EnergyBasis.DYNAMIC)).sla.price.amount
    assert 0 < by_dynamic < by_total


def test_infeasible_sla_is_not_quoted():
    made = offered(book(PriceModel(base=Decimal(1))), enquiry(kind=SlaKind.THROUGHPUT_AT_LEAST, target=1e12))
    assert (made.sla.feasible, made.sla.price) == (False, None)


class Turned:
    """A store with two published books, and clocks that are turned by hand."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.away = False
        self.read_at = DAY
        self.books = [book(PriceModel(), at=DAY, number=1), book(PriceModel(), at=DAY + timedelta(hours=1), number=2)]
        self.snapshots = Snapshots(self.index, None, lambda: self.now_s)

    def index(self, _: UUID) -> Index:
        if self.away:
            raise Unavailable("away")
        now = self.read_at + timedelta(seconds=self.now_s - 1000.0)
        return Index(1, {}, {}, prices=PriceList(tuple(self.books), now))

    def read_book_number(self) -> int | None:
        held = self.snapshots.get_fresh(UUID(int=0)) or self.snapshots.load(UUID(int=0))
        return None if held.book is None else held.book.id.int


@pytest.mark.parametrize("away", [False, True])
def test_a_date_that_passes_takes_effect_by_itself(away):
    store = Turned()
    assert store.read_book_number() == 1
    store.now_s += 3599.0
    assert store.read_book_number() == 1
    store.away = away
    store.now_s += 1.1  # the snapshot of a second ago would be fresh for long
    assert store.read_book_number() == 2


def test_no_book_is_current_before_the_first_date():
    store = Turned()
    store.read_at = DAY - timedelta(seconds=10)
    assert store.read_book_number() is None
    store.now_s += 10.1
    assert store.read_book_number() == 1
