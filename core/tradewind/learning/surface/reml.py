"""Restricted maximum likelihood for Gaussian mixed models with one variance a block, by Fellner–Schall steps.

Notation
--------
G = B'WB    (q, q) weighted cross-products, W the absolute precisions of the observations
g = B'Wy    (q,)
λ_b         precision of block b, β_b ~ N(0, I/λ_b)
V           (G + Λ)^(−1), posterior covariance of β

References
----------
Wood & Fasiolo, "A generalized Fellner-Schall method for smoothing parameter optimization", Biometrics 73 (2017).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

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
    """Coefficients β (q,), their covariance V (q, q) and the precisions λ (blocks,)."""

    coefficients: Floats
    covariance: Floats
    precisions: Floats


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
    Cost q³ a step.
    """
    precisions = start.copy()
    for _ in range(steps):
        beta, lower = _solve(G, g, blocks, precisions)
        better = _step_precisions(precisions, beta, np.diagonal(lower), blocks)
        has_converged = bool(np.all(np.abs(np.log(better / precisions)) < CONVERGENCE_TOLERANCE))
        if has_converged:
            break
        precisions = better
    else:
        beta, lower = _solve(G, g, blocks, precisions)
    V = np.tril(lower)
    return MixedFit(beta, V + np.tril(lower, -1).T, precisions)


def _step_precisions(precisions: Floats, beta: Floats, variance: Floats, blocks: tuple[slice, ...]) -> Floats:
    """Return the one Fellner–Schall step: λ_b ← (k_b − λ_b tr V_bb) / β_b'β_b; a block without effect stays where it
    is.
    """
    better = precisions.copy()
    for b, block in enumerate(blocks):
        size = block.stop - block.start
        effective = size - precisions[b] * float(variance[block].sum())
        energy = float(beta[block] @ beta[block])
        if effective > NO_EFFECT and energy > 0:
            better[b] = min(max(effective / energy, SMALLEST_PRECISION), LARGEST_PRECISION)
    return better


def _solve(G: Floats, g: Floats, blocks: tuple[slice, ...], precisions: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients (q,) and V (q, q), only its lower triangle is set."""
    A = np.array(G, order="F")
    prior = np.full(len(g), FIXED_PRECISION)
    for block, precision in zip(blocks, precisions, strict=True):
        prior[block] = precision
    A.ravel(order="K")[:: len(g) + 1] += prior
    factor, info = dpotrf(A, lower=1, overwrite_a=1)
    assert info == 0, "a Gram matrix plus a positive diagonal is positive definite"
    beta, _ = dpotrs(factor, g, lower=1)
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    return beta, lower
