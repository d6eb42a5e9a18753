"""A made-up link whose best setting is known, for smoke runs without real logs."""

from itertools import product

import numpy as np

from benchmarks.gain.links import GainLeaf
from tradewind.learning.observations import Observations

FILES_AT_ONCE, STREAMS = (1, 2, 4, 8, 16), (1, 2, 4)
REPEATS = 20
NOISE = 0.1
LINE_BPS = 5e9


def make_leaf(seed: int) -> GainLeaf:
    """Return transfers at all settings, ``REPEATS`` times: rates rise with streams and level off, with noise."""
    settings = np.array(list(product(FILES_AT_ONCE, STREAMS)) * REPEATS, dtype=np.float64)
    draw = np.random.default_rng(seed)
    settings = settings[draw.permutation(len(settings))]
    rate_bps = LINE_BPS * (1 - np.exp(-settings.prod(axis=1) / 8))
    unknown = np.full(len(settings), np.nan)
    return GainLeaf(
        "made up",
        Observations(
            axes=("concurrency", "parallelism"),
            settings=settings,
            throughput_bps=rate_bps * np.exp(NOISE * draw.standard_normal(len(settings))),
            power_w=unknown,
            load=unknown,
            started_s=np.arange(len(settings), dtype=np.float64),
        ),
    )
