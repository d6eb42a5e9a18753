"""Leaves with a known surface, made from a seed."""

from itertools import product

import numpy as np

from tradewind.learning.observations import Floats, Observations

STEPS = (1, 2, 4, 8, 16, 32)
AXES = ("concurrency", "parallelism", "pipelining")


def true_log_throughput(settings: Floats) -> Floats:
    """Rises with streams and levels off, falls again where they crowd; ln(bit/s) at (n, 3) settings."""
    cc, p, pp = np.log2(settings).T
    return 19.0 + 0.9 * cc - 0.12 * cc**2 + 0.5 * p - 0.1 * p**2 + 0.15 * np.log1p(pp) - 0.05 * cc * p


def grid(repeats: int = 3, steps: tuple[int, ...] = STEPS) -> Floats:
    return np.repeat(np.array(list(product(steps, repeat=3)), dtype=np.float64), repeats, axis=0)


def leaf(
    settings: Floats,
    log_throughput: Floats,
    *,
    axes: tuple[str, ...] = AXES,
    power_w: Floats | None = None,
    load: Floats | None = None,
) -> Observations:
    n = len(settings)
    unknown = np.full(n, np.nan)
    return Observations(
        axes=axes,
        settings=settings,
        throughput_bps=np.exp(log_throughput),
        power_w=unknown if power_w is None else power_w,
        load=unknown if load is None else load,
        started_s=np.arange(n, dtype=np.float64),
    )


def noisy_leaf(seed: int = 1, *, repeats: int = 3, noise: float = 0.15) -> Observations:
    rng = np.random.default_rng(seed)
    settings = grid(repeats)
    return leaf(settings, true_log_throughput(settings) + rng.normal(0, noise, len(settings)))


def metered_leaf(seed: int = 1, *, correlation: float = 0.6) -> Observations:
    """Power 40 W and 5 W a doubling of concurrency, with noise that goes along with that of throughput."""
    rng = np.random.default_rng(seed)
    settings = grid(3)
    t, other = rng.normal(0, 1, (2, len(settings)))
    p = correlation * t + np.sqrt(1 - correlation**2) * other
    watts = (40 + 5 * np.log2(settings[:, 0])) * np.exp(0.1 * p)
    return leaf(settings, true_log_throughput(settings) + 0.2 * t, power_w=watts)
