"""A made-up set of transfers with cores and frequency, for smoke runs without real logs."""

from itertools import product

import numpy as np

from benchmarks.surfaces.sets import SIZE_AXIS, SurfaceSet
from tradewind.learning.observations import Observations

AXES = ("concurrency", "cores", "frequency_hz", SIZE_AXIS)
VALUES = ((1, 2, 4, 8, 16), (1, 2, 4, 8), (1.2e9, 1.8e9, 2.4e9), (1e8,))
BASE_W, CORE_W, LINE_BPS = 80.0, 6.0, 8e9
NOISE = 0.05
TOTAL_BYTES = 1e10


def make_set(seed: int) -> SurfaceSet:
    """Return a row for each setting: cores limit the rate and take power by their frequency, both with noise."""
    settings = np.array(list(product(*VALUES)), dtype=np.float64)
    draw = np.random.default_rng(seed)
    concurrency, cores, frequency_hz, _ = settings.T
    speed = cores * frequency_hz / 1e9
    possible_bps = np.minimum(LINE_BPS * (1 - np.exp(-concurrency / 4)), 1e9 * speed)
    busy_w = CORE_W * cores * (frequency_hz / 2e9) ** 2 * np.minimum(1.0, possible_bps / (1e9 * speed))
    noise = np.exp(NOISE * draw.standard_normal((2, len(settings))))
    return SurfaceSet(
        name="made up",
        observations=Observations(
            axes=AXES,
            settings=settings,
            throughput_bps=possible_bps * noise[0],
            power_w=BASE_W + busy_w * noise[1],
            load=np.full(len(settings), np.nan),
            started_s=np.arange(len(settings), dtype=np.float64),
        ),
        total_bytes=np.full(len(settings), TOTAL_BYTES),
        base_power_w=np.full(len(settings), BASE_W),
        rtt_s=0.03,
    )
