"""Falcon's Bayesian search (Arifuzzaman and Arslan, SC'21): a Gaussian process of the utility by workers.

The first three numbers are random. Each further one maximises the expected improvement over the best of the last 20
observations. The kernel is Matérn's with ν = 5/2, its length chosen by the marginal likelihood at each step; utilities
are standardised. The utility is that of `falcon_gradient`. An observation is a tick here, 3 s in the paper.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtr

from tradewind.dataset import Chunk
from tradewind.heuristics import MAX_CHANNELS, plan_max_throughput
from tradewind.path import Path
from tradewind.tuning.reference.falcon_gradient import compute_utility
from tradewind.tuning.reference.variant import Plan, compute_loss, list_chunks_left
from tradewind.tuning.sample import TickSample

RANDOM_STARTS = 3
REMEMBERED = 20
LENGTHS = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Of the range of workers."""

NOISE_VARIANCE = 0.01
"""Of utilities whose variance is 1."""


@dataclass(frozen=True, slots=True)
class BayesState:
    """``observed`` : workers and utility of each observation, the last ones; ``workers`` : those tried now."""

    workers: int
    observed: tuple[tuple[int, float], ...] = ()
    sent_bytes: int = 0
    retransmitted_bytes: int = 0


@dataclass(frozen=True, slots=True)
class FalconBayes:
    """``workers`` is the most it may use; ``seed`` that of the random starts."""

    chunks: tuple[Chunk, ...]
    path: Path
    workers: int = MAX_CHANNELS
    seed: int = 1

    def begin(self) -> tuple[BayesState, Plan]:
        state = BayesState(self._draw(0))
        return state, plan_max_throughput(self.chunks, self.path, state.workers)

    def step(self, state: BayesState, sample: TickSample) -> tuple[BayesState, Plan]:
        loss = compute_loss(sample, sent_bytes=state.sent_bytes, retransmitted_bytes=state.retransmitted_bytes)
        utility = compute_utility(sample.throughput_bps, state.workers, loss)
        observed = (*state.observed, (state.workers, utility))[-REMEMBERED:]
        now = replace(
            state,
            observed=observed,
            workers=self._propose_workers(observed),
            sent_bytes=sample.sent_bytes or 0,
            retransmitted_bytes=sample.retransmitted_bytes or 0,
        )
        left = list_chunks_left(self.chunks, sample) or self.chunks
        return now, plan_max_throughput(left, self.path, now.workers)

    def _propose_workers(self, observed: Sequence[tuple[int, float]]) -> int:
        if len(observed) < RANDOM_STARTS:
            return self._draw(len(observed))
        tried = np.array([workers / self.workers for workers, _ in observed])
        utilities = np.array([utility for _, utility in observed])
        scale = float(utilities.std()) or 1.0
        standardised = (utilities - utilities.mean()) / scale
        candidates = np.arange(1, self.workers + 1) / self.workers
        mean, sd = _predict(tried, standardised, candidates)
        return 1 + int(np.argmax(_compute_expected_improvement(mean, sd, float(standardised.max()))))

    def _draw(self, number: int) -> int:
        return random.Random(f"{self.seed} {number}").randint(1, self.workers)


def _predict(
    tried: NDArray[np.float64], values: NDArray[np.float64], candidates: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of the process at the candidates, with the likeliest length."""

    def factorise(length: float) -> tuple[float, tuple[NDArray[np.float64], bool]]:
        factor = cho_factor(_compute_kernel(tried, tried, length) + NOISE_VARIANCE * np.eye(len(tried)), lower=True)
        log_determinant = 2 * float(np.log(np.diag(factor[0])).sum())
        return -0.5 * (float(values @ cho_solve(factor, values)) + log_determinant), factor

    factors = {length: factorise(length) for length in LENGTHS}
    length = max(factors, key=lambda each: factors[each][0])
    factor, across = factors[length][1], _compute_kernel(candidates, tried, length)
    variance = 1.0 - np.einsum("ij,ji->i", across, cho_solve(factor, across.T))
    return across @ cho_solve(factor, values), np.sqrt(np.maximum(variance, 1e-12))


def _compute_kernel(a: NDArray[np.float64], b: NDArray[np.float64], length: float) -> NDArray[np.float64]:
    distance = math.sqrt(5) * np.abs(a[:, None] - b[None, :]) / length
    kernel: NDArray[np.float64] = (1 + distance + distance**2 / 3) * np.exp(-distance)
    return kernel


def _compute_expected_improvement(
    mean: NDArray[np.float64], sd: NDArray[np.float64], best: float
) -> NDArray[np.float64]:
    z = (mean - best) / sd
    improvement: NDArray[np.float64] = sd * (z * ndtr(z) + np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))
    return improvement
