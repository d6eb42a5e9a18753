"""Forward in time: predictions that know only the past, with a band from the residuals of the last rows.

A path drifts; a band calibrated once covers 64–94 % of the rows to come. The quantiles of the last hundred residuals
follow the drift, and the load feature takes what recent transfers fell short of.
"""

from dataclasses import dataclass, replace

import numpy as np

from tradewind.learning.leaf import LeafSurfaces, fit_leaf
from tradewind.learning.observations import Flags, Floats, Observations
from tradewind.learning.recent_load import free_residual, load_of_residual, recent_residual

ROLLING_ROWS = 100
BAND = (0.05, 0.95)


@dataclass(frozen=True, slots=True)
class WithRecentLoad:
    """Surfaces fitted with the load that recent rows show, and those without it that define the residuals."""

    plain: LeafSurfaces
    loaded: LeafSurfaces
    free: float

    def load(self, rows: Observations, residual: Floats, started_s: Floats) -> Floats:
        """ℓ (n,) of rows from log residuals of the plain surfaces of others; strictly earlier ones count."""
        return load_of_residual(recent_residual(residual, started_s, rows.started_s), self.free)

    def residual(self, rows: Observations) -> Floats:
        """Log residuals (n,) of rows that the plain surfaces were not fitted to."""
        told = self.plain.predict(rows.settings, np.full(len(rows), np.nan))
        residual: Floats = np.log(rows.throughput_bps) - told.log_throughput_mean
        return residual


def fit_with_recent_load(train: Observations) -> WithRecentLoad:
    """Fit without load, take each row's load from strictly earlier training rows, fit again with it.

    Raises
    ------
    CannotFit : as ``fit_leaf``.
    """
    plain = fit_leaf(replace(train, load=np.full(len(train), np.nan)))
    recent = recent_residual(plain.throughput.held_out.residual, train.started_s, train.started_s)
    free = free_residual(recent)
    loaded = fit_leaf(replace(train, load=load_of_residual(recent, free)), start=plain)
    return WithRecentLoad(plain, loaded, free)


def rolling_cover(observations: Observations, train_share: float, rows: int = ROLLING_ROWS) -> Flags:
    """Whether each row after the first ``train_share`` in time fell within its 90 % band (r,).

    The band of a row is the prediction under the load of the rows before it plus the 5 % and 95 % quantiles of the
    last ``rows`` residuals before it; the surfaces stay as fitted to the first part.
    """
    order = np.argsort(observations.started_s, kind="stable")
    split = int(train_share * len(order))
    train, later = observations.take(order[:split]), observations.take(order[split:])
    model = fit_with_recent_load(train)
    past = np.concatenate([model.plain.throughput.held_out.residual, model.residual(later)])
    load = model.load(later, past, observations.started_s[order])
    told = model.loaded.predict(later.settings, load)
    errors = np.log(later.throughput_bps) - told.log_throughput_mean
    return covered_by_last(np.concatenate([model.loaded.throughput.held_out.residual, errors]), len(later), rows)


def covered_by_last(errors: Floats, count: int, rows: int = ROLLING_ROWS) -> Flags:
    """Whether each of the last ``count`` errors (n,) lies between the quantiles of the ``rows`` before it."""
    start = len(errors) - count
    rows = min(rows, start)
    windows = np.lib.stride_tricks.sliding_window_view(errors[:-1], rows)[start - rows :]
    # The next of m exchangeable errors falls above the k-th smallest with probability 1 − k/(m + 1).
    low, high = np.quantile(windows, BAND, axis=1, method="weibull")
    inside: Flags = (errors[start:] >= low) & (errors[start:] <= high)
    return inside
