from dataclasses import replace

import numpy as np
import pytest

from tests.unit.learning.made_leaves import grid, leaf, noisy_leaf, true_log_throughput
from tradewind.errors import CannotFit, InvalidValue
from tradewind.learning.leaf import fit_leaf
from tradewind.learning.validation import compute_accuracy, split_randomly


def unknown_load(n):
    return np.full(n, np.nan)


def test_a_known_surface_is_recovered_within_a_fraction_of_the_noise():
    leaf_rows = noisy_leaf(noise=0.15)
    settings = grid(1)
    predicted = fit_leaf(leaf_rows).predict(settings, unknown_load(len(settings)))
    error = predicted.log_throughput_mean - true_log_throughput(settings)
    assert np.sqrt(np.mean(error**2)) < 0.06
    assert predicted.certified.all()


def test_a_surface_without_noise_is_met_closely_and_narrowly():
    settings = grid(1)
    predicted = fit_leaf(leaf(settings, true_log_throughput(settings))).predict(settings, unknown_load(len(settings)))
    assert np.max(np.abs(predicted.log_throughput_mean - true_log_throughput(settings))) < 0.02
    assert np.max(predicted.log_throughput_sd) < 0.05


def test_the_mean_throughput_is_corrected_for_the_back_transform():
    leaf_rows = noisy_leaf(repeats=6, noise=0.5)
    predicted = fit_leaf(leaf_rows).predict(leaf_rows.settings, leaf_rows.load)
    assert np.mean(predicted.throughput_bps) == pytest.approx(np.mean(leaf_rows.throughput_bps), rel=0.02)
    assert np.mean(np.exp(predicted.log_throughput_mean)) < 0.95 * np.mean(leaf_rows.throughput_bps)


def test_the_90_percent_band_holds_nine_in_ten_new_rows_where_noise_grows_with_streams():
    rng = np.random.default_rng(3)
    settings = grid(4)
    spread = 0.05 + 0.08 * np.log2(settings[:, 0])
    rows = leaf(settings, true_log_throughput(settings) + rng.normal(0, 1, len(settings)) * spread)
    train, test = split_randomly(len(rows), rng)
    predicted = fit_leaf(rows.take(train)).predict(settings[test], rows.load[test])
    z = np.abs(np.log(rows.throughput_bps[test]) - predicted.log_throughput_mean) / predicted.log_throughput_sd
    assert np.mean(z <= 1.645) == pytest.approx(0.9, abs=0.04)
    calm, wild = settings[test, 0] == 1, settings[test, 0] == 32
    assert np.mean(predicted.log_throughput_sd[wild]) > 3 * np.mean(predicted.log_throughput_sd[calm])


def test_pure_noise_is_not_predicted():
    rng = np.random.default_rng(5)
    settings = grid(3)
    rows = leaf(settings, 20 + rng.normal(0, 0.4, len(settings)))
    train, test = split_randomly(len(rows), rng)
    predicted = fit_leaf(rows.take(train)).predict(settings[test], rows.load[test])
    guess = np.full(int(test.sum()), np.mean(rows.throughput_bps[train]))
    actual = rows.throughput_bps[test]
    assert compute_accuracy(actual, predicted.throughput_bps) == pytest.approx(
        compute_accuracy(actual, guess), abs=0.02
    )
    assert np.std(predicted.log_throughput_mean) < 0.08


@pytest.mark.parametrize("victim", [0, 317, 647])
def test_one_row_a_thousand_times_too_fast_does_not_move_the_surface(victim):
    rows = noisy_leaf()
    wild = rows.throughput_bps.copy()
    wild[victim] *= 1000
    without = fit_leaf(rows.take(np.arange(len(rows)) != victim)).predict(rows.settings, rows.load)
    within = fit_leaf(replace(rows, throughput_bps=wild)).predict(rows.settings, rows.load)
    shift = np.abs(within.throughput_bps / without.throughput_bps - 1)
    assert np.median(shift) < 0.02
    assert shift[victim] < 0.3


def test_true_corner_of_the_surface_is_preserved():
    settings = grid(3)
    corner = (settings[:, 0] <= 2) & (settings[:, 1] <= 2) & (settings[:, 2] <= 2)
    rng = np.random.default_rng(7)
    truth = true_log_throughput(settings) - 3.0 * corner
    model = fit_leaf(leaf(settings, truth + rng.normal(0, 0.1, len(settings))))
    predicted = model.predict(settings, unknown_load(len(settings)))
    assert np.mean(model.throughput.weight[corner]) > 0.8
    assert np.max(np.abs(predicted.log_throughput_mean - truth)[corner]) < 0.5


def test_a_ripple_that_splines_cannot_follow_is_left_to_kriging():
    settings = grid(2)
    steps = np.log2(settings)
    ripple = 0.5 * (steps[:, 0] + steps[:, 1] + steps[:, 2] > 7) * (steps[:, 0] * steps[:, 1] * steps[:, 2] > 12)
    rng = np.random.default_rng(2)
    rows = leaf(settings, true_log_throughput(settings) + ripple + rng.normal(0, 0.05, len(settings)))
    surface = fit_leaf(rows).throughput
    assert surface.kriging is not None
    whole = surface.predict(settings, rows.load).log_mean - np.log(rows.throughput_bps)
    smooth = surface.predict(settings, rows.load, local=False).log_mean - np.log(rows.throughput_bps)
    assert np.std(whole) < 0.8 * np.std(smooth)


def test_settings_outside_the_sampled_hull_are_uncertain_and_cannot_be_certified():
    rows = noisy_leaf()
    few_streams = rows.take(rows.settings[:, 0] * rows.settings[:, 1] <= 32)
    predicted = fit_leaf(few_streams).predict(np.array([[2.0, 4.0, 4.0], [32.0, 32.0, 4.0]]), unknown_load(2))
    assert predicted.certified.tolist() == [True, False]
    assert predicted.log_throughput_sd[1] > 1.3 * predicted.log_throughput_sd[0]


def test_external_load_lowers_the_prediction():
    rng = np.random.default_rng(9)
    settings = grid(3)
    load = rng.uniform(0, 0.9, len(settings))
    truth = true_log_throughput(settings) + np.log(1 - load)
    rows = leaf(settings, truth + rng.normal(0, 0.1, len(settings)), load=load)
    model = fit_leaf(rows)
    setting = np.array([[4.0, 4.0, 4.0]] * 3)
    predicted = model.predict(setting, np.array([0.0, 0.5, 0.8])).log_throughput_mean
    assert np.diff(predicted) == pytest.approx([np.log(0.5), np.log(0.4)], abs=0.1)
    assert np.std(np.log(rows.throughput_bps) - model.predict(settings, load).log_throughput_mean) < 0.13


def test_a_fit_that_starts_from_another_comes_to_the_same():
    rows = noisy_leaf()
    cold = fit_leaf(rows)
    warm = fit_leaf(rows, start=cold)
    predicted = [model.predict(rows.settings, rows.load).log_throughput_mean for model in (cold, warm)]
    assert np.max(np.abs(predicted[0] - predicted[1])) < 0.05


def test_the_order_of_rows_changes_nothing():
    rows = noisy_leaf()
    shuffled = rows.take(np.random.default_rng(4).permutation(len(rows)))
    settings = grid(1)
    predicted = [fit_leaf(each).predict(settings, unknown_load(len(settings))) for each in (rows, shuffled)]
    np.testing.assert_allclose(predicted[0].log_throughput_mean, predicted[1].log_throughput_mean, atol=1e-5)


def test_constant_axes_are_dropped_and_other_values_of_them_not_certified():
    rows = noisy_leaf()
    one_pipelining = rows.take(rows.settings[:, 2] == 4)
    model = fit_leaf(one_pipelining)
    assert [axis.name for axis in model.throughput.plane.design.axes] == ["concurrency", "parallelism"]
    predicted = model.predict(np.array([[4.0, 4.0, 4.0], [4.0, 4.0, 8.0]]), unknown_load(2))
    assert predicted.certified.tolist() == [True, False]


def test_a_single_axis_is_enough():
    rng = np.random.default_rng(6)
    streams = np.repeat([1.0, 2, 3, 4, 6, 8], 4)[:, None]
    truth = 18 + np.log(streams[:, 0])
    rows = leaf(streams, truth + rng.normal(0, 0.05, len(streams)), axes=("parallelism",))
    predicted = fit_leaf(rows).predict(streams, unknown_load(len(streams)))
    assert np.max(np.abs(predicted.log_throughput_mean - truth)) < 0.1


def test_two_distinct_values_are_enough():
    rng = np.random.default_rng(8)
    pipelining = np.repeat([0.0, 8.0], 10)[:, None]
    truth = np.where(pipelining[:, 0] > 0, 20.0, 18.0)
    rows = leaf(pipelining, truth + rng.normal(0, 0.1, 20), axes=("pipelining",))
    predicted = fit_leaf(rows).predict(np.array([[0.0], [8.0]]), unknown_load(2))
    assert predicted.log_throughput_mean == pytest.approx([18, 20], abs=0.15)


def test_rows_that_do_not_log_an_axis_are_a_group_of_their_own():
    rng = np.random.default_rng(10)
    settings = grid(2)
    silent = np.arange(len(settings)) % 2 == 0
    truth = true_log_throughput(settings) - 1.0 * silent
    settings[silent, 2] = np.nan
    rows = leaf(settings, truth + rng.normal(0, 0.1, len(settings)))
    predicted = fit_leaf(rows).predict(np.array([[4.0, 4, 4], [4, 4, np.nan]]), unknown_load(2))
    assert predicted.log_throughput_mean[0] - predicted.log_throughput_mean[1] == pytest.approx(1.0, abs=0.2)


def test_surface_accepts_a_continuous_quantity_next_to_the_settings():
    rng = np.random.default_rng(12)
    n = 600
    settings = np.stack([rng.choice([1.0, 2, 4, 8], n), np.exp(rng.uniform(10, 20, n))], axis=1)
    truth = 15 + 0.3 * np.log2(settings[:, 0]) + 0.2 * np.log(settings[:, 1])
    rows = leaf(settings, truth + rng.normal(0, 0.1, n), axes=("concurrency", "mean_file_bytes"))
    predicted = fit_leaf(rows).predict(settings, rows.load)
    assert np.sqrt(np.mean((predicted.log_throughput_mean - truth) ** 2)) < 0.05


def test_data_sets_of_nearly_the_same_size_keep_their_own_level_if_sent_repeatedly():
    rng = np.random.default_rng(15)
    sizes = np.concatenate([1e6 * (1 + 1e-5 * np.arange(290)), np.geomspace(1e7, 1e10, 10)])
    level = np.repeat(rng.normal(0, 0.5, 300), 8)
    settings = np.stack([np.tile([1.0, 2, 4, 8], 600), np.repeat(sizes, 8)], axis=1)
    truth = 18 + 0.3 * np.log2(settings[:, 0]) + level
    rows = leaf(settings, truth + rng.normal(0, 0.1, len(truth)), axes=("concurrency", "mean_file_bytes"))
    predicted = fit_leaf(rows).predict(settings, rows.load)
    assert np.sqrt(np.mean((predicted.log_throughput_mean - truth) ** 2)) < 0.15


@pytest.mark.parametrize(
    ("rows", "diagnosis"),
    [
        (lambda: noisy_leaf().take(slice(0, 5)), "5 rows: a surface needs at least 8"),
        (lambda: leaf(np.full((20, 3), 4.0), np.full(20, 18.0)), "all 20 rows have the same concurrency"),
        (lambda: leaf(np.full((20, 3), np.nan), np.full(20, 18.0)), "all 20 rows have the same"),
        (lambda: leaf(grid(1), np.full(216, -np.inf)), "216 of 216 rows have no positive throughput"),
    ],
)
def test_rows_that_determine_no_surface_are_diagnosed(rows, diagnosis):
    with pytest.raises(CannotFit, match=diagnosis):
        fit_leaf(rows())


def test_observations_of_unequal_length_are_refused():
    with pytest.raises(InvalidValue, match="settings"):
        leaf(grid(1), np.zeros(5))
    with pytest.raises(InvalidValue, match="load"):
        leaf(grid(1), np.zeros(216), load=np.zeros(3))
