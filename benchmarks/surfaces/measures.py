"""Measure a set: unknown settings, choices, load, outliers."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.surfaces.sets import SurfaceSet
from tradewind.learning.leaf import LeafSurfaces, fit_leaf
from tradewind.learning.observations import Flags, Floats, Observations
from tradewind.learning.rolling import fit_with_recent_load
from tradewind.learning.surface.cells import Index
from tradewind.learning.validation import (
    build_setting_folds,
    compute_accuracy,
    compute_regret,
    split_randomly,
)

OUTLIER = 1000.0
MIN_SETTINGS = 8
"""Number of settings of one data set from which on a choice among them is judged."""


def measure_unknown_settings(surfaces: SurfaceSet, seed: int) -> float:
    """Return the accuracy of throughput at settings without training rows, over all rows in folds of settings."""
    o = surfaces.observations
    prediction = np.empty(len(o))
    for test in build_setting_folds(o, np.random.default_rng(seed)):
        prediction[test] = fit_leaf(o.take(~test)).predict(o.settings[test], o.load[test]).throughput_bps
    return compute_accuracy(o.throughput_bps, prediction)


def measure_choice_regret(surfaces: SurfaceSet, seed: int) -> float:
    """Return the mean regret over data sets of the setting picked after training on 70 %, against all-row means."""
    o = surfaces.observations
    train, _ = split_randomly(len(o), np.random.default_rng(seed))
    predicted = _predict_mean_throughput(fit_leaf(o.take(train)), o)
    losses = [
        compute_regret(
            _compute_means_by_label(o.throughput_bps[rows], label, count),
            _compute_means_by_label(predicted[rows], label, count),
        )
        for rows, label, count in _list_choices(surfaces)
    ]
    return float(np.mean(losses)) if losses else float("nan")


def measure_cross_fit_ratio(surfaces: SurfaceSet, seed: int) -> float:
    """Return the throughput on an unseen half of our pick over that of the pick with the best mean on the seen half."""
    o = surfaces.observations
    half, other = split_randomly(len(o), np.random.default_rng(seed), share=0.5)
    ratios = []
    for seen, unseen in ((half, other), (other, half)):
        predicted = _predict_mean_throughput(fit_leaf(o.take(seen)), o)
        for rows, label, count in _list_choices(surfaces):
            before, after = seen[rows], unseen[rows]
            observed = _compute_means_by_label(o.throughput_bps[rows][before], label[before], count)
            achieved = _compute_means_by_label(o.throughput_bps[rows][after], label[after], count)
            both = np.isfinite(observed) & np.isfinite(achieved)
            if both.sum() < MIN_SETTINGS:
                continue
            ours = int(np.argmax(np.where(both, _compute_means_by_label(predicted[rows], label, count), -np.inf)))
            best = int(np.argmax(np.where(both, observed, -np.inf)))
            ratios.append(achieved[ours] / achieved[best])
    return float(np.mean(ratios)) if ratios else float("nan")


def measure_load_gain(surfaces: SurfaceSet, seed: int) -> tuple[float, float]:
    """Return the accuracy without and with load, the median residual of the last five earlier training rows."""
    o = surfaces.observations
    train, test = (o.take(rows) for rows in split_randomly(len(o), np.random.default_rng(seed)))
    model = fit_with_recent_load(train)
    load = model.estimate_load(test, model.plain.throughput.smooth_residual, train.started_s)
    without = model.plain.predict(test.settings, test.load).throughput_bps
    with_load = model.loaded.predict(test.settings, load).throughput_bps
    return compute_accuracy(test.throughput_bps, without), compute_accuracy(test.throughput_bps, with_load)


def measure_outlier_effect(surfaces: SurfaceSet, seed: int) -> float:
    """Return the median relative shift of predictions when one row is 1,000 times too fast, against leaving it out."""
    o = replace(surfaces.observations, power_w=np.full(len(surfaces.observations), np.nan))
    victim = int(np.random.default_rng(seed).integers(len(o)))
    rows_left = np.arange(len(o)) != victim
    wild = o.throughput_bps.copy()
    wild[victim] *= OUTLIER
    without = _predict_mean_throughput(fit_leaf(o.take(rows_left)), o)
    within = _predict_mean_throughput(fit_leaf(replace(o, throughput_bps=wild)), o)
    return float(np.median(np.abs(within / without - 1.0)))


def _predict_mean_throughput(model: LeafSurfaces, o: Observations) -> Floats:
    return model.predict(o.settings, np.full(len(o), np.nan)).throughput_bps


def _list_choices(surfaces: SurfaceSet) -> Iterator[tuple[Flags, Index, int]]:
    """Yield for each data set its rows, their setting as 0..count − 1, and count."""
    label, contexts = surfaces.settings_label, surfaces.contexts
    for context in np.unique(contexts):
        rows = contexts == context
        distinct, local = np.unique(label[rows], return_inverse=True)
        if len(distinct) >= MIN_SETTINGS:
            yield rows, local, len(distinct)


def _compute_means_by_label(values: Floats, label: Index, count: int) -> Floats:
    """Return the mean by label (count,), NaN where there is none."""
    rows = np.bincount(label, minlength=count)
    total = np.bincount(label, weights=values, minlength=count)
    mean: Floats = np.divide(total, rows, out=np.full(count, np.nan), where=rows > 0)
    return mean
