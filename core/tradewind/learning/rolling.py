"""Prediction forward in time: only the past is known, with a band from the residuals of the last rows.

A path drifts; a band calibrated once covers 64–94 % of the rows to come. The quantiles of the last hundred residuals
follow the drift, and the load feature takes what recent transfers fell short of.
"""

from dataclasses import dataclass, replace

import numpy as np

from tradewind.learning.leaf import LeafSurfaces, fit_leaf
from tradewind.learning.load.recent import compute_load_of_residual, compute_recent_residual, estimate_free_residual
from tradewind.learning.observations import Flags, Floats, Observations

ROLLING_ROWS = 100
MISSES = 0.1
STEP = 0.02
LARGEST_LEVEL = 0.3
"""A run of hits narrows the band no further than to its central 70 %."""


@dataclass(frozen=True, slots=True)
class WithRecentLoad:
    """Surfaces fitted with the load that recent rows show, and those without it that define the residuals."""

    plain: LeafSurfaces
    loaded: LeafSurfaces
    free: float

    def estimate_load(self, rows: Observations, residual: Floats, started_s: Floats) -> Floats:
        """ℓ (n,) of rows from the residuals of others; only those that started strictly before a row count."""
        return compute_load_of_residual(compute_recent_residual(residual, started_s, rows.started_s), self.free)

    def compute_residual(self, rows: Observations) -> Floats:
        """Log residuals (n,) from the smooth surface of rows that it was not fitted to."""
        predicted = self.plain.throughput.predict(rows.settings, np.full(len(rows), np.nan), local=False)
        residual: Floats = np.log(rows.throughput_bps) - predicted.log_mean
        return residual


def fit_with_recent_load(train: Observations) -> WithRecentLoad:
    """Fit without load, take each row's load from strictly earlier training rows, fit again with it.

    Raises
    ------
    CannotFit : as ``fit_leaf``.
    """
    plain = fit_leaf(replace(train, load=np.full(len(train), np.nan)))
    recent = compute_recent_residual(plain.throughput.smooth_residual, train.started_s, train.started_s)
    free = estimate_free_residual(recent)
    loaded = fit_leaf(replace(train, load=compute_load_of_residual(recent, free)))
    return WithRecentLoad(plain, loaded, free)


def check_rolling_cover(observations: Observations, train_share: float) -> Flags:
    """Return whether each row after the first ``train_share`` in time fell within its 90 % band (r,).

    The surfaces stay as fitted to the first part; load and band follow the rows before each row.
    """
    order = np.argsort(observations.started_s, kind="stable")
    split = int(train_share * len(order))
    train, later = observations.take(order[:split]), observations.take(order[split:])
    model = fit_with_recent_load(train)
    residual = np.concatenate([model.plain.throughput.smooth_residual, model.compute_residual(later)])
    predicted = model.loaded.predict(
        later.settings, model.estimate_load(later, residual, observations.started_s[order])
    )
    z = (np.log(later.throughput_bps) - predicted.log_throughput_mean) / predicted.log_throughput_sd
    return check_cover_by_last(model.loaded.throughput.compute_standardised_residuals(), z)


def check_cover_by_last(past: Floats, later: Floats, rows: int = ROLLING_ROWS) -> Flags:
    """Return whether each of the errors ``later`` (r,) lies in the band of the ``rows`` errors before it.

    The band runs between two quantiles of those errors. Their level α starts at 10 % and moves by ``STEP`` after each
    row: up after a hit, down after a miss, so that the share of misses tends to 10 % whatever the drift.

    References
    ----------
    Gibbs & Candès, "Adaptive conformal inference under distribution shift", NeurIPS 2021.
    """
    errors = np.concatenate([past[-rows:], later])
    first = len(errors) - len(later)
    inside = np.zeros(len(later), dtype=np.bool_)
    alpha = MISSES
    for i in range(first, len(errors)):
        ordered = np.sort(errors[max(0, i - rows) : i])
        # The next of m exchangeable errors falls below the k-th smallest with probability k/(m + 1).
        k = max(int(0.5 * alpha * (len(ordered) + 1)), 1)  # never wider than all of them
        inside[i - first] = ordered[k - 1] <= errors[i] <= ordered[-k]
        alpha = min(max(alpha + STEP * (MISSES - (not inside[i - first])), 0.0), LARGEST_LEVEL)
    return inside
