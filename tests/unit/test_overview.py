"""What untuned transfers would have reached, from a model alone."""

import math
from uuid import uuid4

import pytest

from services.application.overview import AgreementsKept, Gain, LowestSetting, Tuned, untuned
from tests.link_models import link_model
from tradewind.model import LinkModel


def lowest_settings(model: LinkModel) -> list[LowestSetting]:
    """As they are read from the store: the first of each lattice."""
    first = [(leaf.leaf, leaf.table.settings[0]) for leaf in model.leaves]
    return [LowestSetting(leaf, each.log_throughput_mean, each.log_power_mean) for leaf, each in first]


def test_untuned_is_the_lowest_setting_weighted_by_the_bytes_of_its_clusters():
    model = link_model()
    told = untuned(lowest_settings(model))
    rates = [
        min(leaf.table.settings, key=lambda each: (each.parameters.streams, each.parameters.pipelining or 1))
        for leaf in model.leaves
    ]
    lowest, highest = (pick(math.exp(each.log_throughput_mean) for each in rates) for pick in (min, max))
    assert lowest * (1 - 1e-9) <= told.throughput_bps <= highest * (1 + 1e-9)


def test_a_gain_without_meters_is_of_time_alone():
    expected = untuned([each._replace(log_power_mean=None) for each in lowest_settings(link_model())])
    tuned = Tuned(
        link_id=uuid4(), transfers=1, bytes_moved=1, throughput_bps=3 * expected.throughput_bps, j_per_byte=1e-7
    )
    gain = Gain(tuned=tuned, untuned=expected)
    assert gain.speedup == pytest.approx(3)
    assert gain.energy_saved is None


def test_a_share_is_of_what_could_be_judged():
    assert AgreementsKept(3, 1, 10).share == 0.75
    assert AgreementsKept(0, 0, 10).share is None
