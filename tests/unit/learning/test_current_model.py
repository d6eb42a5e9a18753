"""The current model on rows that are new to it: the leaf that would have served each, and its lattice."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.unit.application.recommend.models import PATH, leaf_model
from tradewind.cluster import find_nearest_leaf
from tradewind.learning.current_model import MIN_COMPARED_ROWS, ComparisonRows, CurrentModel, ModelComparison
from tradewind.load_effect import LoadEffect
from tradewind.model import LinkModel
from tradewind.parameters import AXES

FITTED_S = 1000.0


def build_current_model() -> CurrentModel:
    """Two kinds of data sets, the smaller files under two loads."""
    small = leaf_model(300, 100_000)
    busy = replace(small, leaf=replace(small.leaf, load_tier=1, load=0.6))
    large = leaf_model(10, 50_000_000, tier=1)
    return CurrentModel(LinkModel(path=PATH, leaves=(busy, large, small), rows=900, load_median=0.1), FITTED_S)


def comparison_rows(
    n: int = 1, *, cc=4.0, p=2.0, pp=4.0, size=1e5, count=300.0, load=0.0, received_s=FITTED_S + 1
) -> ComparisonRows:
    def column(value) -> np.ndarray:
        return np.broadcast_to(np.asarray(value, dtype=np.float64), (n,)).copy()

    settings = np.full((n, len(AXES)), np.nan)
    for axis, value in (("concurrency", cc), ("parallelism", p), ("pipelining", pp)):
        settings[:, AXES.index(axis)] = column(value)
    return ComparisonRows(
        settings=settings,
        mean_file_bytes=column(size),
        file_count=column(count),
        load=column(load),
        received_s=column(received_s),
    )


def lattice_value(leaf, **setting) -> float:
    return next(each.log_throughput_mean for each in leaf.table.settings if each.parameters.list_known() == setting)


def test_prediction_at_a_lattice_point_equals_the_served_one():
    busy, large, small = build_current_model().model.leaves
    point = {"concurrency": 4, "parallelism": 2, "pipelining": 4}
    predicted = build_current_model().predict_log_throughput(
        comparison_rows(3, size=[1e5, 5e7, 1e5], count=[300, 10, 300], load=[0.0, 0.0, 0.7])
    )
    assert predicted == pytest.approx([lattice_value(leaf, **point) for leaf in (small, large, busy)])


def test_between_points_it_lies_between_them_and_beyond_the_edge_at_the_edge():
    small = build_current_model().model.leaves[2]
    predicted = build_current_model().predict_log_throughput(comparison_rows(3, cc=[6.0, 16.0, 64.0]))
    at = [lattice_value(small, concurrency=cc, parallelism=2, pipelining=4) for cc in (4, 8, 16)]
    assert min(at[:2]) < predicted[0] < max(at[:2])
    assert predicted[1] == predicted[2] == pytest.approx(at[2])


def test_rows_that_it_may_have_been_fitted_to_and_rows_without_a_setting_are_passed_over():
    predicted = build_current_model().predict_log_throughput(
        comparison_rows(3, received_s=[FITTED_S, FITTED_S + 1, FITTED_S + 1], cc=[4, 4, np.nan])
    )
    assert np.isfinite(predicted).tolist() == [False, True, False]


def test_each_row_gets_the_leaf_that_a_request_like_it_gets():
    rng = np.random.default_rng(3)
    n = 200
    rows = comparison_rows(
        n, size=np.exp(rng.uniform(8, 20, n)), count=np.exp(rng.uniform(0, 9, n)), load=rng.uniform(0, 0.95, n)
    )
    leaves = build_current_model().model.leaves
    numbered = tuple(  # each leaf predicts its own number
        replace(
            leaf,
            table=replace(
                leaf.table, settings=tuple(replace(s, log_throughput_mean=float(i)) for s in leaf.table.settings)
            ),
        )
        for i, leaf in enumerate(leaves)
    )
    predicted = CurrentModel(replace(build_current_model().model, leaves=numbered), FITTED_S).predict_log_throughput(
        rows
    )
    centres = [leaf.leaf for leaf in leaves]
    found = [
        find_nearest_leaf(centres, mean_file_bytes=size, file_count=count, load=load)[0]
        for size, count, load in zip(rows.mean_file_bytes, rows.file_count, rows.load, strict=True)
    ]
    assert predicted == pytest.approx(found)
    assert set(found) == {0, 1, 2}


def test_an_unknown_load_counts_as_the_links_median():
    predicted = build_current_model().predict_log_throughput(comparison_rows(load=np.nan))
    assert predicted == pytest.approx(build_current_model().predict_log_throughput(comparison_rows(load=0.1)))


def test_the_load_of_a_row_counts_as_it_does_when_it_is_served():
    model = build_current_model().model
    effect = LoadEffect(loads=(0.1, 0.3, 0.5), log_throughput=(0.0, -0.2, -0.7))
    slowed = replace(model, leaves=tuple(replace(leaf, load_effect=effect) for leaf in model.leaves))
    rows = comparison_rows(4, load=[0.0, 0.2, 0.9, np.nan], size=5e7, count=10)
    predicted = CurrentModel(slowed, FITTED_S).predict_log_throughput(
        rows
    ) - build_current_model().predict_log_throughput(rows)
    assert predicted == pytest.approx([0.0, -0.1, -0.7, 0.0])
    assert predicted[:3] == pytest.approx([effect.interpolate_shift(load).log_throughput for load in (0.0, 0.2, 0.9)])


def test_errors_are_compared_row_by_row():
    rng = np.random.default_rng(1)
    actual = rng.normal(20, 1, 400)
    compared = ModelComparison.of(actual, actual + 0.3, actual - 0.1)
    assert (compared.error, compared.error_in_force) == (pytest.approx(0.3), pytest.approx(0.1))
    assert compared.growth_sd == pytest.approx(0, abs=1e-9)
    wild = np.where(np.arange(400) == 7, actual + math.log(1000), actual)  # bad for both
    assert ModelComparison.of(wild, actual + 0.3, actual - 0.1).growth_sd < 0.01


def test_too_few_rows_are_not_compared():
    few = np.zeros(MIN_COMPARED_ROWS - 1)
    assert ModelComparison.of(few, few, few) is None
