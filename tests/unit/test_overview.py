"""What untuned transfers would have reached, from a model alone."""

import math
from uuid import uuid4

import pytest

from services.application.overview import AgreementsKept, Gain, LowestSetting, Tuned, untuned


def lowest(rate_bps=8e6, seen_bytes=1e9, power_w=50.0):
    power = None if power_w is None else math.log(power_w)
    return LowestSetting(seen_bytes=seen_bytes, log_throughput_mean=math.log(rate_bps), log_power_mean=power)


def test_untuned_is_the_lowest_setting_weighted_by_the_bytes_of_its_clusters():
    told = untuned([lowest(8e6, 1e9), lowest(16e6, 2e9)])
    assert told.throughput_bps == pytest.approx(8 * 3e9 / (1000 + 1000))
    assert told.j_per_byte == pytest.approx(50 * 2000 / 3e9)


def test_a_gain_without_meters_is_of_time_alone():
    expected = untuned([lowest(), lowest(power_w=None)])
    tuned = Tuned(
        link_id=uuid4(), transfers=1, bytes_moved=1, throughput_bps=3 * expected.throughput_bps, j_per_byte=1e-7
    )
    gain = Gain(tuned=tuned, untuned=expected)
    assert gain.speedup == pytest.approx(3)
    assert gain.energy_saved is None


def test_a_share_is_of_what_could_be_judged():
    assert AgreementsKept(3, 1, 10).share == 0.75
    assert AgreementsKept(0, 0, 10).share is None
