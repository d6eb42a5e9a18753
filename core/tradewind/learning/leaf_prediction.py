"""What a leaf's surfaces say of settings: plain arrays, and the table of them on a lattice."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tradewind.learning.observations import Flags, Floats
from tradewind.parameters import Lattice, Parameters
from tradewind.prediction import PredictedSetting

MAX_LATTICE = 1500
"""Settings of a lattice at most; beyond it the values of the longest axis are thinned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafPrediction:
    """What is expected of one new transfer at each of r settings; arrays (r,).

    Attributes
    ----------
    log_throughput_mean, log_throughput_sd : ln(bit/s); the deviation holds fit and noise, calibrated on held-out rows.
    throughput_bps : mean throughput, corrected for the back-transform.
    certified : whether training rows surround the setting, so that an SLA may rest on it.
    log_power_mean, log_power_sd : ln(W); these and the rest are None where power was not metered.
    log_covariance : of ln throughput and ln power.
    power_w, energy_j_per_byte : means of P and 8·P/T, corrected for the back-transform.
    """

    log_throughput_mean: Floats
    log_throughput_sd: Floats
    throughput_bps: Floats
    certified: Flags
    log_power_mean: Floats | None = None
    log_power_sd: Floats | None = None
    log_covariance: Floats | None = None
    power_w: Floats | None = None
    energy_j_per_byte: Floats | None = None


@dataclass(frozen=True, slots=True)
class LatticeTable:
    """Predictions on a finite lattice, in the order of ``lattice.list_settings()``: what is partitioned, stored and
    served.

    ``load`` is the external load assumed, NaN for the leaf's median.
    """

    lattice: Lattice
    load: float
    prediction: LeafPrediction

    def build_settings(self) -> tuple[PredictedSetting, ...]:
        """Return the same as values of the domain."""
        return build_predicted_settings(self.lattice.list_settings(), self.prediction)


def build_predicted_settings(
    parameters: Iterable[Parameters], prediction: LeafPrediction
) -> tuple[PredictedSetting, ...]:
    """Return predictions as values of the domain; ``parameters`` : the r settings, in the same order."""
    p, n = prediction, len(prediction.certified)
    mean = [None] * n if p.log_power_mean is None else p.log_power_mean.tolist()
    sd = [0.0] * n if p.log_power_sd is None else p.log_power_sd.tolist()
    covariance = [0.0] * n if p.log_covariance is None else p.log_covariance.tolist()
    throughput = zip(p.log_throughput_mean.tolist(), p.log_throughput_sd.tolist(), strict=True)
    return tuple(
        PredictedSetting(
            parameters=one,
            log_throughput_mean=t_mean,
            log_throughput_sd=t_sd,
            log_power_mean=p_mean,
            log_power_sd=p_sd,
            log_covariance=cov,
            certified=sure,
        )
        for one, (t_mean, t_sd), p_mean, p_sd, cov, sure in zip(
            parameters, throughput, mean, sd, covariance, p.certified.tolist(), strict=True
        )
    )


def span_lattice(axes: tuple[str, ...], settings: Floats) -> Lattice:
    """Return the lattice of the values that rows (n, k) have on each axis, thinned to ``MAX_LATTICE`` settings."""
    observed = {
        axis: tuple(np.unique(column[np.isfinite(column)]).tolist())
        for axis, column in zip(axes, settings.T, strict=True)
    }
    return Lattice.spanning(observed).thin(MAX_LATTICE)
