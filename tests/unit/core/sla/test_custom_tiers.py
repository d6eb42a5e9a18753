"""Tiers that a provider cuts itself: solved at their safe end, with edges that leave no gap."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.application.models.custom_tiers import CustomBoundaries, apply_custom_boundaries
from services.application.models.learned_model import Tier
from tests.link_models import leaf_model, link_model
from tradewind.errors import InvalidValue
from tradewind.learning.partition import solve_partitions
from tradewind.model import LeafModel, LinkModel
from tradewind.sla.kinds import EnergyBasis, SlaKind
from tradewind.tiers.custom import MAX_TIERS, check_boundaries, solve_between
from tradewind.tiers.partitions import Partition, PartitionKey

POWER = PartitionKey(SlaKind.POWER_AT_MOST, 0.9, EnergyBasis.TOTAL)
TABLE = leaf_model(0, metered=True).table
SOLVED = solve_partitions(TABLE)


def of_key(key: PartitionKey) -> list[Partition]:
    return sorted((each for each in SOLVED if each.key == key), key=lambda each: each.lower)


def edges_of(parts: list[Partition]) -> list[float]:
    return [parts[0].lower, *(each.upper for each in parts)]


LOWEST, *_, HIGHEST = edges_of(of_key(POWER))
EDGES = [LOWEST + n * (HIGHEST - LOWEST) / 6 for n in range(6)] + [HIGHEST]


@pytest.mark.parametrize("kind", [SlaKind.THROUGHPUT_AT_LEAST, SlaKind.ENERGY_AT_MOST, SlaKind.POWER_AT_MOST])
@pytest.mark.parametrize("basis", EnergyBasis)
def test_cut_as_proposed_the_same_settings_serve(kind: SlaKind, basis: EnergyBasis) -> None:
    proposed = of_key(PartitionKey(kind, 0.9, basis))
    own = solve_between(TABLE, proposed[0].key, edges_of(proposed))
    assert [each.setting for each in own] == [each.setting for each in proposed]
    assert [(each.lower, each.upper, each.closed) for each in own] == [
        (each.lower, each.upper, each.closed) for each in proposed
    ]


@given(st.lists(st.floats(EDGES[0] * 1.002, EDGES[-1] * 0.998), max_size=6, unique=True))
def test_every_target_is_met_by_the_tier_that_contains_it(drawn: list[float]) -> None:
    cuts = sorted(drawn)
    try:
        check_boundaries(cuts, lowest=EDGES[0], highest=EDGES[-1])
    except InvalidValue:
        return
    parts = solve_between(TABLE, POWER, (EDGES[0], *cuts, EDGES[-1]))
    assert [each.upper for each in parts[:-1]] == [each.lower for each in parts[1:]]
    assert all(each.probability >= 0.9 and each.regret >= 0 for each in parts)


def test_one_tier_for_all_targets_loses_more_than_many() -> None:
    (whole,) = solve_between(TABLE, POWER, (EDGES[0], EDGES[-1]))
    parts = solve_between(TABLE, POWER, EDGES)
    assert whole.regret > max(each.regret for each in parts)


@pytest.mark.parametrize(
    "cuts",
    [
        [EDGES[1], EDGES[1]],
        [EDGES[2], EDGES[1]],
        [EDGES[0]],
        [EDGES[0] / 2],
        [EDGES[-1] * 2],
        [float("nan")],
        [float("inf")],
        [EDGES[0] + n * (EDGES[-1] - EDGES[0]) / (MAX_TIERS + 2) for n in range(1, MAX_TIERS + 1)],
    ],
)
def test_cuts_that_leave_no_tiers_between_them_are_refused(cuts: list[float]) -> None:
    with pytest.raises(InvalidValue, match="bounds"):
        check_boundaries(cuts, lowest=EDGES[0], highest=EDGES[-1])


@pytest.mark.parametrize("edges", [(EDGES[0] / 2, EDGES[-1]), (-1.0, EDGES[-1])])
def test_uncertified_bounds_are_not_promised(edges: tuple[float, float]) -> None:
    with pytest.raises(InvalidValue, match="bounds"):
        solve_between(TABLE, POWER, edges)


def test_a_kind_without_targets_has_nothing_to_cut() -> None:
    with pytest.raises(InvalidValue, match="kind"):
        solve_between(TABLE, PartitionKey(SlaKind.MAX_THROUGHPUT, 0.9, EnergyBasis.TOTAL), EDGES)


def fitted(*, scale: float = 1.0) -> tuple[LinkModel, list[list[Tier]]]:
    """A model whose first leaf has its partitions from the solver, on a table with so much more power."""
    leaf = leaf_model(0, metered=True)
    table = replace(
        leaf.table,
        settings=tuple(
            replace(each, log_power_mean=(each.log_power_mean or 0.0) + (scale - 1.0)) for each in leaf.table.settings
        ),
    )
    solved: LeafModel = replace(leaf, table=table, partitions=solve_partitions(table))
    model = replace(link_model(), leaves=(solved,))
    return model, [[Tier(UUID(int=n + 1)) for n, _ in enumerate(solved.partitions)]]


def bounds(model: LinkModel, tiers: list[list[Tier]]) -> list[tuple[UUID, float, float, bool]]:
    pairs = zip(model.leaves[0].partitions, tiers[0], strict=True)
    return sorted(
        ((tier.id, part.lower, part.upper, tier.needs_review) for part, tier in pairs if part.key == POWER),
        key=lambda each: each[1],
    )


def test_own_cuts_come_back_with_their_tiers_when_a_link_is_fitted_again() -> None:
    model, tiers = fitted()
    mine = bounds(model, tiers)
    cuts = ((EDGES[0] + EDGES[-1]) / 2,)
    own = CustomBoundaries(POWER, cuts, (mine[0][0], UUID(int=999)))
    cut, kept, _ = apply_custom_boundaries(model, tiers, [own], None)
    assert [(each[0], each[1], each[2]) for each in bounds(cut, kept)] == [
        (mine[0][0], EDGES[0], cuts[0]),
        (UUID(int=999), cuts[0], EDGES[-1]),
    ]
    others = [part for part in model.leaves[0].partitions if part.key != POWER]
    assert [part for part in cut.leaves[0].partitions if part.key != POWER] == others


def test_a_cut_that_can_no_longer_be_reached_waits_until_it_can() -> None:
    model, tiers = fitted(scale=1.02)  # a little more power: the lowest cuts are out of reach
    first = bounds(model, tiers)[0][0]
    own = CustomBoundaries(POWER, (EDGES[0] * 1.002, EDGES[-1]), (UUID(int=997), first, UUID(int=999)))
    cut, kept, _ = apply_custom_boundaries(model, tiers, [own], None)
    assert [each[0] for each in bounds(cut, kept)] == [first, UUID(int=999)]
    model, tiers = fitted()
    back, kept, _ = apply_custom_boundaries(model, [[replace(each) for each in tiers[0]]], [own], None)
    assert next(each[0] for each in bounds(back, list(map(list, kept)))) == UUID(int=997)


def test_cuts_of_tiers_that_are_not_there_change_nothing() -> None:
    model, tiers = fitted()
    own = CustomBoundaries(POWER, (), (UUID(int=10**6),))
    assert apply_custom_boundaries(model, tiers, [own], None) == (model, tiers, [])


def test_a_cluster_that_is_split_off_has_the_boundaries_under_ids_of_its_own() -> None:
    model, tiers = fitted()
    (leaf,), mine = model.leaves, bounds(model, tiers)
    cuts = ((EDGES[0] + EDGES[-1]) / 2,)
    own = CustomBoundaries(POWER, cuts, (mine[0][0], UUID(int=999)))
    halves = replace(model, leaves=(leaf, leaf))
    parts = [Tier(uuid4(), needs_review=True, split_from=tier.id) for tier in tiers[0]]
    cut, kept, (split,) = apply_custom_boundaries(halves, [*tiers, parts], [own], None)
    assert (split.key, split.cuts) == (own.key, own.cuts)
    first, second = ([tier for tier in of_leaf if tier.id in (*own.tier_ids, *split.tier_ids)] for of_leaf in kept)
    assert tuple(tier.id for tier in first) == own.tier_ids
    assert tuple(tier.id for tier in second) == split.tier_ids
    assert tuple(tier.split_from for tier in second) == own.tier_ids
    assert len({tier.id for of_leaf in kept for tier in of_leaf}) == sum(len(each.partitions) for each in cut.leaves)
    as_stored = [[replace(tier, split_from=None) for tier in of_leaf] for of_leaf in kept]
    again, _, none = apply_custom_boundaries(cut, as_stored, [own, split], None)
    assert (again, none) == (cut, [])
