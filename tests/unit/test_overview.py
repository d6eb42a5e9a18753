"""What untuned transfers would have reached, from a model alone."""

import math
from dataclasses import replace
from uuid import uuid4

import pytest

from services.application.overview import AgreementsKept, Gain, Tuned, untuned
from tests.link_models import link_model


def test_untuned_is_the_lowest_setting_weighted_by_the_bytes_of_its_clusters():
    model = link_model()
    told = untuned(model)
    rates = [
        min(leaf.table.settings, key=lambda each: (each.parameters.streams, each.parameters.pipelining or 1))
        for leaf in model.leaves
    ]
    lowest, highest = (pick(math.exp(each.log_throughput_mean) for each in rates) for pick in (min, max))
    assert lowest * (1 - 1e-9) <= told.throughput_bps <= highest * (1 + 1e-9)
    assert told.parameters.streams == min(each.parameters.streams for each in model.leaves[0].table.settings)


def test_a_gain_without_meters_is_of_time_alone():
    model = link_model()
    unmetered = replace(
        model,
        leaves=tuple(
            replace(
                leaf,
                table=replace(
                    leaf.table, settings=tuple(replace(each, log_power_mean=None) for each in leaf.table.settings)
                ),
            )
            for leaf in model.leaves
        ),
    )
    expected = untuned(unmetered)
    tuned = Tuned(
        link_id=uuid4(), transfers=1, bytes_moved=1, throughput_bps=3 * expected.throughput_bps, j_per_byte=1e-7
    )
    gain = Gain(tuned=tuned, untuned=expected)
    assert gain.speedup == pytest.approx(3)
    assert gain.energy_saved is None


def test_a_share_is_of_what_could_be_judged():
    assert AgreementsKept(3, 1, 10).share == 0.75
    assert AgreementsKept(0, 0, 10).share is None
