"""Which rule prices a tier."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.errors import InvalidValue
from tradewind.sla.kinds import SlaKind
from tradewind.sla.price_rules import PriceRule, TierToPrice, check_rules, find_rule, price_by_rules
from tradewind.sla.pricing import PriceModel

CHEAP, DEAR = PriceModel(base=Decimal(1)), PriceModel(base=Decimal(2))
TIER = TierToPrice(SlaKind.THROUGHPUT_AT_LEAST, 1e9, ("europe", "research"))


@pytest.mark.parametrize(
    ("conditions", "matches"),
    [
        ({}, True),
        ({"kind": SlaKind.THROUGHPUT_AT_LEAST}, True),
        ({"kind": SlaKind.MIN_ENERGY}, False),
        ({"label": "research"}, True),
        ({"label": "Europe"}, False),
        ({"from_bps": 1e9}, True),
        ({"to_bps": 1e9}, False),
        ({"from_bps": 1e9, "to_bps": 2e9, "label": "europe"}, True),
    ],
)
def test_rule_matches_a_tier_that_meets_every_condition(conditions, matches):
    assert PriceRule(price=CHEAP, **conditions).matches(TIER) is matches


def test_first_rule_that_matches_prices_the_tier():
    rules = [PriceRule(price=DEAR, label="asia"), PriceRule(price=CHEAP, label="europe"), PriceRule(price=DEAR)]
    assert find_rule(rules, TIER) == 1
    other = TierToPrice(SlaKind.MIN_ENERGY, 1.0, ())
    prices, counts = price_by_rules(rules, {"one": TIER, "other": other})
    assert (prices, counts) == ({"one": CHEAP, "other": DEAR}, [0, 1, 1])
    assert price_by_rules(rules[:1], {"one": TIER}) == ({}, [0])


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=8, unique=True), st.floats(0, 1e12))
def test_bands_that_touch_price_each_rate_once(bounds, rate):
    edges = sorted(bounds)
    bands = list(zip([0.0, *edges], [*edges, None], strict=True))
    rules = [PriceRule(price=CHEAP, from_bps=low, to_bps=high) for low, high in bands if high is None or high > low]
    assert sum(rule.matches(TIER._replace(rate_bps=rate)) for rule in rules) == 1


@pytest.mark.parametrize("band", [{"from_bps": -1.0}, {"from_bps": 5.0, "to_bps": 5.0}, {"to_bps": float("nan")}])
def test_band_that_is_none_is_refused(band):
    with pytest.raises(InvalidValue):
        PriceRule(price=CHEAP, **band)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"label": "a"}, {"label": "a"}),
        ({}, {"from_bps": 0.0}),
        ({"from_bps": 0.0}, {}),
        ({}, {"kind": SlaKind.MIN_ENERGY, "label": "a"}),
        ({"from_bps": 1e6}, {"from_bps": 2e6, "to_bps": 3e6}),
        ({"to_bps": 3e6}, {"to_bps": 3e6, "kind": SlaKind.MIN_ENERGY}),
    ],
)
def test_rule_that_an_earlier_one_covers_is_refused(first, second):
    rules = [PriceRule(price=CHEAP, **first), PriceRule(price=DEAR, **second)]
    with pytest.raises(InvalidValue, match="rule 1 matches all that it matches") as refused:
        check_rules(rules)
    assert refused.value.field == "rule 2"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"label": "a"}, {}),
        ({"label": "a"}, {"label": "b"}),
        ({"kind": SlaKind.MIN_ENERGY}, {"kind": SlaKind.MAX_THROUGHPUT}),
        ({"to_bps": 3e6}, {"from_bps": 2e6}),
        ({"from_bps": 1e6}, {"to_bps": 2e6}),
    ],
)
def test_rule_that_matches_something_else_too_is_accepted(first, second):
    check_rules([PriceRule(price=CHEAP, **first), PriceRule(price=DEAR, **second)])


def test_rule_of_a_kind_without_tiers_is_refused():
    with pytest.raises(InvalidValue, match="a deadline is served by a tier of throughput at least"):
        check_rules([PriceRule(price=CHEAP, kind=SlaKind.DEADLINE)])


def test_conditions_are_shown_in_words():
    rule = PriceRule(price=CHEAP, kind=SlaKind.MIN_ENERGY, label="europe", from_bps=1e9, to_bps=5e9)
    assert rule.format_conditions() == "min energy, links of europe, 1 Gbit/s to 5 Gbit/s"
    assert PriceRule(price=CHEAP, to_bps=1e6).format_conditions() == "all kinds, all links, below 1 Mbit/s"
