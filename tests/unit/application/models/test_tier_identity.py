"""A tier ID names one promise of one cluster: leaves continue one to one, and parts inherit prices."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from services.application.models.learned_model import StoredLeaf, StoredModel, Tier
from services.application.models.tier_identity import list_tier_origins, match_tiers, separate_tiers
from tests.link_models import FITTED_AT, leaf_model, link_model
from tradewind.model import LeafModel, LinkModel


def leaf(data_set: float, load: float = 0.2, *, dataset_tier: int = 0) -> LeafModel:
    """A leaf whose mean file size is 2^``data_set`` bytes."""
    made = leaf_model(0, metered=False)
    centre = replace(made.leaf, dataset_tier=dataset_tier, log2_mean_file_bytes=data_set, load=load)
    return replace(made, leaf=centre)


def model(*leaves: LeafModel) -> LinkModel:
    return replace(link_model(), leaves=leaves)


def stored(made: LinkModel, tiers: Sequence[Sequence[Tier]] | None = None) -> StoredModel:
    pairs = zip(made.leaves, tiers or match_tiers(None, made), strict=True)
    return StoredModel(
        id=UUID(int=1),
        link_id=UUID(int=2),
        fitted_at=FITTED_AT,
        path=made.path,
        rows=made.rows,
        load_median=0.0,
        unknown_bps=None,
        failures=(),
        leaves=tuple(StoredLeaf(UUID(int=n + 3), each, tuple(of_leaf)) for n, (each, of_leaf) in enumerate(pairs)),
    )


def ids(tiers: Sequence[Sequence[Tier]]) -> list[list[UUID]]:
    return [[tier.id for tier in of_leaf] for of_leaf in tiers]


def are_distinct(tiers: Sequence[Sequence[Tier]]) -> bool:
    every = [tier for of_leaf in ids(tiers) for tier in of_leaf]
    return len(set(every)) == len(every)


@pytest.mark.parametrize("order", [1, -1])
def test_one_part_of_a_cluster_that_is_split_continues_it_and_the_other_one_inherits(order: int) -> None:
    before = stored(model(leaf(20)))
    ((one, two),) = ids([before.leaves[0].tiers])
    parts = (leaf(20.5, dataset_tier=0), leaf(18, dataset_tier=1))[::order]
    tiers = match_tiers(before, model(*parts))
    near, far = tiers[::order]
    assert ids([near]) == [[one, two]]
    assert are_distinct(tiers)
    assert [(tier.split_from, tier.needs_review) for tier in far] == [(one, True), (two, True)]
    assert list_tier_origins(tiers) == {far[0].id: one, far[1].id: two}


def test_loads_of_the_same_data_sets_continue_one_to_one() -> None:
    before = stored(model(leaf(20, 0.1), leaf(20, 0.3), leaf(20, 0.6)))
    old = ids([each.tiers for each in before.leaves])
    assert ids(match_tiers(before, model(leaf(20.1, 0.1), leaf(20.1, 0.25), leaf(20.1, 0.4)))) == old


def test_a_further_load_is_split_from_the_nearest() -> None:
    before = stored(model(leaf(20, 0.2)))
    tiers = match_tiers(before, model(leaf(20, 0.7), leaf(20, 0.15)))
    assert [tier.id for tier in tiers[1]] == [tier.id for tier in before.leaves[0].tiers]
    assert [tier.split_from for tier in tiers[0]] == [tier.id for tier in before.leaves[0].tiers]


def test_a_part_never_takes_the_tiers_of_other_data_sets_that_are_gone() -> None:
    before = stored(model(leaf(20, dataset_tier=0), leaf(30, dataset_tier=1)))
    tiers = match_tiers(before, model(leaf(19.5, dataset_tier=0), leaf(21, dataset_tier=1)))
    gone = {tier.id for tier in before.leaves[1].tiers}
    assert not gone & {tier.id for of_leaf in tiers for tier in of_leaf}
    assert [tier.split_from for tier in tiers[1]] == [tier.id for tier in before.leaves[0].tiers]


def test_clusters_that_share_ids_since_an_earlier_version_get_their_own() -> None:
    shared = [Tier(UUID(int=7)), Tier(UUID(int=8))]
    both = model(leaf(20, dataset_tier=0), leaf(30, dataset_tier=1))
    tiers = match_tiers(stored(both, [shared, shared]), both)
    assert are_distinct(tiers)
    assert ids(tiers)[0] == [UUID(int=7), UUID(int=8)]
    assert [tier.split_from for tier in tiers[1]] == [UUID(int=7), UUID(int=8)]
    assert are_distinct(separate_tiers([shared, shared, shared]))
