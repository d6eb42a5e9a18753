"""Local kriging of what the spline leaves: neighbours on the lattice have similar residuals.

Notation
--------
r_c      residual of cell c, noise variance ω_c
k(Δ)     covariance σ² Π_j ρ_j^|Δ_j|, Δ in steps of the lattice; τ² more at distance 0

References
----------
Cressie, "Statistics for Spatial Data" (1993), §3.2 (kriging; here the mean is known to be 0).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, Self

import numpy as np
from scipy.spatial import cKDTree

from tradewind.learning.observations import Floats
from tradewind.learning.surface.cells import Cells, Index
from tradewind.learning.surface.robust import LEAF_CELLS

NEIGHBOURS = 16
WORTHWHILE = 0.02
"""Share of the leave-one-out mean square that kriging must save, or it is dropped."""

PROMISING = 0.005
"""Share that the first signal tried must save, or the others are not."""

FIRST_SIGNAL, LARGER_SIGNALS, SMALLER_SIGNALS = 1.6, (2.5, 5.0), (1.1,)
"""Signal variances tried, in units of the largest lag-1 covariance: smaller ones only where the larger gain nothing."""

METRIC_DIGITS = 4
METRIC_FACTOR = 5.0
"""Signal variance, in the same units, that decides who is a neighbour."""

LARGEST_SIGNAL = 0.9
"""Share of the mean square residual that may be called signal."""

CORRELATION_RANGE = (0.02, 0.98)
SAME_PLACE = 1e-9
"""Distance below which a place is a cell itself."""

NEVER_SEEN = 1e6
"""Noise variance of a cell whose rows are all disbelieved."""

UNBOUNDED = 1e300
"""Diagonal of the rows that a factorisation carries along."""

BLOCK = 2048
"""Cells solved at once, which bounds the memory."""


@dataclass(frozen=True, slots=True)
class ResidualKriging:
    """Kriging with a fitted kernel.

    Attributes
    ----------
    position : (m, axes) places of the cells on the lattice.
    residual, noise : (m,) what is kriged and its noise variance.
    signal, nugget : σ², and τ², what belongs to one cell alone.
    decay : (axes,) −log ρ_j; ``metric`` (axes,): weights of the steps where neighbours are looked for.
    """

    position: Floats
    residual: Floats
    noise: Floats
    signal: float
    nugget: float
    decay: Floats
    metric: Floats

    def predict(self, position: Floats) -> tuple[Floats, Floats]:
        """Return the mean and variance (r,) at places (r, axes)."""
        near = self.find_neighbours(position, skip=0)
        mean, variance = np.empty(len(position)), np.empty(len(position))
        for start in range(0, len(position), BLOCK):
            part = slice(start, start + BLOCK)
            mean[part], variance[part] = self.predict_from(_Surroundings.of(self.position, position[part], near[part]))
        return mean, variance

    def find_neighbours(self, position: Floats, *, skip: int) -> Index:
        """(r, ≤ NEIGHBOURS) cells next to places (r, axes), without the first ``skip``."""
        last = min(NEIGHBOURS + skip, len(self.position))
        tree = cKDTree(self.position * self.metric, LEAF_CELLS)
        _, near = tree.query(position * self.metric, k=np.arange(1 + skip, last + 1), p=1)
        return np.asarray(near, dtype=np.intp)

    def find_surroundings(self) -> "list[_Surroundings]":
        """Return the other cells around each cell, in blocks."""
        near = self.find_neighbours(self.position, skip=1)
        parts = (slice(start, start + BLOCK) for start in range(0, len(near), BLOCK))
        return [_Surroundings.of(self.position, self.position[part], near[part]) for part in parts]

    def predict_cells(self, surroundings: "Sequence[_Surroundings]") -> tuple[Floats, Floats]:
        """Return the mean and variance (m,) at the cells from what surrounds them."""
        mean, variance = zip(*(self.predict_from(part) for part in surroundings), strict=True)
        return np.concatenate(mean), np.concatenate(variance)

    def predict_from(self, around: "_Surroundings") -> tuple[Floats, Floats]:
        """Return the mean and variance (r,) at the places that ``around`` describes.

        Notes
        -----
        With K = LL', the mean is k'K⁻¹r = (L⁻¹k)'(L⁻¹r), and k'K⁻¹k likewise. Both solutions are rows of the Cholesky
        factor of K with k and r as two rows more, whatever stands on their diagonal.
        """
        near, count = around.near, around.near.shape[1]
        one, two = around.pairs
        distance = np.tensordot(self.decay, around.distance, axes=1)
        k = self.signal * np.exp(-distance)
        if self.nugget > 0:
            k += self.nugget * (distance < SAME_PLACE)
        joint = np.zeros((len(near), count + 2, count + 2))
        joint[:, two, one] = self.signal * np.exp(-np.tensordot(self.decay, around.between, axes=1))
        own = np.arange(count)
        joint[:, own, own] = self.signal + self.nugget + self.noise[near]
        joint[:, count, :count] = k
        joint[:, count + 1, :count] = self.residual[near]
        joint[:, count, count] = joint[:, count + 1, count + 1] = UNBOUNDED
        factor = np.linalg.cholesky(joint)
        toward, of_residual = factor[:, count, :count], factor[:, count + 1, :count]
        mean: Floats = np.einsum("rk,rk->r", toward, of_residual)
        variance = self.signal + self.nugget - np.einsum("rk,rk->r", toward, toward)
        return mean, np.maximum(variance, 0.0)


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """Cells around r places, and how many steps they are apart: what does not depend on the kernel.

    Attributes
    ----------
    near : (r, k) the cells.
    pairs : two indices (k(k − 1)/2,) of cells among k.
    between : (axes, r, k(k − 1)/2) steps between both cells of each pair.
    distance : (axes, r, k) steps between each place and its cells.
    """

    near: Index
    pairs: tuple[Index, Index]
    between: Floats
    distance: Floats

    @classmethod
    def of(cls, cells: Floats, position: Floats, near: Index) -> Self:
        one, two = np.triu_indices(near.shape[1], k=1)
        between = np.empty((cells.shape[1], len(near), len(one)))
        distance = np.empty((cells.shape[1], *near.shape))
        for j, axis in enumerate(cells.T):
            local = axis[near]
            np.abs(local[:, one] - local[:, two], out=between[j])
            np.abs(local - position[:, j, None], out=distance[j])
        return cls(near, (one, two), between, distance)


def compute_cell_effects(cells: Cells, residual: Floats, noise: Floats, tau2: float) -> ResidualKriging:
    """Return the cells' own effects, shrunk by their noise: what remains where neighbours tell nothing."""
    noise = np.minimum(noise, NEVER_SEEN)
    ones = np.ones(cells.x.shape[1])
    return ResidualKriging(cells.rank.astype(np.float64), residual, noise, 0.0, tau2, ones, ones)


class KrigingFit(NamedTuple):
    """A fitted kriging with its leave-one-out mean and variance (m,) at the cells."""

    kriging: ResidualKriging
    mean: Floats
    variance: Floats


def fit_kriging(effects: ResidualKriging, cells: Cells, held_out: Floats, believed: Floats) -> KrigingFit | None:
    """Return the kriging of cell residuals, or None if it gains too little.

    Parameters
    ----------
    effects : what is kriged, without a kernel yet; its nugget is the variance between cells, 0 if unknown.
    held_out : (m,) residuals of the cell means, each cell left out of the spline.
    believed : (m,) weight of each cell.
    """
    lagged = np.array([_compute_lag_covariance(cells, effects.residual, believed, j) for j in range(cells.x.shape[1])])
    strongest = float(np.max(lagged, initial=0.0))
    if len(cells) <= NEIGHBOURS // 2 or strongest <= 0:
        return None
    effects = replace(effects, metric=_compute_metric(lagged, METRIC_FACTOR * strongest))
    surroundings = effects.find_surroundings()
    weight = believed / np.sum(believed)
    plain = float(weight @ held_out**2)

    def krige(factor: float) -> tuple[float, KrigingFit]:
        """Return the mean square that a signal leaves, and its kriging."""
        signal = min(factor * strongest, LARGEST_SIGNAL * plain)
        kriging = _set_kernel(effects, signal, -np.log(_compute_correlation(lagged, signal)))
        fit = KrigingFit(kriging, *kriging.predict_cells(surroundings))
        return float(weight @ (held_out - fit.mean) ** 2), fit

    least, best = krige(FIRST_SIGNAL)
    if least > (1 - PROMISING) * plain:
        return None
    larger = krige(LARGER_SIGNALS[0])
    others = LARGER_SIGNALS[1:] if larger[0] < least else SMALLER_SIGNALS
    for loss, kriged in chain([larger], map(krige, others)):
        if loss < least:
            least, best = loss, kriged
    return best if least < (1 - WORTHWHILE) * plain else None


def krige_like(other: ResidualKriging, effects: ResidualKriging) -> KrigingFit:
    """Return the kriging of cell residuals with the kernel that was fitted to nearly the same rows."""
    kriging = _set_kernel(replace(effects, metric=other.metric), other.signal, other.decay)
    return KrigingFit(kriging, *kriging.predict_cells(kriging.find_surroundings()))


def _set_kernel(effects: ResidualKriging, signal: float, decay: Floats) -> ResidualKriging:
    # Noise that was measured without repeats contains what kriging explains; it keeps the rest.
    explained = signal if effects.nugget == 0 else 0.0
    noise = np.maximum(effects.noise - explained, 0.1 * effects.noise)
    nugget = max(effects.nugget - signal, 0.0)
    return replace(effects, signal=signal, nugget=nugget, noise=noise, decay=decay)


def _compute_correlation(lagged: Floats, signal: float) -> Floats:
    return np.clip(lagged / signal, *CORRELATION_RANGE)


def _compute_metric(lagged: Floats, signal: float) -> Floats:
    """Return the weights of the steps, rounded so that rounding errors upstream do not choose between
    similar neighbours.
    """
    metric: Floats = np.round(-np.log(_compute_correlation(lagged, signal)), METRIC_DIGITS).astype(np.float64)
    return metric


def _compute_lag_covariance(cells: Cells, residual: Floats, believed: Floats, axis: int) -> float:
    """Return the covariance of the residuals of cells one step apart on ``axis``."""
    one, two = cells.find_adjacent(axis)
    weight = np.minimum(believed[one], believed[two])
    if weight.sum() <= 0:
        return 0.0
    return float(np.sum(weight * residual[one] * residual[two]) / weight.sum())
