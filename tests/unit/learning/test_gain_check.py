"""The back-test of a gain: what it compares, and that its interval holds as often as it states."""

import numpy as np
import pytest

from tests.unit.learning.made_leaves import leaf, true_log_throughput
from tradewind.learning.gain_check import (
    MIN_NEAR_ROWS,
    GainCheck,
    check_gain,
    describe_gain,
    find_near_rows,
    split_by_time,
)
from tradewind.learning.leaf import fit_leaf
from tradewind.learning.leaf_prediction import span_lattice
from tradewind.learning.observations import Observations
from tradewind.learning.validation import split_randomly
from tradewind.tiers.setting_table import SettingTable

STEPS = (1, 2, 4, 8)
REPEATS = 8


def sweep(seed: int, *, noise: float = 0.15, shift: float = 0.0) -> Observations:
    """Return a sweep in random order; the last 30 % of the rows are faster by ``shift``, at all settings."""
    draw = np.random.default_rng(seed)
    settings = np.array([(cc, p, 1) for cc in STEPS for p in STEPS] * REPEATS, dtype=np.float64)
    settings = settings[draw.permutation(len(settings))]
    log_throughput = true_log_throughput(settings) + draw.normal(0, noise, len(settings))
    log_throughput[int(0.7 * len(settings)) :] += shift
    return leaf(settings, log_throughput)


def check_later(rows: Observations) -> GainCheck | None:
    return check_gain(rows, *split_by_time(rows))


def test_interval_holds_as_often_as_it_states() -> None:
    sweeps = [(seed, sweep(seed)) for seed in range(40)]
    found = [check_gain(rows, *split_randomly(len(rows), np.random.default_rng(seed))) for seed, rows in sweeps]
    checks = [check for check in found if check is not None]
    assert len(checks) >= 20
    assert 0.8 <= np.mean([check.is_within for check in checks]) <= 1.0
    assert np.median([check.relative_error for check in checks]) < 0.15


def test_test_rows_decide_neither_setting_nor_prediction_nor_interval() -> None:
    rows = sweep(3)
    train, test = split_by_time(rows)
    changed = rows.throughput_bps.copy()
    changed[test] *= 2.0
    other = Observations(rows.axes, rows.settings, changed, rows.power_w, rows.load, rows.started_s)
    one, two = check_gain(rows, train, test), check_gain(other, train, test)
    assert one is not None
    assert two is not None
    assert (two.predicted_log, two.rows) == (one.predicted_log, one.rows)
    assert two.to_dict() == pytest.approx(one.to_dict())


def test_drift_that_moves_all_settings_cancels() -> None:
    steady, drifted = check_later(sweep(3)), check_later(sweep(3, shift=0.7))
    assert steady is not None
    assert drifted is not None
    assert drifted.observed_log == pytest.approx(steady.observed_log)


def test_interval_narrows_with_more_rows_near_the_setting() -> None:
    few, many = GainCheck(predicted_log=0.5, observed_log=0.4, log_sd=0.1, rows=2), check_later(sweep(1))
    assert few.is_within
    assert few.relative_error == pytest.approx(np.expm1(0.1))
    assert many is not None
    assert many.rows >= MIN_NEAR_ROWS


def test_nothing_is_checked_where_no_test_row_ran_near_the_setting() -> None:
    rows = sweep(1)
    fast = find_near_rows(rows.settings, rows.settings[[int(np.argmax(rows.throughput_bps))]])
    train = np.ones(len(rows), dtype=np.bool_)
    train[np.flatnonzero(rows.settings[:, 0] == 1)[:20]] = False
    assert not (~train & fast).any()
    assert check_gain(rows, train, ~train) is None


def test_few_rows_determine_nothing() -> None:
    rows = sweep(1).take(np.arange(6))
    assert check_gain(rows, *split_by_time(rows)) is None


def test_later_rows_are_those_that_started_later() -> None:
    rows = sweep(1)
    shuffled = rows.take(np.random.default_rng(0).permutation(len(rows)))
    train, test = split_by_time(shuffled)
    assert shuffled.started_s[train].max() < shuffled.started_s[test].min()
    assert train.sum() == int(0.7 * len(rows))


def test_rows_near_a_setting_lie_within_half_a_doubling_on_every_axis() -> None:
    settings = np.array([[4.0, 2.0], [5.0, 2.0], [8.0, 2.0], [4.0, 3.0], [np.nan, 2.0]])
    assert find_near_rows(settings, np.array([[4.0, 2.0]])).tolist() == [True, True, False, False, False]
    assert find_near_rows(settings, np.array([[4.0, np.nan]])).tolist() == [True, True, False, True, False]


def test_stored_leaf_keeps_both_deviations_and_the_later_check() -> None:
    rows = sweep(2)
    model = fit_leaf(rows)
    table = model.evaluate(span_lattice(rows.axes, rows.settings))
    found = describe_gain(rows, model, SettingTable(table.build_settings()))
    assert 0 < found["gain.fit_sd"] < 0.5
    assert found["gain.noise_sd"] == pytest.approx(0.15, rel=0.5)
    assert found["gain.rows"] >= MIN_NEAR_ROWS
