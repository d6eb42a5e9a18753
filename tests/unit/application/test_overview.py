"""What untuned transfers would have reached, from a model alone."""

import math
from uuid import uuid4

import pytest

from services.application.monitoring.overview import (
    Gain,
    LowestSetting,
    MeteredEnds,
    SlaOutcomes,
    TunedTransfers,
    UntunedEstimate,
    estimate_untuned,
    find_usual_ends,
)
from tests.link_models import link_model
from tradewind.model import LinkModel


def lowest_settings(model: LinkModel) -> list[LowestSetting]:
    """As they are read from the store: the first of each lattice."""
    first = [(leaf.leaf, leaf.table.settings[0]) for leaf in model.leaves]
    return [LowestSetting(leaf, each.log_throughput_mean, each.log_power_mean) for leaf, each in first]


def test_untuned_is_the_lowest_setting_weighted_by_the_bytes_of_its_clusters():
    model = link_model()
    told = estimate_untuned(lowest_settings(model))
    rates = [
        min(leaf.table.settings, key=lambda each: (each.parameters.streams, each.parameters.pipelining or 1))
        for leaf in model.leaves
    ]
    lowest, highest = (pick(math.exp(each.log_throughput_mean) for each in rates) for pick in (min, max))
    assert lowest * (1 - 1e-9) <= told.throughput_bps <= highest * (1 + 1e-9)


def test_a_gain_without_meters_is_of_time_alone():
    expected = estimate_untuned([each._replace(log_power_mean=None) for each in lowest_settings(link_model())])
    gain = Gain(tuned=tuned(3 * expected.throughput_bps, {MeteredEnds.BOTH: 1e-7}), untuned=expected)
    assert gain.speedup == pytest.approx(3)
    assert gain.energy_saved is None
    assert gain.not_comparable == "the model knows no energy"


def tuned(throughput_bps: float, j_per_byte: dict[MeteredEnds, float]) -> TunedTransfers:
    return TunedTransfers(
        link_id=uuid4(), transfers=1, bytes_moved=1, throughput_bps=throughput_bps, j_per_byte=j_per_byte
    )


@pytest.mark.parametrize(
    ("logs", "of_tuned", "saved", "why"),
    [
        ({MeteredEnds.BOTH: 99}, {MeteredEnds.BOTH: 1e-6}, 0.75, ""),
        ({MeteredEnds.BOTH: 99, MeteredEnds.SOURCE: 1}, {MeteredEnds.BOTH: 1e-6, MeteredEnds.SOURCE: 1.0}, 0.75, ""),
        (
            {MeteredEnds.BOTH: 99},
            {MeteredEnds.SOURCE: 1e-6},
            None,
            "its logs meter both ends, tuned transfers the source",
        ),
        (
            {MeteredEnds.SOURCE: 9},
            {MeteredEnds.BOTH: 1e-6},
            None,
            "its logs meter the source alone, tuned transfers both",
        ),
        (
            {MeteredEnds.SOURCE: 9, MeteredEnds.BOTH: 9},
            {MeteredEnds.BOTH: 1e-6},
            None,
            "do not all meter the same ends",
        ),
        ({MeteredEnds.BOTH: 99}, {}, None, "no tuned transfer was metered"),
    ],
)
def test_energy_is_compared_where_the_same_ends_were_metered(logs, of_tuned, saved, why):
    expected = UntunedEstimate(1e6, 4e-6, find_usual_ends(logs))
    gain = Gain(tuned=tuned(3e6, of_tuned), untuned=expected)
    assert gain.energy_saved == saved
    assert why in gain.not_comparable
    assert bool(why) == bool(gain.not_comparable)


def test_share_counts_judged_transfers_only():
    assert SlaOutcomes(3, 1, 2, 10).share == 0.75
    assert SlaOutcomes(0, 0, 2, 10).share is None
