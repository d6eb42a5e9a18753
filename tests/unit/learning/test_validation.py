from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.unit.learning.made_leaves import AXES, grid, leaf, metered_leaf, noisy_leaf, true_log_throughput
from tradewind.errors import CannotFit
from tradewind.learning.leaf import fit_leaf
from tradewind.learning.leaf_prediction import LatticeTable
from tradewind.learning.load.recent import compute_load_of_residual, compute_recent_residual, estimate_free_residual
from tradewind.learning.observations import Observations
from tradewind.learning.rolling import check_cover_by_last, check_rolling_cover, fit_with_recent_load
from tradewind.learning.validation import (
    ValidationFold,
    build_setting_folds,
    compute_accuracy,
    compute_mape,
    compute_r_squared,
    compute_regret,
    judge_folds,
    restrict_certified,
    split_randomly,
    validate_leaf,
)
from tradewind.parameters import Lattice, Parameters


def test_figures_are_those_of_their_definitions():
    actual, predicted = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])
    assert compute_accuracy(actual, predicted) == pytest.approx(1 - np.sqrt(2 / 3) / 2)
    assert compute_mape(actual, predicted) == pytest.approx((1 + 0 + 1 / 3) / 3)
    assert compute_r_squared(actual, predicted) == pytest.approx(0)
    assert compute_r_squared(actual, actual) == 1
    assert compute_regret(np.array([5.0, 10.0, 8.0]), np.array([1.0, 2.0, 3.0])) == pytest.approx(0.2)


def test_a_sound_leaf_is_accepted_with_figures_for_both_surfaces():
    rows = metered_leaf()
    validation = validate_leaf(rows, fit_leaf(rows), np.random.default_rng(1))
    assert validation.accepted
    assert validation.throughput.accuracy > 0.7
    assert validation.throughput.r2_test > 0.8
    assert validation.throughput.coverage90 == pytest.approx(0.9, abs=0.06)
    assert validation.power.accuracy > 0.85
    assert set(validation.to_dict()) >= {"throughput.accuracy", "power.coverage90", "throughput.rows"}


def test_validation_is_the_same_for_the_same_generator():
    rows = noisy_leaf()
    model = fit_leaf(rows)
    assert validate_leaf(rows, model, np.random.default_rng(3)) == validate_leaf(rows, model, np.random.default_rng(3))


def test_too_few_rows_can_be_fitted_but_not_validated():
    rows = noisy_leaf().take(np.arange(0, 648, 54))
    with pytest.raises(CannotFit, match="not validated"):
        validate_leaf(rows, fit_leaf(rows), np.random.default_rng(1))


def test_a_surface_that_only_knows_its_training_rows_is_objected_to():
    rows = noisy_leaf()
    train, test = split_randomly(len(rows), np.random.default_rng(1))
    elsewhere = np.where(test, np.exp(20 + np.random.default_rng(2).normal(0, 1, len(rows))), rows.throughput_bps)
    changed = replace(rows, throughput_bps=elsewhere)
    model = fit_leaf(rows)
    worse, apart = judge_folds(changed, model, [ValidationFold(fit_leaf(rows.take(train)), train, test)]).objections
    assert "worse than their mean" in worse
    assert "% of test rows" in apart


def test_settings_that_make_no_difference_are_no_reason_to_object():
    rng = np.random.default_rng(8)
    for _ in range(5):
        rows = leaf(grid(10, steps=(1, 16)), 20 + rng.normal(0, 0.2, 80))
        assert validate_leaf(rows, fit_leaf(rows), rng).accepted


def test_a_refit_is_compared_with_the_current_model_on_rows_that_are_new_to_it():
    rows = noisy_leaf(repeats=1)
    truth, old = true_log_throughput(rows.settings), np.arange(len(rows)) < 150
    predicted_by_current = np.where(old, np.nan, truth + 0.5)
    validation = validate_leaf(rows, fit_leaf(rows), np.random.default_rng(1), current=predicted_by_current)
    compared = validation.compared
    assert 10 < compared.rows <= np.sum(~old)
    assert compared.error < 0.25
    assert compared.error_in_force == pytest.approx(0.5, abs=0.1)
    assert validation.to_dict()["compared.error_in_force"] == compared.error_in_force
    unknown = validate_leaf(rows, fit_leaf(rows), np.random.default_rng(1), current=np.full(len(rows), np.nan))
    assert unknown.compared is None


def test_an_optimum_beyond_twice_the_best_observation_is_objected_to():
    rows = noisy_leaf()
    slower = replace(rows, throughput_bps=rows.throughput_bps / 3)
    train, test = split_randomly(len(rows), np.random.default_rng(1))
    objections = judge_folds(
        slower, fit_leaf(rows), [ValidationFold(fit_leaf(slower.take(train)), train, test)]
    ).objections
    assert any("best observed throughput" in objection for objection in objections)


FEW_STEPS = Lattice({"concurrency": (1, 2, 4, 8), "parallelism": (1, 2, 4), "pipelining": (1, 4, 16)})


def few_settings(seed: int) -> Observations:
    """Four rows at each of nine settings; throughput grows with the streams until the pipe is full."""
    rng = np.random.default_rng(seed)
    every = np.array(list(product(*FEW_STEPS.values.values())), dtype=np.float64)
    settings = np.repeat(every[rng.choice(len(every), 9, replace=False)], 4, axis=0)
    cc, p, pp = settings.T
    law_bps = np.minimum(8e8, 4e7 * cc * p / (1 + 2 / pp))
    return leaf(settings, np.log(law_bps) + rng.normal(0, 0.05, len(settings)))


def fastest_certified_bps(table: LatticeTable) -> float:
    told = table.prediction
    return float(np.exp(np.max(told.log_throughput_mean[told.certified])))


def test_an_optimum_between_observed_settings_beyond_twice_the_best_observation_is_not_promised():
    rows = few_settings(35)
    model = fit_leaf(rows)
    assert validate_leaf(rows, model, np.random.default_rng(1)).accepted
    table, best_seen = model.evaluate(FEW_STEPS), np.max(rows.throughput_bps)
    assert fastest_certified_bps(table) > 2 * best_seen
    served = restrict_certified(table, rows, model.throughput)
    assert fastest_certified_bps(served) <= best_seen
    at = dict(zip(FEW_STEPS.list_settings(), served.prediction.certified, strict=True))
    tried = {Parameters(**dict(zip(AXES, map(int, setting), strict=True))) for setting in rows.settings}
    assert sum(at[setting] for setting in tried) >= len(tried) - 1  # the fastest may be predicted above its best row


def test_a_surface_that_stays_within_sight_of_its_rows_is_served_as_it_is():
    rows = few_settings(1)
    model = fit_leaf(rows)
    table = model.evaluate(FEW_STEPS)
    assert restrict_certified(table, rows, model.throughput) is table


def test_nothing_is_promised_of_more_streams_than_were_tried():
    tried = [*product((2, 4, 8, 16, 32, 64), (1,)), *product((2, 4, 8), (2, 4))]
    settings = np.repeat(np.array(tried, dtype=np.float64), 3, axis=0)
    noise = np.random.default_rng(3).normal(0, 0.08, len(settings))
    rows = leaf(settings, np.log(5e7) + 0.1 * np.log2(settings.prod(axis=1)) + noise, axes=AXES[:2])
    model = fit_leaf(rows)
    table = model.evaluate(Lattice({"concurrency": (2, 4, 8, 16, 32, 64), "parallelism": (1, 2, 4)}))
    assert max(each.parameters.streams for each in table.build_settings() if each.certified) > 64
    served = restrict_certified(table, rows, model.throughput).build_settings()
    assert max(each.parameters.streams for each in served if each.certified) == 64
    assert served[-1].log_throughput_mean == table.build_settings()[-1].log_throughput_mean


@pytest.mark.parametrize(("fast_rows", "promised"), [(1, False), (5, True)])
def test_one_row_alone_does_not_vouch_for_an_optimum(fast_rows, promised):
    concurrency = np.append(np.repeat([1.0, 2, 4, 64, 96, 128], 10), [16.0] * fast_rows)
    log_throughput = np.append(np.repeat([17.0, 18.2, 19.4, 19.4, 18.7, 18.0], 10), [22.5] * fast_rows)
    rows = leaf(concurrency[:, None], log_throughput, axes=("concurrency",))
    model = fit_leaf(rows)
    assert model.throughput.weight[-1] > 0  # no neighbour contradicts it
    table = model.evaluate(Lattice({"concurrency": (1, 2, 4, 16, 64, 96, 128)}))
    assert (fastest_certified_bps(restrict_certified(table, rows, model.throughput)) > np.exp(22)) == promised


def test_each_setting_is_left_out_completely_once():
    rows = noisy_leaf()
    folds = build_setting_folds(rows, np.random.default_rng(1))
    assert np.all(np.sum(folds, axis=0) == 1)
    for test in folds:
        assert not {tuple(s) for s in rows.settings[test]} & {tuple(s) for s in rows.settings[~test]}


def test_settings_that_were_left_out_are_predicted_from_their_neighbours():
    rows = noisy_leaf()
    errors = []
    for test in build_setting_folds(rows, np.random.default_rng(1)):
        told = fit_leaf(rows.take(~test)).predict(rows.settings[test], rows.load[test])
        errors.append(told.log_throughput_mean - true_log_throughput(rows.settings[test]))
    assert np.sqrt(np.mean(np.concatenate(errors) ** 2)) < 0.1


def test_the_load_of_a_row_comes_from_strictly_earlier_rows():
    residual = np.array([0.0, -1.0, -2.0, -3.0, 5.0, 7.0])
    started = np.array([0.0, 10.0, 20.0, 30.0, 40.0, 40.0])
    recent = compute_recent_residual(residual, started, np.array([0.0, 10.0, 30.0, 40.0, 41.0]), window=3)
    np.testing.assert_array_equal(recent, [np.nan, 0.0, -1.0, -2.0, 5.0])
    changed = np.where(started >= 30, 100.0, residual)
    np.testing.assert_array_equal(
        compute_recent_residual(changed, started, np.array([30.0]), 3),
        compute_recent_residual(residual, started, np.array([30.0]), 3),
    )


def test_load_is_the_share_by_which_a_free_path_is_missed():
    load = compute_load_of_residual(np.array([0.5, 0.5 + np.log(0.5), -9.0, np.nan]), 0.5)
    np.testing.assert_allclose(load, [0, 0.5, 0.95, np.nan])
    assert estimate_free_residual(np.full(4, np.nan)) == 0


def test_recent_load_predicts_what_drifts_and_does_not_predict_pure_noise():
    rng = np.random.default_rng(11)
    settings = rng.permutation(grid(3))
    n = len(settings)
    drift = 0.5 * np.sin(np.arange(n) / 25)
    gains = []
    for log_throughput in (true_log_throughput(settings) + drift, np.full(n, 20.0)):
        rows = leaf(settings, log_throughput + rng.normal(0, 0.2, n))
        train, test = (rows.take(part) for part in split_randomly(n, rng))
        model = fit_with_recent_load(train)
        load = model.estimate_load(test, model.plain.throughput.smooth_residual, train.started_s)
        with_load = model.loaded.predict(test.settings, load).throughput_bps
        without = model.plain.predict(test.settings, test.load).throughput_bps
        gains.append(compute_accuracy(test.throughput_bps, with_load) - compute_accuracy(test.throughput_bps, without))
    assert gains[0] > 0.08
    assert abs(gains[1]) < 0.02


def test_the_rolling_band_keeps_covering_while_the_path_drifts():
    rng = np.random.default_rng(13)
    settings = rng.permutation(grid(4))
    n = len(settings)
    drift = np.cumsum(rng.normal(0, 0.03, n))
    rows = leaf(settings, true_log_throughput(settings) + drift + rng.normal(0, 0.1, n))
    assert np.mean(check_rolling_cover(rows, 0.7)) == pytest.approx(0.9, abs=0.05)


def test_a_band_that_misses_widens_and_one_that_never_misses_narrows():
    rng = np.random.default_rng(14)
    past = rng.normal(0, 1, 200)
    assert np.mean(check_cover_by_last(past, rng.normal(0, 1, 1000))) == pytest.approx(0.9, abs=0.02)
    assert np.mean(check_cover_by_last(past, rng.normal(0, 3, 1000))) == pytest.approx(0.9, abs=0.03)
    assert np.mean(check_cover_by_last(past, rng.normal(0, 0.2, 1000))) == pytest.approx(0.9, abs=0.04)
