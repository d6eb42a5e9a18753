"""How far single rows and entire cells lie from the surface: s²(x) within cells, τ² between them."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tradewind.learning.observations import Floats
from tradewind.learning.surface.cells import Cells
from tradewind.learning.surface.robust import CellSums, LeaveOneOut

VARIANCE_RIDGE = 4.0
"""Prior rows that say the noise does not change along an axis."""

LOG_VARIANCE_RANGE = float(np.log(16.0))
"""The noise variance at a setting differs from the typical one by at most this factor, as a logarithm."""

SMALLEST_VARIANCE = 1e-8
"""Of log values: a relative deviation of 0.01 %, finer than any log of transfers."""

REPEATED = 0.25
"""Spare rows a cell, on average, from which τ² and s² can be distinguished."""


@dataclass(frozen=True, slots=True)
class NoiseModel:
    """Log-linear variance of a row, s²(x) = exp(γ₀ + γ'z), z the standardised coordinates (axes,), within a range."""

    gamma: Floats
    mean: Floats
    scale: Floats

    @classmethod
    def constant(cls, cells: Cells, s2: float) -> Self:
        gamma = np.zeros(cells.x.shape[1] + 1)
        gamma[0] = np.log(max(s2, SMALLEST_VARIANCE))
        return cls(gamma, cells.x.mean(axis=0), cells.x.std(axis=0))

    def compute_variance(self, x: Floats) -> Floats:
        """s² (r,) at coordinates x (r, axes)."""
        relative = np.clip((x - self.mean) / self.scale @ self.gamma[1:], -LOG_VARIANCE_RANGE, LOG_VARIANCE_RANGE)
        variance: Floats = np.exp(self.gamma[0] + relative)
        return variance

    def take_scoring_step(self, cells: Cells, loo: LeaveOneOut, weight: Floats) -> Self:
        """Return the model after one Fisher scoring step on the products e_i·d_i, whose expectation is s²."""
        c = cells.of_row
        believed = weight > 0
        product = np.maximum(loo.residual * loo.own_residual, 0.0) * weight
        ratio = np.where(believed, product / self.compute_variance(cells.x)[c], 0.0)
        rows = cells.sum(believed.astype(np.float64))
        Z = np.concatenate([np.ones((len(cells), 1)), (cells.x - self.mean) / self.scale], axis=1)
        information = (Z * rows[:, None]).T @ Z
        information[1:, 1:] += VARIANCE_RIDGE * np.eye(len(self.gamma) - 1)
        gradient = Z.T @ (cells.sum(ratio) - rows)
        gradient[1:] -= VARIANCE_RIDGE * self.gamma[1:]
        step = np.clip(np.linalg.solve(information, gradient), -1.0, 1.0)
        gamma = self.gamma + step
        gamma[0] = max(gamma[0], np.log(SMALLEST_VARIANCE))
        return replace(self, gamma=gamma)


def compute_robust_variance(residual: Floats) -> float:
    """Return the variance from the median absolute deviation around 0, consistent for the normal distribution."""
    return float((1.4826 * np.median(np.abs(residual))) ** 2)


def compute_paule_mandel(sums: CellSums, f: Floats, effective: float, start: float) -> float:
    """Return the between-cell variance τ² that makes Σ p_c (ȳ_c − f_c)² equal its expectation, m − effective degrees of
    freedom.

    Parameters
    ----------
    f : (m,) surface at the cells; ``effective``: degrees of freedom that it uses; ``start``: a first τ².

    Returns
    -------
    τ², 0 without repeats.

    References
    ----------
    Paule & Mandel, "Consensus values and weighting factors", J. Res. NBS 87 (1982).
    """
    filled = sums.rows > 0
    cells = float(np.sum(filled))
    if float(np.sum(sums.rows[filled])) - cells < REPEATED * cells:
        return 0.0
    square = (sums.mean[filled] - f[filled]) ** 2
    noise = 1.0 / sums.precision[filled]
    target = max(cells - effective, 1.0)
    tau2 = start
    for _ in range(8):
        p = 1.0 / (tau2 + noise)
        excess = float(np.sum(p * square)) - target
        slope = float(np.sum(p * p * square))
        tau2 = max(tau2 + excess / slope, 0.0) if slope > 0 else 0.0
    return tau2
