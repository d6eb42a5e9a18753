"""One row that is a hundred to a thousand times too fast costs a small link neither its model nor its judgement."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from services.application.models.gate import judge_fit
from tests.unit.learning.test_link_model import curves, law_bps, link_log
from tradewind.learning.link import fit_link
from tradewind.learning.link_log import LinkLog, reduce_log
from tradewind.model import LinkModel
from tradewind.parameters import AXES

SETTINGS = np.array(list(product((1, 2, 4, 8), (1, 2, 4), (1, 4, 16))), dtype=np.float64)
FILE_BYTES = 1e6


def small_link(seed: int) -> tuple[LinkLog, LinkLog]:
    """25 to 60 rows over 8 to 12 settings; the same with one of them wild."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(25, 61))
    tried = SETTINGS[rng.choice(len(SETTINGS), rng.integers(8, 13), replace=False)]
    settings = np.full((rows, len(AXES)), np.nan)
    settings[:, :3] = tried[rng.integers(0, len(tried), rows)]
    sound_bps = law_bps(*settings[:, :3].T, FILE_BYTES) * np.exp(rng.normal(0, 0.15, rows))
    stray_bps = sound_bps.copy()
    stray_bps[rng.integers(rows)] *= 10 ** rng.uniform(2, 3)
    log = replace(link_log(rows, seed, metered=False), settings=settings, mean_file_bytes=np.full(rows, FILE_BYTES))
    sound, stray = (
        replace(log, throughput_bps=bps, end_s=log.start_s + log.moved_bytes * 8 / bps)
        for bps in (sound_bps, stray_bps)
    )
    return sound, stray


def fit(log: LinkLog) -> LinkModel:
    return fit_link(reduce_log([log], curves(log)), np.random.default_rng(0))


def fastest_certified_bps(model: LinkModel) -> float:
    return max(
        math.exp(each.log_throughput_mean) for leaf in model.leaves for each in leaf.table.settings if each.certified
    )


@pytest.mark.parametrize("seed", range(0, 200, 4))
def test_a_stray_fast_row_does_not_cost_a_small_link_its_model(seed):
    sound, stray = small_link(seed)
    model = fit(stray)
    verdict = judge_fit(model)
    assert verdict.passed, verdict.reasons
    assert model.failures == ()
    assert fastest_certified_bps(model) < 2 * float(np.max(sound.throughput_bps))
