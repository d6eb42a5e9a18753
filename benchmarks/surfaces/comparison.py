"""Compare the surfaces of a set with other models, on the held-out rows of the same splits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.surfaces.baselines import PLAIN, Split
from benchmarks.surfaces.predicting import BaselineStore
from benchmarks.surfaces.sets import SurfaceSet
from benchmarks.surfaces.ties import HeldOutRows, RepeatNoise
from tradewind.learning.leaf import LeafSurfaces, fit_leaf
from tradewind.learning.observations import Flags, Floats
from tradewind.learning.surface.response import NORMAL_90
from tradewind.learning.validation import (
    compute_accuracy,
    compute_mape,
    compute_r_squared,
    split_randomly,
)

MARGIN = 0.005
"""Accuracy within which a surface counts as no worse than another model where noise is unknown, and than ``gbm``."""


@dataclass(frozen=True, slots=True)
class Predictions:
    """Predictions of a surface's test rows (r,) with the logs and deviations of their band."""

    actual: Floats
    predicted: Floats
    log_mean: Floats
    log_sd: Floats

    def compute_figures(self) -> dict[str, float]:
        within = np.abs(np.log(self.actual) - self.log_mean) <= NORMAL_90 * self.log_sd
        return {
            "accuracy": compute_accuracy(self.actual, self.predicted),
            "mape": compute_mape(self.actual, self.predicted),
            "r2": compute_r_squared(self.actual, self.predicted),
            "coverage90": float(np.mean(within)),
        }


def compare_with_baselines(
    surfaces: SurfaceSet, seeds: Sequence[int], store: BaselineStore
) -> Mapping[str, dict[str, float | str | bool]]:
    """Return mean figures over splits of the throughput and, where metered, the energy surface, and the baselines'."""
    o = surfaces.observations
    splits = [Split(*split_randomly(len(o), np.random.default_rng(seed)), seed) for seed in seeds]
    models = [fit_leaf(o.take(split.train)) for split in splits]
    ours = [_predict_throughput(surfaces, model, split.test) for model, split in zip(models, splits, strict=True)]
    found = {"throughput": _compare(surfaces, o.throughput_bps, splits, ours, store)}
    if all(model.power is not None for model in models):
        ours = [_predict_energy(surfaces, model, split.test) for model, split in zip(models, splits, strict=True)]
        metered = [Split(s.train & surfaces.is_metered, s.test & surfaces.is_metered, s.seed) for s in splits]
        found["energy"] = _compare(surfaces, surfaces.energy_j, metered, ours, store)
    return found


def _compare(
    surfaces: SurfaceSet, target: Floats, splits: Sequence[Split], ours: Sequence[Predictions], store: BaselineStore
) -> dict[str, float | str | bool]:
    others = store.predict(surfaces.inputs, target, splits)
    figures = [each.compute_figures() for each in ours]
    result: dict[str, float | str | bool] = {key: float(np.mean([each[key] for each in figures])) for key in figures[0]}
    accuracy = {
        name: float(np.mean([compute_accuracy(e.actual, found[name]) for e, found in zip(ours, others, strict=True)]))
        for name in others[0]
    }
    best = max(accuracy, key=accuracy.__getitem__)
    noise = RepeatNoise.measure(surfaces, target)
    rows = [
        HeldOutRows(np.flatnonzero(split.test), each.actual, each.predicted, found[best])
        for split, each, found in zip(splits, ours, others, strict=True)
    ]
    tolerance = MARGIN if noise is None else noise.compute_tolerance(rows)
    lead = float(result["accuracy"]) - accuracy[best]
    return result | {
        **{f"{name}_accuracy": value for name, value in accuracy.items()},
        "best": best,
        "lead_on_best": lead,
        "tie_tolerance": tolerance,
        "is_noise_known": noise is not None,
        "wins": lead + accuracy[best] >= accuracy[PLAIN] - MARGIN,
        "beats_best": lead >= 0,
        "wins_vs_best": lead >= -tolerance,
    }


def _predict_throughput(surfaces: SurfaceSet, model: LeafSurfaces, test: Flags) -> Predictions:
    o = surfaces.observations
    prediction = model.predict(o.settings[test], o.load[test])
    return Predictions(
        o.throughput_bps[test],
        prediction.throughput_bps,
        prediction.log_throughput_mean,
        prediction.log_throughput_sd,
    )


def _predict_energy(surfaces: SurfaceSet, model: LeafSurfaces, test: Flags) -> Predictions:
    """Predict the energy of a data set, E = 8 · bytes · P / T, on the metered test rows."""
    rows = test & surfaces.is_metered
    o = surfaces.observations
    prediction = model.predict(o.settings[rows], o.load[rows])
    assert prediction.energy_j_per_byte is not None
    assert prediction.log_power_mean is not None
    assert prediction.log_power_sd is not None
    assert prediction.log_covariance is not None
    size = surfaces.total_bytes[rows]
    variance = prediction.log_power_sd**2 + prediction.log_throughput_sd**2 - 2 * prediction.log_covariance
    log_mean = prediction.log_power_mean - prediction.log_throughput_mean + np.log(8 * size)
    return Predictions(surfaces.energy_j[rows], prediction.energy_j_per_byte * size, log_mean, np.sqrt(variance))
