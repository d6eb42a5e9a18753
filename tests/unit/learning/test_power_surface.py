"""The power surface: what transfers add to idle hosts is followed where the total would hide it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.learning.leaf import MEDIAN_LOAD, fit_leaf
from tradewind.learning.observations import Floats, Observations
from tradewind.learning.power_surface import PowerSurface, fit_power
from tradewind.learning.surface.plane import Plane

IDLE_W = 90.0
VALUES = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
AXES = ("concurrency", "cores")


def observe(seed: int, *, noise: float, added_noise_w: float = 0.0) -> tuple[Observations, Floats]:
    """Return rows of a grid, and the watts that each setting adds without noise."""
    grid = np.array([(cc, cores) for cc in VALUES for cores in VALUES for _ in range(3)])
    draw = np.random.default_rng(seed)
    added_w = 0.8 * grid[:, 0] ** 0.4 * grid[:, 1] ** 0.6
    measured_w = IDLE_W + added_w * np.exp(noise * draw.standard_normal(len(grid)))
    measured_w += added_noise_w * draw.standard_normal(len(grid))
    rows = Observations(
        axes=AXES,
        settings=grid,
        throughput_bps=1e8 * grid[:, 0] ** 0.3 * np.exp(0.05 * draw.standard_normal(len(grid))),
        power_w=measured_w,
        load=np.full(len(grid), np.nan),
        started_s=np.arange(len(grid), dtype=np.float64),
    )
    return rows, added_w


def fit(rows: Observations, idle_power_w: float) -> PowerSurface:
    return fit_power(Plane.spanning(rows.axes, rows.settings, rows.load), rows.power_w, idle_power_w=idle_power_w)


def measure_error(surface: PowerSurface, rows: Observations, added_w: Floats) -> float:
    predicted = surface.predict_at(surface.above.plane.locate(rows.settings), np.full(len(rows), MEDIAN_LOAD))
    return float(np.mean(np.abs(np.log(np.maximum(np.exp(predicted.log_mean) - IDLE_W, 1e-3) / added_w))))


def test_small_additions_to_idle_power_are_predicted_better_above_a_floor() -> None:
    errors = []
    for seed in range(5):
        rows, added_w = observe(seed, noise=0.4)
        above = fit(rows, IDLE_W)
        assert 0 < above.floor_w < IDLE_W
        errors.append([measure_error(each, rows, added_w) for each in (above, fit(rows, 0.0))])
    of_above, of_entire = np.sum(errors, axis=0)
    assert of_above < 0.9 * of_entire


def test_power_without_known_idle_power_has_no_floor() -> None:
    rows, _ = observe(2, noise=0.2)
    assert fit(rows, 0.0).floor_w == 0.0


def test_floor_is_refused_where_noise_does_not_shrink_with_what_is_added() -> None:
    rows, _ = observe(3, noise=0.0, added_noise_w=6.0)
    assert fit(rows, IDLE_W).floor_w == 0.0


def test_rows_below_idle_power_are_accepted_and_predictions_stay_above_the_floor() -> None:
    rows, _ = observe(4, noise=0.3, added_noise_w=2.0)
    assert (rows.power_w < IDLE_W).any()
    surface = fit(rows, IDLE_W)
    predicted = surface.predict_at(surface.above.plane.locate(rows.settings), np.full(len(rows), MEDIAN_LOAD))
    assert (np.exp(predicted.log_mean) > surface.floor_w).all()
    assert np.isfinite(predicted.log_sd).all()


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), st.floats(0.1, 0.5))
def test_bounds_of_power_hold_for_about_as_many_rows_as_they_state(seed: int, noise: float) -> None:
    rows, _ = observe(seed, noise=noise)
    surface = fit(rows, IDLE_W)
    predicted = surface.predict_at(surface.above.plane.locate(rows.settings), np.full(len(rows), MEDIAN_LOAD))
    fresh, _ = observe(seed + 1, noise=noise)
    inside = np.abs(np.log(fresh.power_w) - predicted.log_mean) <= 1.645 * predicted.log_sd
    assert 0.78 <= inside.mean() <= 1.0


def test_held_out_residuals_are_those_of_the_log_of_power() -> None:
    rows, _ = observe(5, noise=0.3)
    surface = fit(rows, IDLE_W)
    residual = surface.compute_held_out_residuals(rows.power_w)
    without_w = rows.power_w * np.exp(-residual)
    expected_w = surface.floor_w + (rows.power_w - surface.floor_w) * np.exp(-surface.above.held_out.residual)
    np.testing.assert_allclose(without_w, expected_w)


def test_refit_takes_over_the_floor() -> None:
    rows, _ = observe(6, noise=0.4)
    first = fit(rows, IDLE_W)
    plane = Plane.spanning(rows.axes, rows.settings, rows.load)
    assert fit_power(plane, rows.power_w, idle_power_w=IDLE_W, start=first).floor_w == first.floor_w


def test_leaf_predicts_no_power_below_that_of_its_idle_hosts() -> None:
    rows, _ = observe(7, noise=0.4)
    cheap = replace(rows, power_w=np.where(rows.settings[:, 0] == 1, IDLE_W - 1.0, rows.power_w))
    prediction = fit_leaf(cheap, idle_power_w=IDLE_W).predict(rows.settings, np.full(len(rows), MEDIAN_LOAD))
    assert prediction.log_power_mean is not None
    assert prediction.log_power_mean.min() == pytest.approx(np.log(IDLE_W), abs=1e-9)


def test_effect_of_load_on_power_is_that_on_a_usual_setting() -> None:
    rows, _ = observe(8, noise=0.2)
    draw = np.random.default_rng(8)
    load = draw.uniform(0, 0.8, len(rows))
    loaded = replace(rows, load=load, power_w=IDLE_W + (rows.power_w - IDLE_W) * (1 - load))
    surface = fit(loaded, IDLE_W)
    effect = surface.predict_load_effect(np.array([0.0, 0.8]))
    assert effect[0] > 0 > effect[1]
    assert (np.abs(effect) < 0.2).all()
