"""What a new model would change of tiers that have a price: small drifts pass, other promises wait for a provider."""

from dataclasses import replace
from uuid import UUID

import pytest

from services.application.models.learned_model import StoredLeaf, StoredModel
from services.application.models.priced_tiers import format_wait_reason, list_priced_tier_changes
from services.application.models.tier_identity import list_tier_origins, match_tiers
from tests.link_models import FITTED_AT, leaf_model
from tests.unit.application.recommend.models import NAMESPACE, PATH
from tests.unit.core.sla.test_sla_partitions import RATES, partition
from tradewind.model import LinkModel
from tradewind.sla.kinds import SlaKind
from tradewind.wire.releases import ChangeKind

LINK = NAMESPACE
FASTEST = partition(9e8, 9e8, closed=True, kind=SlaKind.MAX_THROUGHPUT)


def model(*partitions):
    leaf = replace(leaf_model(0, metered=False), partitions=partitions)
    return LinkModel(path=PATH, leaves=(leaf,), rows=500, load_median=0.0)


def stored(*partitions):
    """The model that serves now, each of its tiers new."""
    made = model(*partitions)
    (tiers,) = match_tiers(None, made)
    leaf = StoredLeaf(UUID(int=2), made.leaves[0], tuple(tiers))
    return StoredModel(
        id=UUID(int=1),
        link_id=LINK,
        fitted_at=FITTED_AT,
        path=PATH,
        rows=500,
        load_median=0.0,
        unknown_bps=None,
        failures=(),
        leaves=(leaf,),
    )


def changes(before, *partitions, priced=None):
    after = model(*partitions)
    ids = [tier.id for tier in before.leaves[0].tiers] if priced is None else priced
    return list_priced_tier_changes(before, after, match_tiers(before, after), ids)


def scaled(parts, factor):
    return tuple(replace(part, lower=part.lower * factor, upper=part.upper * factor) for part in parts)


@pytest.mark.parametrize("factor", [0.93, 1.0, 1.07])
def test_bounds_that_drift_by_a_few_per_cent_do_not_wait(factor):
    assert changes(stored(*RATES, FASTEST), *scaled((*RATES, FASTEST), factor)) == ()


def test_narrow_tier_that_drifts_next_to_its_old_bounds_does_not_wait():
    narrow = (partition(8e8, 8.3e8, closed=True),)
    assert changes(stored(*narrow), partition(8.2e8, 8.6e8, closed=True)) == ()


def test_a_tier_that_becomes_another_promise_waits():
    (change,) = changes(stored(*RATES), partition(1e8, 1.5e8), *RATES[1:])
    assert (change.change, change.before.upper, change.after.upper) == (ChangeKind.CHANGED, 4e8, 1.5e8)
    assert change.link_id == LINK


def test_a_level_that_falls_by_more_than_a_quarter_waits():
    assert [each.change for each in changes(stored(FASTEST), *scaled([FASTEST], 0.5))] == [ChangeKind.CHANGED]
    assert changes(stored(FASTEST), *scaled([FASTEST], 0.8)) == ()


def test_tiers_that_go_wait_and_the_reason_counts_them():
    found = changes(stored(*RATES, FASTEST), replace(RATES[0], upper=2e8, closed=True), FASTEST)
    assert sorted(each.change for each in found) == [ChangeKind.CHANGED, ChangeKind.LOST, ChangeKind.LOST]
    assert "take away 2 tiers and move 1 tier with a price" in format_wait_reason(found)


def test_tiers_without_a_price_and_links_without_a_model_never_wait():
    assert changes(stored(*RATES), FASTEST, priced=[]) == ()
    after = model(*RATES)
    assert list_priced_tier_changes(None, after, match_tiers(None, after), [LINK]) == ()


def test_a_split_tier_keeps_its_promise_at_its_price_in_both_parts():
    before = stored(*RATES)
    split = (RATES[0], partition(4e8, 5.5e8), partition(5.5e8, 8e8), RATES[2])
    assert changes(before, *split) == ()
    tiers = match_tiers(before, model(*split))
    (origin,) = list_tier_origins(tiers).values()
    assert origin == before.leaves[0].tiers[1].id
    assert [tier.needs_review for tier in tiers[0]] == [False, True, True, False]
