"""Whatever is promised is promised in a tier, by which it is priced: that of the target on the whole transfer."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from uuid import UUID

import pytest

from services.application.billing.price_list import PublishedBook
from services.application.models.learned_model import Tier
from services.application.recommend.served_model import ServedLeaf, ServedModel
from tests.unit.application.recommend.models import LINK, PATH, snapshot
from tests.unit.application.recommend.requests import HTML, LEARNED, VIDEO, answer, enquiry
from tradewind.dataset import DataSet, SizeBin
from tradewind.load_effect import LoadEffect
from tradewind.parameters import Caps
from tradewind.sla.kinds import DEFAULT_CONFIDENCE, EnergyBasis, SlaKind
from tradewind.sla.pricing import PriceModel
from tradewind.tiers.custom import solve_between
from tradewind.tiers.partitions import PartitionKey

FLOOR = PartitionKey(SlaKind.THROUGHPUT_AT_LEAST, DEFAULT_CONFIDENCE, EnergyBasis.TOTAL)
MIXED = {
    "bins": (SizeBin(131_072, 300, 30_000_000), SizeBin(2**26, 4, 160_000_000)),
    "dataset": DataSet(file_count=304, total_bytes=190_000_000),
}
EFFECT = LoadEffect(loads=(0.1, 0.3, 0.7), log_throughput=(0.0, -0.25, -1.1), log_power=(0.0, -0.01, -0.04))


def edges(leaf):
    top_bps = leaf.table.find_certifiable_throughput_bps(DEFAULT_CONFIDENCE)
    return [share * top_bps for share in (0.1, 0.3, 0.6, 1.0)]


def tiered(leaf, first_id):
    """A leaf with three tiers of throughput, and the ids of all its tiers: one up for each."""
    partitions = (*leaf.partitions, *solve_between(leaf.table, FLOOR, edges(leaf)))
    return replace(leaf, partitions=partitions), [Tier(UUID(int=first_id + n)) for n in range(len(partitions))]


def learned(*leaves):
    """A link of these leaves; every tier of it costs its own number."""
    made = snapshot(*leaves)
    served, prices = [], {}
    for n, leaf in enumerate(leaves):
        model, tiers = tiered(leaf, 10 * n)
        served.append(ServedLeaf.of(model, tiers, PATH.bandwidth_bps))
        prices |= {tier.id: PriceModel(base=Decimal(tier.id.int)) for tier in tiers}
    model_id = made.index.models[LINK].id
    made.model_cache.put(model_id, ServedModel(PATH, 0.1, tuple(served)))
    at = datetime(2026, 12, 1, tzinfo=UTC)
    book = PublishedBook(
        id=UUID(int=99), currency="EUR", energy_basis=EnergyBasis.TOTAL, effective_from=at, prices=prices
    )
    return replace(made, book=book)


def tier(asked, link):
    sla = answer(asked, link).recommendation.sla
    assert sla.feasible
    assert sla.price is not None
    assert sla.price.amount == sla.tier_id.int
    return sla.tier_id.int


def test_an_easy_target_of_a_tier_costs_less_than_its_hardest_one():
    dynamic = FLOOR._replace(energy_basis=EnergyBasis.DYNAMIC)
    link = learned(replace(HTML, partitions=solve_between(HTML.table, dynamic, (edges(HTML)[0], edges(HTML)[-1]))))
    easy, hard = (
        answer(
            enquiry(kind=SlaKind.THROUGHPUT_AT_LEAST, target=share * edges(HTML)[-1], energy_basis=EnergyBasis.DYNAMIC),
            link,
        ).recommendation
        for share in (0.3, 0.99)
    )
    assert easy.sla.tier_id == hard.sla.tier_id
    assert easy.sla.probability >= DEFAULT_CONFIDENCE
    assert easy.predicted.energy_j.mean < hard.predicted.energy_j.mean


@pytest.mark.parametrize(
    "changes",
    [{"caps": Caps(concurrency=2, parallelism=1)}, {"rate_limit_bps": 2e7}, {"caps": Caps(streams=1)}],
    ids=["caps", "a user's limit", "one stream"],
)
@pytest.mark.parametrize("kind", [SlaKind.MAX_THROUGHPUT, SlaKind.MIN_ENERGY])
def test_setting_solved_within_limits_is_promised_in_its_tier(kind, changes):
    link = learned(HTML)
    assert tier(enquiry(kind=kind, **changes), link) == tier(enquiry(kind=kind), link)


@pytest.mark.parametrize("changes", [{}, {"caps": Caps(streams=2)}, {"rate_limit_bps": 4e7}, {"load": 0.05}])
def test_target_is_in_the_tier_of_its_range_however_it_is_met(changes):
    link = learned(replace(HTML, load_effect=EFFECT))
    first = len(HTML.partitions)
    for n, (lower, upper) in enumerate(pairwise(edges(HTML)[:3])):
        asked = enquiry(kind=SlaKind.THROUGHPUT_AT_LEAST, target=(lower + upper) / 2, **changes)
        if answer(asked, link).recommendation.sla.feasible:
            assert tier(asked, link) == first + n
        else:
            assert n > 0


def test_tier_of_several_chunks_is_that_of_the_entire_target():
    link = learned(HTML, VIDEO)
    target_bps = 1.02 * edges(VIDEO)[2]  # most bytes are those of videos; their chunk alone has to keep less
    asked = enquiry(kind=SlaKind.THROUGHPUT_AT_LEAST, target=target_bps, **MIXED)
    assert len(answer(asked, link).recommendation.plan) == 2
    assert tier(asked, link) == 10 + len(VIDEO.partitions) + 2
    in_time = enquiry(kind=SlaKind.DEADLINE, target=8 * 190_000_000 / target_bps, **MIXED)
    assert tier(in_time, link) == 10 + len(VIDEO.partitions) + 2


@pytest.mark.parametrize("caps", [Caps(), Caps(concurrency=4)])
@pytest.mark.parametrize("kind", [SlaKind.MAX_THROUGHPUT, SlaKind.MIN_ENERGY])
def test_several_chunks_within_caps_are_quoted(kind, caps):
    assert tier(enquiry(kind=kind, caps=caps, **MIXED), learned(HTML, VIDEO)) >= 10


def test_target_beyond_the_usual_load_is_in_the_outermost_tier():
    link = learned(replace(HTML, load_effect=replace(EFFECT, log_throughput=(0.4, -0.25, -1.1))))
    asked = enquiry(kind=SlaKind.THROUGHPUT_AT_LEAST, target=1.1 * edges(HTML)[-1], load=0.1)
    assert tier(asked, link) == len(HTML.partitions) + 2


def test_a_cluster_without_such_a_tier_says_why_nothing_is_quoted():
    made = answer(enquiry(kind=SlaKind.MAX_THROUGHPUT, confidence=0.5), replace(LEARNED, book=learned(HTML).book))
    assert (made.recommendation.sla.feasible, made.recommendation.sla.price) == (True, None)
    assert "no tier" in made.recommendation.rationale
