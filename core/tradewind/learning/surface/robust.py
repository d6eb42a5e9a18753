"""Robust row weights: whom to believe, judged by all others.

Rows of one cell share the surface and a cell effect u_c ~ N(0, τ²); each row adds noise N(0, s²(x)). Residuals that
judge a row are leave-one-out: the row, weighted as it is, never speaks for itself.

Notation
--------
f_c, v_c     posterior mean and variance of the surface at cell c
W_c          precision of the mean of cell c by row noise alone, Σ w_i/s²(x_c)
p_c          precision of that mean as a sight of the surface, 1/(τ² + 1/W_c)
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.spatial import cKDTree

from tradewind.learning.observations import Floats
from tradewind.learning.surface.cells import Cells, Index

HUBER = 2.5
"""Deviations beyond which a row's weight falls as 1/|t|."""

DOUBT = 5.0
REJECT = 12.0
"""Deviations between which a row loses what weight is left, as in Hampel's three-part function."""

NEIGHBOURS = 8
"""Cells that are asked whether they see the same as a suspicious row."""

LEAF_CELLS = 40
"""Cells that a search tree does not divide further: on a lattice many are equally far, and dividing costs more."""

LARGEST_LEVERAGE = 0.999


@dataclass(frozen=True, slots=True)
class CellSums:
    """Rows summed by cell, (m,) each: W, weighted mean (NaN-free: 0 where W is 0), and rows that are believed."""

    precision: Floats
    mean: Floats
    rows: Floats

    @classmethod
    def of(cls, cells: Cells, y: Floats, row_precision: Floats) -> Self:
        """Return the sums of values (n,) under precisions (n,)."""
        W = cells.sum(row_precision)
        mean = np.divide(cells.sum(row_precision * y), W, out=np.zeros_like(W), where=W > 0)
        return cls(W, mean, cells.sum((row_precision > 0).astype(np.float64)))

    def compute_surface_precision(self, tau2: float) -> Floats:
        """p_c (m,), 0 where no row is believed."""
        return self.precision / (1.0 + tau2 * self.precision)


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """Prediction of each row (n,) from all others, the variance of that prediction, and residuals without and with it.

    The residual with the row in the fit is ``own_residual``; their product has the noise variance as expectation.
    """

    mean: Floats
    variance: Floats
    residual: Floats
    own_residual: Floats


def leave_one_out(
    cells: Cells, y: Floats, row_precision: Floats, without: tuple[Floats, Floats], effect: tuple[Floats, Floats]
) -> LeaveOneOut:
    """Predict each row from the surface without its cell, and the other rows of its cell.

    Parameters
    ----------
    y, row_precision : (n,) log values and w_i/s².
    without : (m,) mean and variance of the surface at each cell without that cell.
    effect : (m,) mean and variance of the cell effects as far as other cells tell.
    """
    sums = CellSums.of(cells, y, row_precision)
    prior = without[0] + effect[0]
    prior_precision = 1.0 / np.maximum(without[1] + effect[1], 1e-12)
    c = cells.of_row
    S = sums.precision * sums.mean
    others = prior_precision[c] + sums.precision[c] - row_precision
    loo = (prior_precision[c] * prior[c] + S[c] - row_precision * y) / others
    own = (prior_precision * prior + S) / (prior_precision + sums.precision)
    return LeaveOneOut(loo, 1.0 / others, y - loo, y - own[c])


def predict_cells_left_out(sums: CellSums, surface: tuple[Floats, Floats], tau2: float) -> tuple[Floats, Floats]:
    """Return the mean and variance (m,) of the surface at each cell as if the cell had not been seen."""
    f, v = surface
    leverage = np.minimum(v * sums.compute_surface_precision(tau2), LARGEST_LEVERAGE)
    return (f - leverage * sums.mean) / (1 - leverage), v / (1 - leverage)


def compute_huber_weights(cells: Cells, loo: LeaveOneOut, s2: Floats, neighbours: Index) -> Floats:
    """Return the weights (n,) in [0, 1] from leave-one-out residuals, spared where the neighbourhood says the same.

    A corner of a surface that the basis has not followed yet has large residuals too. A row is judged by the smaller
    of its residual and its difference from the median residual of the nearest cells: an outlier differs from the
    surface and from its neighbours, a true corner agrees with them.

    Parameters
    ----------
    s2 : (m,) noise variance.
    neighbours : (m, k) nearest other cells.
    """
    around = np.median(_compute_median_by_cell(cells, loo.residual)[neighbours], axis=1)[cells.of_row]
    plain, relative = np.abs(loo.residual), np.abs(loo.residual - around)
    distance = np.where(around * loo.residual > 0, np.minimum(plain, relative), plain)
    t = distance / np.sqrt(s2[cells.of_row] + loo.variance)
    weight: Floats = HUBER / np.maximum(t, HUBER) * np.clip((REJECT - t) / (REJECT - DOUBT), 0.0, 1.0)
    return weight


def find_nearest_cells(cells: Cells) -> Index:
    """(m, ≤ NEIGHBOURS) nearest other cells in steps of the lattice."""
    count = min(NEIGHBOURS, len(cells) - 1)
    place = cells.rank.astype(np.float64)
    _, found = cKDTree(place, LEAF_CELLS).query(place, k=np.arange(2, count + 2), p=1)
    return np.asarray(found, dtype=np.intp)


def _compute_median_by_cell(cells: Cells, rows: Floats) -> Floats:
    order = np.lexsort((rows, cells.of_row))
    counts = np.bincount(cells.of_row, minlength=len(cells))
    start = np.concatenate([[0], np.cumsum(counts)[:-1]])
    ordered = rows[order]
    middle: Floats = 0.5 * (ordered[start + (counts - 1) // 2] + ordered[start + counts // 2])
    return middle
