"""When a transfer is taken to be alone at a full pipe."""

import pytest

from tradewind.tuning.path.congestion import DEAD_BAND_S
from tradewind.tuning.path.plateau import MISSED_TICKS, STEADY, SURE_TICKS, Plateau

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


@pytest.mark.parametrize(
    "others",
    [[(0.9 * RATE_BPS, 0.02)] * (MISSED_TICKS + 1), [(1.1 * RATE_BPS, 0.02)], [(1.1 * RATE_BPS, 0.0)]],
    ids=["slower for long", "faster", "faster behind no queue"],
)
def test_another_rate_restarts_the_plateau(others):
    plateau = after_ticks([(RATE_BPS, 0.02)] * 5 + others)
    assert not plateau.is_sure
    assert plateau.ticks <= 1


def test_a_queue_that_is_empty_for_a_moment_does_not_end_a_plateau():
    assert after_ticks([(RATE_BPS, 0.02), (RATE_BPS, 0.001), (RATE_BPS, 0.02)]).is_sure


@pytest.mark.parametrize("lull", [(0.96 * RATE_BPS, 0.02), (0.7 * RATE_BPS, 0.0)], ids=["short", "deep"])
def test_a_lull_does_not_end_a_sure_plateau(lull):
    full = (RATE_BPS, 0.02)
    assert after_ticks([full] * SURE_TICKS + [lull] * MISSED_TICKS).is_sure
    assert not after_ticks([full] * SURE_TICKS + [lull]).is_likely
    assert after_ticks([full] * SURE_TICKS + [lull, full]).ticks == SURE_TICKS + 1
    assert not after_ticks([full] * (SURE_TICKS - 1) + [lull]).is_sure


@pytest.mark.parametrize("delay_s", [0.0, 0.02])
def test_a_rate_that_grows_from_tick_to_tick_is_rising(delay_s):
    assert after_ticks([(RATE_BPS, delay_s), (1.06 * RATE_BPS, delay_s)]).is_rising
    assert not after_ticks([(RATE_BPS, delay_s), (1.04 * RATE_BPS, delay_s)]).is_rising
    assert not after_ticks([(RATE_BPS, delay_s)]).is_rising, "nothing is known of the time before"


def test_its_rate_is_the_mean():
    assert after_ticks([(100e6, 0.02), (100.2e6, 0.02), (100.4e6, 0.02)]).mean_bps == pytest.approx(100.2e6)
