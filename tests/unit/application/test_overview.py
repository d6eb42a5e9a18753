"""What untuned transfers would have reached, from a model alone."""

import math
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from services.application.monitoring.metrics import Period
from services.application.monitoring.overview import (
    MIN_TRANSFERS,
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
from tradewind.prediction import Interval


def lowest_settings(model: LinkModel) -> list[LowestSetting]:
    """As they are read from the store: the first of each lattice."""
    first = [(leaf.leaf, leaf.table.settings[0]) for leaf in model.leaves]
    return [
        LowestSetting(leaf, each.log_throughput_mean, each.log_throughput_sd, each.log_power_mean)
        for leaf, each in first
    ]


def test_untuned_is_the_lowest_setting_weighted_by_the_bytes_of_its_clusters():
    model = link_model()
    told = estimate_untuned(lowest_settings(model))
    rates = [
        min(leaf.table.settings, key=lambda each: (each.parameters.streams, each.parameters.pipelining or 1))
        for leaf in model.leaves
    ]
    lowest, highest = (pick(math.exp(each.log_throughput_mean) for each in rates) for pick in (min, max))
    assert lowest * (1 - 1e-9) <= told.throughput_bps.mean <= highest * (1 + 1e-9)
    assert told.throughput_bps.low < told.throughput_bps.mean < told.throughput_bps.high


def test_a_gain_without_meters_is_of_time_alone():
    expected = estimate_untuned([each._replace(log_power_mean=None) for each in lowest_settings(link_model())])
    gain = Gain(tuned=tuned(3 * expected.throughput_bps.mean, {MeteredEnds.BOTH: 1e-7}), untuned=expected)
    assert gain.speedup is not None
    assert gain.speedup.mean == pytest.approx(3)
    assert gain.speedup.low == pytest.approx(3 * expected.throughput_bps.mean / expected.throughput_bps.high)
    assert gain.energy_saved is None
    assert gain.not_comparable == "the model knows no energy"


def test_a_gain_of_few_transfers_is_not_stated():
    expected = estimate_untuned(lowest_settings(link_model()))
    enough = tuned(1e9, {MeteredEnds.BOTH: 1e-7})
    known = expected._replace(j_per_byte=4e-7, ends=MeteredEnds.BOTH)
    assert Gain(tuned=enough, untuned=known).energy_saved == pytest.approx(0.75)
    few = Gain(tuned=replace(enough, transfers=MIN_TRANSFERS - 1), untuned=known)
    assert (few.speedup, few.energy_saved) == (None, None)


def tuned(throughput_bps: float, j_per_byte: dict[MeteredEnds, float]) -> TunedTransfers:
    return TunedTransfers(
        link_id=uuid4(), transfers=MIN_TRANSFERS, bytes_moved=1, throughput_bps=throughput_bps, j_per_byte=j_per_byte
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
    expected = UntunedEstimate(Interval(1e6, 8e5, 1.2e6), 4e-6, find_usual_ends(logs))
    gain = Gain(tuned=tuned(3e6, of_tuned), untuned=expected)
    assert gain.energy_saved == saved
    assert why in gain.not_comparable
    assert bool(why) == bool(gain.not_comparable)


@pytest.mark.parametrize(("period", "days"), [(Period.WEEK, 7), (Period.MONTH, 30), (Period.DAY, 2)])
@pytest.mark.parametrize("hour", [0, 12, 23])
def test_period_counts_today_as_one_of_its_days(period, days, hour):
    now = datetime(2026, 3, 1, hour, 59, tzinfo=UTC)
    assert (now.date() - period.find_first_day(now)).days + 1 == days


def test_share_counts_judged_transfers_only():
    assert SlaOutcomes(3, 1, 2, 10).share == 0.75
    assert SlaOutcomes(0, 0, 2, 10).share is None
