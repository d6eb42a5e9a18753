"""What the surfaces benchmark counts as a tie, and how the models that it compares with are chosen and stored."""

from dataclasses import replace

import numpy as np
import psutil
import pytest

from benchmarks.surfaces.baselines import BASELINES, CANDIDATES, Split, choose_baselines
from benchmarks.surfaces.comparison import compare_with_baselines
from benchmarks.surfaces.gaussian_process import GaussianProcess
from benchmarks.surfaces.predicting import BaselineStore
from benchmarks.surfaces.sets import SurfaceSet
from benchmarks.surfaces.ties import HeldOutRows, RepeatNoise
from benchmarks.surfaces.timing import measure_leaf_times, take_cells
from tradewind.learning.observations import Observations
from tradewind.learning.validation import compute_accuracy, split_randomly

NOISE = 0.2
REPEATS = 4


def make_set(repeats=REPEATS, noise=NOISE, seed=0):
    rng = np.random.default_rng(seed)
    cc, p = (np.repeat(axis.ravel(), repeats) for axis in np.meshgrid(2.0 ** np.arange(5), 2.0 ** np.arange(5)))
    mean = 1e8 * cc**0.6 * p**0.3
    n = len(cc)
    return SurfaceSet(
        name="made",
        observations=Observations(
            axes=("concurrency", "parallelism"),
            settings=np.column_stack([cc, p]),
            throughput_bps=mean * (1 + noise * rng.standard_normal(n)),
            power_w=np.full(n, np.nan),
            load=np.full(n, np.nan),
            started_s=np.arange(n, dtype=float),
        ),
        total_bytes=np.full(n, 1e9),
        base_power_w=np.full(n, np.nan),
        rtt_s=0.04,
    ), mean


def test_noise_is_measured_from_rows_at_same_setting():
    surfaces, mean = make_set(repeats=40)
    noise = RepeatNoise.measure(surfaces, surfaces.observations.throughput_bps)
    assert noise.deviation / mean == pytest.approx(NOISE, rel=0.15)


def test_set_without_repeats_has_no_noise_to_state():
    surfaces, _ = make_set(repeats=1)
    assert RepeatNoise.measure(surfaces, surfaces.observations.throughput_bps) is None


def test_noise_alone_exceeds_the_tolerance_once_in_20_times():
    """Two fixed models that are equally far from the truth, on many draws of the noise."""
    _, mean = make_set(repeats=40)
    rows = np.arange(len(mean))
    one, other = mean * 1.05, mean * 0.95
    beyond = []
    for seed in range(400):
        actual = mean * (1 + NOISE * np.random.default_rng(seed).standard_normal(len(mean)))
        noise = RepeatNoise(NOISE * mean)
        tolerance = noise.compute_tolerance([HeldOutRows(rows, actual, one, other)])
        beyond.append(compute_accuracy(actual, one) - compute_accuracy(actual, other) < -tolerance)
    assert 0.02 < np.mean(beyond) < 0.09


def test_splits_that_hold_out_the_same_rows_do_not_halve_the_tolerance():
    surfaces, mean = make_set()
    actual = surfaces.observations.throughput_bps
    noise = RepeatNoise.measure(surfaces, actual)
    split = HeldOutRows(np.arange(len(mean)), actual, mean, mean * 1.1)
    assert noise.compute_tolerance([split] * 5) == pytest.approx(noise.compute_tolerance([split]))


def test_models_that_agree_tie_only_if_equal():
    surfaces, mean = make_set()
    actual = surfaces.observations.throughput_bps
    noise = RepeatNoise.measure(surfaces, actual)
    assert noise.compute_tolerance([HeldOutRows(np.arange(len(mean)), actual, mean, mean)]) == 0


def test_averaged_repeats_give_what_all_rows_give():
    """A process on means with their part of the noise is the process on rows."""
    surfaces, mean = make_set(repeats=6, noise=0.1)
    inputs, target = np.log(surfaces.inputs), np.log(surfaces.observations.throughput_bps)
    predicted = GaussianProcess().fit(inputs, target).predict(inputs)
    assert np.exp(predicted) == pytest.approx(mean, rel=0.15)


@pytest.fixture
def few_candidates(monkeypatch):
    """The first and last candidate of the quickest models."""
    few = {name: (CANDIDATES[name][0], CANDIDATES[name][-1]) for name in ("additive",)}
    monkeypatch.setattr("benchmarks.surfaces.baselines.CANDIDATES", few)


@pytest.mark.usefixtures("few_candidates")
def test_candidates_are_chosen_without_test_rows():
    surfaces, _ = make_set()
    target = surfaces.observations.throughput_bps
    train, test = split_randomly(len(target), np.random.default_rng(0))
    other = np.where(test, 1e12, target)
    chosen, again = (
        choose_baselines(surfaces.inputs, values, Split(train, test, 0))["additive"].factor
        for values in (target, other)
    )
    assert chosen == again


@pytest.mark.usefixtures("few_candidates")
def test_stored_predictions_are_those_of_the_same_rows(tmp_path):
    surfaces, _ = make_set()
    fresh = compare_with_baselines(surfaces, [0], BaselineStore(tmp_path))
    assert compare_with_baselines(surfaces, [0], BaselineStore(tmp_path)) == fresh
    assert len(list(tmp_path.iterdir())) == 1
    o = surfaces.observations
    other = replace(surfaces, observations=replace(o, throughput_bps=1.1 * o.throughput_bps))
    compare_with_baselines(other, [0], BaselineStore(tmp_path))
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.usefixtures("few_candidates")
def test_surface_that_is_worse_by_more_than_noise_does_not_tie():
    surfaces, _ = make_set(repeats=20, noise=0.05)
    found = compare_with_baselines(surfaces, [0, 1], BaselineStore())["throughput"]
    assert found["is_noise_known"]
    assert found["wins_vs_best"] == (found["lead_on_best"] >= -found["tie_tolerance"])
    assert found["lead_on_best"] == pytest.approx(found["accuracy"] - found[f"{found['best']}_accuracy"])


def test_every_baseline_has_a_figure():
    assert BASELINES == ("gbm", "boosting", "forest", "process", "additive")


def test_times_are_measured_on_all_rows_of_so_many_settings():
    surfaces, _ = make_set()
    part = take_cells(surfaces.observations, 7)
    assert len(np.unique(part.settings, axis=0)) == 7
    assert len(part) == 7 * REPEATS


def test_busy_machine_is_idle_again_after_its_time_was_taken(monkeypatch):
    monkeypatch.setattr("benchmarks.surfaces.timing.TIMED_CELLS", (20, 30))
    surfaces, _ = make_set()
    before = set(psutil.Process().children())
    times = measure_leaf_times(surfaces.observations)
    assert set(times) == {"leaf_ms", "leaf_ms_20", "leaf_busy_ms_20"}
    assert set(psutil.Process().children()) == before
