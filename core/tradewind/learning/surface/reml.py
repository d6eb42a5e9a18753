"""Restricted maximum likelihood for Gaussian mixed models with one variance a block, by Fellner–Schall steps.

Notation
--------
G = B'WB    (q, q) weighted cross-products, W the absolute precisions of the observations
g = B'Wy    (q,)
λ_b         precision of block b, β_b ~ N(0, I/λ_b)
V           (G + Λ)^(−1), posterior covariance of β
R           (q, q) lower triangle with V = R'R, the inverse of the Cholesky factor of G + Λ

References
----------
Wood & Fasiolo, "A generalized Fellner-Schall method for smoothing parameter optimization", Biometrics 73 (2017).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from tradewind.learning.observations import Floats

FIXED_PRECISION = 0.1
"""Of the columns outside all blocks: a prior deviation of 3 nats, a factor of 20 for a usual step of a parameter."""

LARGEST_PRECISION = 1e7
SMALLEST_PRECISION = 1e-4
CONVERGENCE_TOLERANCE = 0.05
"""Relative change of every precision below which further steps change nothing that counts."""

NO_EFFECT = 1e-3
"""Effective degrees of freedom below which a block is flat."""


@dataclass(frozen=True, slots=True)
class MixedFit:
    """Coefficients β (q,), the root R (q, q) of their covariance, and the precisions λ (blocks,)."""

    coefficients: Floats
    root: Floats
    precisions: Floats

    def compute_variance(self, columns: Floats) -> Floats:
        """Return the variance diag(BVB') (r,) of B β at columns B (r, ≤ q); those that B lacks count as 0.

        Notes
        -----
        The squares of R b are half the work of b'Vb, and never negative.
        """
        if columns.shape[1] < len(self.root):
            projected = self.root[:, : columns.shape[1]] @ columns.T
        else:
            projected = dtrmm(1.0, self.root, columns.T, lower=1)
        variance: Floats = np.einsum("ij,ij->j", projected, projected)
        return variance


def fit_mixed(G: Floats, g: Floats, blocks: tuple[slice, ...], start: Floats, steps: int) -> MixedFit:
    """Return the coefficients at REML precisions.

    Parameters
    ----------
    G, g : (q, q) and (q,) cross-products.
    blocks : columns of each random effect.
    start : (blocks,) precisions to begin with.
    steps : Fellner–Schall steps at most; 0 solves at ``start``.

    Notes
    -----
    Cost 2q³/3 a step.
    """
    precisions = start.copy()
    for _ in range(steps):
        beta, root = _solve(G, g, blocks, precisions)
        better = _step_precisions(precisions, beta, np.einsum("ij,ij->j", root, root), blocks)
        has_converged = bool(np.all(np.abs(np.log(better / precisions)) < CONVERGENCE_TOLERANCE))
        if has_converged:
            break
        precisions = better
    else:
        beta, root = _solve(G, g, blocks, precisions)
    return MixedFit(beta, root, precisions)


def _step_precisions(precisions: Floats, beta: Floats, variance: Floats, blocks: tuple[slice, ...]) -> Floats:
    """Return the one Fellner–Schall step: λ_b ← (k_b − λ_b tr V_bb) / β_b'β_b; a block without effect stays where it
    is.
    """
    sizes = np.array([block.stop - block.start for block in blocks])
    effective = sizes - precisions * _sum_blocks(variance, blocks)
    energy = _sum_blocks(beta**2, blocks)
    has_effect = (effective > NO_EFFECT) & (energy > 0)
    better = np.divide(effective, energy, out=precisions.copy(), where=has_effect)
    return np.where(has_effect, np.clip(better, SMALLEST_PRECISION, LARGEST_PRECISION), precisions)


def _sum_blocks(values: Floats, blocks: tuple[slice, ...]) -> Floats:
    """Return the sums (blocks,) of values (q,); columns between blocks count in none."""
    edges = [edge for block in blocks for edge in (block.start, block.stop)]
    return np.add.reduceat(np.append(values, 0.0), edges)[::2]


def _solve(G: Floats, g: Floats, blocks: tuple[slice, ...], precisions: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients (q,) and R (q, q)."""
    A = np.array(G, order="F")
    prior = np.full(len(g), FIXED_PRECISION)
    for block, precision in zip(blocks, precisions, strict=True):
        prior[block] = precision
    A.ravel(order="K")[:: len(g) + 1] += prior
    factor, info = dpotrf(A, lower=1, overwrite_a=1)
    assert info == 0, "a Gram matrix plus a positive diagonal is positive definite"
    beta, _ = dpotrs(factor, g, lower=1)
    root, _ = dtrtri(factor, lower=1, overwrite_c=1)
    return beta, root
