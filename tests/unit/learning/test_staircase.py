from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.learning.staircase import (
    MAX_STEPS,
    Cuts,
    build_staircase,
    compute_regret_of_difference,
    compute_regret_of_expense,
    compute_regret_of_gain,
    cut_into_parts,
    sum_regret,
)

values = st.floats(-3, 3)
settings = st.lists(st.tuples(values, values), min_size=1, max_size=9).map(lambda rows: np.array(rows).T)


def brute_force_regret(regret, demand, parts):
    """The best of all ways to cut f steps into so many parts."""
    f = len(demand)
    best = np.inf
    for inner in combinations(range(f - 1), parts - 1):
        ends = (*inner, f - 1)
        served_by = np.searchsorted(ends, np.arange(f))
        best = min(best, sum(demand[i] * regret[i, ends[served_by[i]]] for i in range(f)))
    return best


@given(settings, values)
def test_the_first_step_that_keeps_a_target_costs_least(rows, target):
    bound, cost = rows
    steps = build_staircase(bound, cost)
    keeping = cost[bound >= target]
    first = np.searchsorted(steps.bound, target)
    if len(keeping):
        assert steps.cost[first] == keeping.min()
        assert bound[steps.setting[first]] == steps.bound[first]
    else:
        assert first == len(steps.bound)
    assert (np.diff(steps.bound) > 0).all()
    assert (np.diff(steps.cost) > 0).all()


@given(settings, st.sampled_from((compute_regret_of_gain, compute_regret_of_expense, compute_regret_of_difference)))
def test_cuts_are_the_best_of_all_and_more_parts_never_regret_more(rows, regret_of):
    steps = build_staircase(*rows)
    regret, demand = regret_of(steps.cost), steps.estimate_demand()
    cuts = cut_into_parts(sum_regret(regret, demand), 4)
    assert (np.diff(cuts.regret) <= 0).all()
    for parts, found in enumerate(cuts.regret, start=1):
        assert found == pytest.approx(brute_force_regret(regret, demand, parts), abs=1e-12)
        ends = cuts.last_steps[parts - 1]
        assert len(ends) == parts
        assert ends[-1] == len(demand) - 1
        assert (np.diff(ends) > 0).all()


def test_further_bounds_serve_each_target_as_before():
    steps = build_staircase(np.array([1.0, 2.0, 3.0]), np.array([0.0, 2.0, 4.0]))
    refined = steps.refine(np.array([0.5, 1.5, 2.0, 3.5]))
    assert refined.bound.tolist() == [1.0, 1.5, 2.0, 3.0]
    assert refined.setting.tolist() == [0, 1, 1, 2]


def test_regret_is_relative_to_what_the_target_needed():
    costs = np.log([2.0, 3.0])
    assert compute_regret_of_expense(costs)[0, 1] == pytest.approx(0.5)
    assert compute_regret_of_gain(-costs[::-1])[0, 1] == pytest.approx(1 / 3)
    assert compute_regret_of_difference(np.array([-1.0, 0.0, 20.0]))[0].tolist() == [0.0, 1.0, 21.0]


@given(settings, st.lists(values, max_size=30))
def test_demand_is_a_distribution_that_follows_the_requests(rows, asked):
    steps = build_staircase(*rows)
    demand = steps.estimate_demand(np.array(asked) if asked else None)
    assert demand.sum() == pytest.approx(1.0)
    assert (demand >= 0).all()


def test_requested_targets_move_the_weight_to_their_step():
    steps = build_staircase(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0]))
    prior, seen = steps.estimate_demand(), steps.estimate_demand(np.full(500, 2.5))
    assert prior.tolist() == pytest.approx([0.2, 0.4, 0.4])
    assert seen[2] > 0.95


def test_bounds_within_the_gap_are_one_step():
    steps = build_staircase(np.array([1.0, 1.0 + 1e-12, 2.0]), np.array([1.0, 1.1, 2.0]), gap=1e-9)
    assert steps.setting.tolist() == [1, 2]


def test_a_long_staircase_keeps_its_hardest_step():
    rising = np.arange(5000.0)
    steps = build_staircase(rising, rising)
    assert len(steps.bound) == MAX_STEPS
    assert steps.bound[-1] == 4999


@pytest.mark.parametrize(
    ("regret", "parts"),
    [((0.5, 0.02, 0.01), 2), ((0.02,), 1), ((1.0, 0.3, 0.21, 0.2), 3), ((0.2,), 1)],
)
def test_enough_parts_reach_the_goal_or_nearly_the_least_regret(regret, parts):
    assert Cuts(np.array(regret), ()).find_fewest_parts(0.03) == parts
