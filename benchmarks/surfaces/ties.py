"""When two models are as good as each other: how far noise alone moves the difference of their accuracies.

Notation
--------
y_i        target of a held-out row, with noise of deviation σ_i around what its setting gives
a_i, b_i   what both models predict
R_a, R_b   their root mean square errors, and ȳ the mean target

The accuracies 1 − R/ȳ differ by (R_b − R_a)/ȳ. To first order a change of y_i by ε_i moves that by
((y_i − b_i)/R_b − (y_i − a_i)/R_a) ε_i / (n ȳ). Rows that several splits hold out have the same noise in
each of them, so that their weights add up before they are squared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.surfaces.sets import SurfaceSet
from tradewind.learning.observations import Floats
from tradewind.learning.surface.cells import Index

ONE_SIDED_95 = 1.645
MIN_SPARE_ROWS = 20
"""Rows beyond the first of their setting from which on they tell the noise."""


class HeldOutRows(NamedTuple):
    """Rows (r,) that one split held out, and what two models predict for them."""

    rows: Index
    actual: Floats
    one: Floats
    other: Floats


@dataclass(frozen=True, slots=True)
class RepeatNoise:
    """Noise of single rows (n,) of a set, from the scatter of rows at the very same setting."""

    deviation: Floats

    @classmethod
    def measure(cls, surfaces: SurfaceSet, target: Floats) -> "RepeatNoise | None":
        """Return the noise of a target (n,), NaN where not measured; ``None`` where too few settings were repeated.

        Noise is taken as proportional to the mean of a setting, with one factor for the set.
        """
        known = np.isfinite(target)
        settings = np.nan_to_num(surfaces.observations.settings[known], nan=-1.0)
        _, cell = np.unique(settings, axis=0, return_inverse=True)
        rows = np.bincount(cell)
        spare = len(cell) - len(rows)
        if spare < MIN_SPARE_ROWS:
            return None
        mean = (np.bincount(cell, weights=target[known]) / rows)[cell]
        relative = float(np.sum((target[known] / mean - 1) ** 2)) / spare
        deviation = np.zeros(len(target))
        deviation[known] = np.sqrt(relative) * mean
        return cls(deviation)

    def compute_tolerance(self, splits: Sequence[HeldOutRows]) -> float:
        """Return the difference of mean accuracies over splits that noise alone exceeds once in 20 times."""
        weight = np.zeros(len(self.deviation))
        for rows, actual, one, other in splits:
            pull = (actual - other) / _compute_rmse(actual, other) - (actual - one) / _compute_rmse(actual, one)
            weight[rows] += pull / (len(rows) * np.mean(actual) * len(splits))
        return ONE_SIDED_95 * float(np.sqrt(np.sum((weight * self.deviation) ** 2)))


def _compute_rmse(actual: Floats, predicted: Floats) -> float:
    return float(np.sqrt(np.mean((actual - predicted) ** 2)))
