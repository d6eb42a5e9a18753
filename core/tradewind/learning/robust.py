"""Robust row weights, noise that depends on the setting, and the spread between cells.

Rows of one cell share the surface and a cell effect u_c ~ N(0, τ²); each row adds noise N(0, s²(x)). All residuals
that judge a row are leave-one-out: the row, weighted as it is, never speaks for itself.

Notation
--------
f_c, v_c     posterior mean and variance of the surface at cell c
p_c          precision of the cell mean, 1/(τ² + 1/W_c), W_c = Σ w_i/s²(x_c) over the rows of c
e_i, d_i     residual of row i with and without itself in the fit
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.spatial import cKDTree

from tradewind.learning.cells import Cells, Index
from tradewind.learning.observations import Floats

HUBER = 2.5
"""Deviations beyond which a row's weight falls as 1/|t|."""

REJECT = 12.0
"""Deviations beyond which a row is not believed at all."""

NEIGHBOURS = 8
VARIANCE_RIDGE = 4.0
"""Prior rows that say the noise does not change along an axis."""

LOG_VARIANCE_RANGE = np.log(16.0)
"""The noise variance at a setting differs from the typical one by at most this factor, as a logarithm."""

SMALLEST_VARIANCE = 1e-8
"""Of log values: a relative deviation of 0.01 %, finer than any log of transfers."""


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """Prediction of each row from all others: mean (n,), variance of that mean (n,), and residuals."""

    mean: Floats
    variance: Floats
    residual: Floats
    own_residual: Floats


def leave_one_out(
    cells: Cells,
    y: Floats,
    weight: Floats,
    s2: Floats,
    tau2: float,
    f: Floats,
    v: Floats,
    around: tuple[Floats, Floats] | None = None,
) -> LeaveOneOut:
    """Predict each row from the surface without it and the other rows of its cell.

    Parameters
    ----------
    y, weight : (n,) log values and robust weights.
    s2, f, v : (m,) noise variance, posterior mean and posterior variance of the surface, by cell.
    around : (m,) mean and (m,) variance of the cell effects as their neighbours tell; default 0 and τ².
    """
    row_precision = weight / s2[cells.of_row]
    W = cells.sum(row_precision)
    S = cells.sum(row_precision * y)
    mean = np.divide(S, W, out=f.copy(), where=W > 0)
    p = np.divide(1.0, tau2 + np.divide(1.0, W, out=np.full_like(W, np.inf), where=W > 0))
    leverage = np.minimum(v * p, 0.999)
    offset, spread = around if around is not None else (np.zeros_like(f), np.full_like(f, tau2))
    f_without = (f - leverage * mean) / (1 - leverage) + offset
    prior_precision = 1.0 / np.maximum(v / (1 - leverage) + spread, 1e-12)
    c = cells.of_row
    others = prior_precision[c] + W[c] - row_precision
    loo = (prior_precision[c] * f_without[c] + S[c] - row_precision * y) / others
    own = (prior_precision * f_without + S) / (prior_precision + W)
    return LeaveOneOut(loo, 1.0 / others, y - loo, y - own[c])


def huber_weights(cells: Cells, loo: LeaveOneOut, s2: Floats, neighbours: Index) -> Floats:
    """Weights (n,) in [0, 1] from leave-one-out residuals, spared where the neighbourhood says the same.

    A whole corner of a surface that the basis has not followed yet has large residuals too. A row is judged by the
    smaller of its residual and its difference from the median residual of the nearest cells: an outlier differs from
    both the surface and its neighbours, a true corner agrees with them.
    """
    deviation = np.sqrt(s2[cells.of_row] + loo.variance)
    by_cell = _median_by_cell(cells, loo.residual)
    around = np.median(by_cell[neighbours], axis=1)[cells.of_row]
    same_side = around * loo.residual > 0
    distance = np.where(
        same_side, np.minimum(np.abs(loo.residual), np.abs(loo.residual - around)), np.abs(loo.residual)
    )
    t = distance / deviation
    weight = np.minimum(1.0, HUBER / np.maximum(t, 1e-12))
    weight[t > REJECT] = 0.0
    return weight


def nearest_cells(cells: Cells, count: int = NEIGHBOURS) -> Index:
    """(m, ≤ count) nearest other cells in steps of the lattice."""
    count = min(count, len(cells) - 1)
    _, found = cKDTree(cells.rank.astype(np.float64)).query(cells.rank, k=count + 1, p=1)
    return np.asarray(found[:, 1:], dtype=np.intp)


def _median_by_cell(cells: Cells, rows: Floats) -> Floats:
    order = np.lexsort((rows, cells.of_row))
    counts = np.bincount(cells.of_row, minlength=len(cells))
    start = np.concatenate([[0], np.cumsum(counts)[:-1]])
    ordered = rows[order]
    return 0.5 * (ordered[start + (counts - 1) // 2] + ordered[start + counts // 2])


def robust_variance(residual: Floats) -> float:
    """Variance from the median absolute deviation around 0, consistent for the normal distribution."""
    return float((1.4826 * np.median(np.abs(residual))) ** 2)


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

    def at(self, x: Floats) -> Floats:
        """s² (r,) at coordinates x (r, axes)."""
        relative = np.clip((x - self.mean) / self.scale @ self.gamma[1:], -LOG_VARIANCE_RANGE, LOG_VARIANCE_RANGE)
        variance: Floats = np.exp(self.gamma[0] + relative)
        return variance

    def scored(self, cells: Cells, loo: LeaveOneOut, weight: Floats) -> Self:
        """The model after one Fisher scoring step on the products e_i·d_i, whose expectation is s²."""
        c = cells.of_row
        believed = weight > 0
        product = np.maximum(loo.residual * loo.own_residual, 0.0) * weight
        ratio = np.where(believed, product / self.at(cells.x)[c], 0.0)
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


def paule_mandel(mean: Floats, f: Floats, W: Floats, count: Floats, effective: float, start: float) -> float:
    """Between-cell variance τ² that makes Σ p_c (ȳ_c − f_c)² equal its expectation, m − effective degrees of freedom.

    Parameters
    ----------
    mean, f, W, count : (m,) cell means, surface, precision of the mean by noise alone, believed rows.
    effective : degrees of freedom that the surface uses.

    References
    ----------
    Paule & Mandel, "Consensus values and weighting factors", J. Res. NBS 87 (1982).
    """
    filled = count > 0
    if float(np.sum(count[filled] - 1)) < 0.25 * float(np.sum(filled)):
        return 0.0  # without repeats τ² and s² cannot be told apart
    square = (mean[filled] - f[filled]) ** 2
    noise = 1.0 / W[filled]
    target = max(float(np.sum(filled)) - effective, 1.0)
    tau2 = start
    for _ in range(8):
        p = 1.0 / (tau2 + noise)
        excess = float(np.sum(p * square)) - target
        slope = float(np.sum(p * p * square))
        tau2 = max(tau2 + excess / slope, 0.0) if slope > 0 else 0.0
    return tau2
