"""When a transfer is taken to be alone at a full pipe."""

import pytest

from tradewind.tuning.path.congestion import DEAD_BAND_S
from tradewind.tuning.path.plateau import STEADY, SURE_TICKS, Plateau

RATE_BPS = 115e6


def after_ticks(ticks):
    plateau = Plateau()
    for rate_bps, delay_s in ticks:
        plateau = plateau.update(rate_bps, delay_s)
    return plateau


@pytest.mark.parametrize(
    ("ticks", "sure"),
    [
        ([(RATE_BPS, 0.02)] * (SURE_TICKS - 1), False),
        ([(RATE_BPS, 0.02)] * SURE_TICKS, True),
        ([(RATE_BPS * (1 + 0.8 * STEADY * (-1) ** tick), 0.02) for tick in range(8)], False),
        ([(RATE_BPS * (1 + 0.4 * STEADY * (-1) ** tick), 0.02) for tick in range(8)], True),
        ([(RATE_BPS, DEAD_BAND_S / 2)] * 8, False),
        ([(RATE_BPS, None)] * 8, False),
    ],
)
def test_only_the_same_rate_behind_a_standing_queue_is_sure(ticks, sure):
    assert after_ticks(ticks).is_sure is sure


@pytest.mark.parametrize("other", [(0.9 * RATE_BPS, 0.02), (1.1 * RATE_BPS, 0.02), (RATE_BPS, 0.0)])
def test_another_rate_or_an_empty_queue_restarts_the_plateau(other):
    plateau = after_ticks([(RATE_BPS, 0.02)] * 5 + [other])
    assert not plateau.is_sure
    assert plateau.ticks <= 1


def test_its_rate_is_the_mean():
    assert after_ticks([(100e6, 0.02), (100.2e6, 0.02), (100.4e6, 0.02)]).mean_bps == pytest.approx(100.2e6)
