from dataclasses import replace

import numpy as np
import pytest

from tests.unit.learning.made_leaves import AXES, STEPS, grid, leaf, metered_leaf, noisy_leaf, true_log_throughput
from tradewind.learning.leaf import UNSEEN_POWER_LOG_SD, fit_leaf
from tradewind.parameters import Lattice

LATTICE = Lattice.spanning({axis: tuple(float(step) for step in STEPS) for axis in AXES})


def test_power_and_energy_follow_from_metered_rows():
    rows = metered_leaf()
    predicted = fit_leaf(rows).predict(rows.settings, rows.load)
    truth_w = 40 + 5 * np.log2(rows.settings[:, 0])
    assert np.max(np.abs(predicted.power_w / truth_w - 1)) < 0.08
    energy = 8 * rows.power_w / rows.throughput_bps
    assert np.mean(predicted.energy_j_per_byte) == pytest.approx(np.mean(energy), rel=0.03)
    np.testing.assert_allclose(np.exp(predicted.log_power_mean), truth_w, rtol=0.08)


def test_the_covariance_of_throughput_and_power_is_that_of_their_noise():
    model = fit_leaf(metered_leaf(correlation=0.6))
    assert model.correlation == pytest.approx(0.6, abs=0.1)
    predicted = model.predict(np.array([[4.0, 4.0, 4.0]]), np.array([np.nan]))
    assert predicted.log_covariance[0] == pytest.approx(0.6 * 0.2 * 0.1, rel=0.3)


def test_power_is_none_where_too_few_rows_were_metered():
    rows = metered_leaf()
    few = np.where(np.arange(len(rows)) < 5, rows.power_w, np.nan)
    predicted = fit_leaf(replace(rows, power_w=few)).predict(rows.settings, rows.load)
    assert predicted.power_w is None
    assert predicted.energy_j_per_byte is None
    assert predicted.log_covariance is None


def test_power_is_learned_from_the_part_of_the_rows_that_was_metered():
    rows = metered_leaf()
    part = np.where(np.arange(len(rows)) % 4 == 0, rows.power_w, np.nan)
    predicted = fit_leaf(replace(rows, power_w=part)).predict(rows.settings, rows.load)
    assert np.max(np.abs(predicted.power_w / (40 + 5 * np.log2(rows.settings[:, 0])) - 1)) < 0.15


def test_energy_never_falls_below_what_idling_costs():
    rows = metered_leaf()
    predicted = fit_leaf(rows, idle_power_w=50.0).predict(rows.settings, rows.load)
    assert predicted.power_w.min() == pytest.approx(50.0)
    assert np.exp(predicted.log_power_mean.min()) == pytest.approx(50.0)
    assert np.all(predicted.energy_j_per_byte >= 8 * 50.0 * np.exp(-predicted.log_throughput_mean) * (1 - 1e-12))


def test_the_lattice_runs_in_the_order_of_its_settings():
    model = fit_leaf(noisy_leaf())
    table = model.evaluate(LATTICE)
    settings = np.array(
        [[s.concurrency, s.parallelism, s.pipelining] for s in LATTICE.list_settings()], dtype=np.float64
    )
    direct = model.predict(settings, np.full(len(LATTICE), np.nan))
    np.testing.assert_allclose(table.prediction.log_throughput_mean, direct.log_throughput_mean)
    assert [s.parameters for s in table.build_settings()] == list(LATTICE.list_settings())


def test_a_lattice_without_an_axis_of_the_leaf_takes_its_constant_or_median():
    rows = noisy_leaf()
    rows = rows.take(rows.settings[:, 2] == 4)
    lattice = Lattice.spanning({"concurrency": (1.0, 8.0)})
    predicted = fit_leaf(rows).evaluate(lattice).prediction
    parallelism = np.median(rows.settings[:, 1])
    settings = np.array([[s.concurrency, parallelism, 4.0] for s in lattice.list_settings()])
    np.testing.assert_allclose(predicted.log_throughput_mean, true_log_throughput(settings), atol=0.15)
    assert predicted.certified.all()


def test_domain_values_carry_the_moments_of_power():
    setting = fit_leaf(metered_leaf()).evaluate(LATTICE).build_settings()[0]
    assert setting.certified
    assert setting.log_power_mean == pytest.approx(np.log(40), abs=0.1)
    assert 0 < setting.log_covariance < setting.log_throughput_sd * setting.log_power_sd


def test_few_metered_rows_do_not_take_away_the_promise_of_a_rate():
    rows = metered_leaf()
    few = replace(rows, power_w=np.where(np.arange(len(rows)) % 20 == 0, rows.power_w, np.nan))
    bare = replace(rows, power_w=np.full(len(rows), np.nan))
    with_few, without = (fit_leaf(each).evaluate(LATTICE).build_settings() for each in (few, bare))
    assert [each.certified for each in with_few] == [each.certified for each in without]
    dearest = np.log(np.nanmax(few.power_w))
    assert all(each.log_power_mean >= dearest - 1e-9 for each in with_few if each.log_power_sd == UNSEEN_POWER_LOG_SD)


def test_energy_far_from_metered_settings_is_expected_as_power_is_but_promised_with_caution():
    rows = metered_leaf()
    slow = replace(rows, power_w=np.where(rows.settings[:, 0] <= 8, rows.power_w, np.nan))
    predicted = fit_leaf(slow).evaluate(LATTICE).prediction
    unseen = predicted.log_power_sd == UNSEEN_POWER_LOG_SD
    assert 0 < np.sum(unseen) < len(unseen)
    expected = 8 * predicted.power_w / predicted.throughput_bps
    np.testing.assert_allclose(predicted.energy_j_per_byte, expected, rtol=0.2)
    assert np.all(predicted.log_power_mean[unseen] >= np.log(np.nanmax(slow.power_w)) - 1e-9)


def loaded_leaf():
    """Throughput loses what others take, ln(1 − ℓ); power falls by a tenth of that."""
    rng = np.random.default_rng(5)
    settings = grid(3)
    load = rng.uniform(0.1, 0.7, len(settings))
    left = np.log(1 - load)
    watts = (40 + 5 * np.log2(settings[:, 0])) * np.exp(0.1 * left + rng.normal(0, 0.03, len(settings)))
    return leaf(
        settings, true_log_throughput(settings) + left + rng.normal(0, 0.1, len(settings)), power_w=watts, load=load
    )


def test_the_effect_of_load_is_the_difference_of_the_surfaces_at_any_setting():
    rows = loaded_leaf()
    model = fit_leaf(rows)
    effect = model.tabulate_load_effect()
    assert len(effect.loads) == 20
    assert (effect.loads[0], effect.loads[-1]) == pytest.approx((rows.load.min(), rows.load.max()))
    for load in (0.1, 0.37, 0.55, 0.7, 0.95):
        median, at_load = (model.evaluate(LATTICE, each).prediction for each in (np.nan, load))
        shift = effect.interpolate_shift(load)
        np.testing.assert_allclose(
            at_load.log_throughput_mean - median.log_throughput_mean, shift.log_throughput, atol=2e-3
        )
        np.testing.assert_allclose(at_load.log_power_mean - median.log_power_mean, shift.log_power, atol=2e-3)


def test_the_effect_of_load_is_the_law_that_made_the_rows():
    effect = fit_leaf(loaded_leaf()).tabulate_load_effect()
    gone = effect.interpolate_shift(0.6)
    here = effect.interpolate_shift(0.2)
    assert gone.log_throughput - here.log_throughput == pytest.approx(np.log(0.4 / 0.8), abs=0.05)
    assert gone.log_power - here.log_power == pytest.approx(0.1 * np.log(0.4 / 0.8), abs=0.02)


def test_unknown_load_has_no_effect():
    assert fit_leaf(noisy_leaf()).tabulate_load_effect() is None
