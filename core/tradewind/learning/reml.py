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
from scipy.linalg.lapack import dpotrf, dpotri

from tradewind.learning.observations import Floats

FIXED_PRECISION = 1e-2
"""Of the columns outside all blocks: a prior deviation of 10 nats, which only keeps collinear columns determined."""

LARGEST_PRECISION = 1e7
SMALLEST_PRECISION = 1e-4
SETTLED = 0.02
"""Relative change of every block's effect, λ·tr(V_bb)/k_b, below which further steps change nothing that counts."""


@dataclass(frozen=True, slots=True)
class MixedFit:
    """Coefficients β (q,), their covariance V (q, q) and the precisions λ (blocks,)."""

    coefficients: Floats
    covariance: Floats
    precisions: Floats


def fit_mixed(G: Floats, g: Floats, blocks: tuple[slice, ...], start: Floats, steps: int) -> MixedFit:
    """Coefficients at REML precisions.

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
        beta, V = _solve(G, g, blocks, precisions)
        diagonal = np.diagonal(V)
        settled = True
        for b, block in enumerate(blocks):
            size = block.stop - block.start
            effective = max(size - precisions[b] * float(diagonal[block].sum()), 1e-8)
            energy = max(float(beta[block] @ beta[block]), 1e-12)
            new = min(max(effective / energy, SMALLEST_PRECISION), LARGEST_PRECISION)
            gone = effective < 1e-3 and new > precisions[b]
            settled &= gone or abs(np.log(new / precisions[b])) < SETTLED
            precisions[b] = new
        if settled:
            break
    beta, V = _solve(G, g, blocks, precisions)
    return MixedFit(beta, V, precisions)


def _solve(G: Floats, g: Floats, blocks: tuple[slice, ...], precisions: Floats) -> tuple[Floats, Floats]:
    A = np.array(G, order="F")
    prior = np.full(len(g), FIXED_PRECISION)
    for block, precision in zip(blocks, precisions, strict=True):
        prior[block] = precision
    A.flat[:: len(g) + 1] += prior
    factor, info = dpotrf(A, lower=1, overwrite_a=1)
    assert info == 0, "a Gram matrix plus a positive diagonal is positive definite"
    V, _ = dpotri(factor, lower=1, overwrite_c=1)
    lower = np.tril(V, -1)
    V = np.tril(V) + lower.T
    return V @ g, V
