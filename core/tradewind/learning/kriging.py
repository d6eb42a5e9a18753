"""Local kriging of what the spline leaves: neighbours on the lattice have residuals alike.

Notation
--------
r_c      residual of cell c, noise variance ω_c
k(Δ)     covariance σ² Π_j ρ_j^|Δ_j|, Δ in steps of the lattice; τ² more at distance 0

References
----------
Cressie, "Statistics for Spatial Data" (1993), §3.2 (ordinary kriging; here with known mean 0).
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from tradewind.learning.cells import Cells
from tradewind.learning.observations import Floats

NEIGHBOURS = 16
WORTHWHILE = 0.02
"""Share of the leave-one-out mean square that kriging must save, or it is dropped."""

SIGNAL_FACTORS = (1.1, 1.6, 2.5)
"""Signal variances tried, in units of the largest lag-1 covariance."""


@dataclass(frozen=True, slots=True)
class ResidualKriging:
    """Kriging with a fitted kernel.

    Attributes
    ----------
    position : (m, axes) places of the cells on the lattice.
    residual, noise : (m,) what is kriged and its noise variance.
    signal : σ²; ``nugget`` : τ², what belongs to one cell alone.
    decay : (axes,) −log ρ_j.
    """

    position: Floats
    residual: Floats
    noise: Floats
    signal: float
    nugget: float
    decay: Floats

    def predict(self, position: Floats) -> tuple[Floats, Floats]:
        """Mean and variance (r,) at places (r, axes)."""
        tree = cKDTree(self.position * self.decay)
        count = min(NEIGHBOURS, len(self.position))
        distance, near = tree.query(position * self.decay, k=np.arange(1, count + 1), p=1)
        return self._solve(distance, near)

    def leave_one_out(self) -> tuple[Floats, Floats]:
        """Mean and variance (m,) at each cell from its neighbours alone."""
        tree = cKDTree(self.position * self.decay)
        count = min(NEIGHBOURS + 1, len(self.position))
        distance, near = tree.query(self.position * self.decay, k=np.arange(1, count + 1), p=1)
        return self._solve(distance[:, 1:], near[:, 1:])

    def _solve(self, distance: Floats, near: Floats) -> tuple[Floats, Floats]:
        place = self.position[near] * self.decay
        between = np.abs(place[:, :, None, :] - place[:, None, :, :]).sum(axis=3)
        K = self._covariance(between)
        K[:, range(K.shape[1]), range(K.shape[1])] += self.noise[near]
        k = self._covariance(distance)
        weights = np.linalg.solve(K, k[:, :, None])[:, :, 0]
        mean = np.sum(weights * self.residual[near], axis=1)
        variance = self.signal + self.nugget - np.sum(weights * k, axis=1)
        return mean, np.maximum(variance, 0.0)

    def _covariance(self, distance: Floats) -> Floats:
        covariance: Floats = self.signal * np.exp(-distance)
        if self.nugget > 0:
            covariance += self.nugget * (distance < 1e-9)
        return covariance


def fit_kriging(
    cells: Cells, residual: Floats, held_out: Floats, noise: Floats, tau2: float, believed: Floats
) -> tuple[ResidualKriging, Floats, Floats] | None:
    """Kriging of cell residuals and its leave-one-out mean and variance (m,), or None if it gains too little.

    Parameters
    ----------
    residual : (m,) residuals of the cell means from the spline; ``held_out`` (m,) the same, each cell left out of it.
    noise : (m,) variance of the cell means by row noise; infinite where a cell has no believed row.
    tau2 : variance between cells, 0 if unknown.
    believed : (m,) weight of each cell in judging the gain.
    """
    lagged = np.array([_lag_covariance(cells, residual, believed, j) for j in range(cells.x.shape[1])])
    strongest = float(np.max(lagged, initial=0.0))
    if len(cells) < NEIGHBOURS // 2 or strongest <= 0:
        return None
    weight = believed / np.sum(believed)
    plain = float(weight @ held_out**2)
    best: tuple[float, ResidualKriging, Floats, Floats] | None = None
    for factor in SIGNAL_FACTORS:
        signal = min(factor * strongest, 0.9 * plain)
        rho = np.clip(lagged / signal, 0.02, 0.98)
        # Noise measured without repeats contains what kriging explains: leave it what is left.
        own = np.where(np.isfinite(noise), np.maximum(noise - (signal if tau2 == 0 else 0.0), 0.1 * noise), 1e6)
        kriging = ResidualKriging(
            cells.rank.astype(np.float64), residual, own, signal, max(tau2 - signal, 0.0), -np.log(rho)
        )
        mean, variance = kriging.leave_one_out()
        loss = float(weight @ (held_out - mean) ** 2)
        if best is None or loss < best[0]:
            best = (loss, kriging, mean, variance)
    assert best is not None, "at least one factor is tried"
    return best[1:] if best[0] < (1 - WORTHWHILE) * plain else None


def _lag_covariance(cells: Cells, residual: Floats, believed: Floats, axis: int) -> float:
    """Covariance of the residuals of cells one step apart on ``axis``."""
    one, two = cells.adjacent(axis)
    weight = np.minimum(believed[one], believed[two])
    if weight.sum() <= 0:
        return 0.0
    return float(np.sum(weight * residual[one] * residual[two]) / weight.sum())
