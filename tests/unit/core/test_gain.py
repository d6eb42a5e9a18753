"""What tuning would have gained on a link: rates, hours, joules, order and advice."""

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from types import MappingProxyType

import pytest

from tests.link_models import leaf_model
from tradewind.gain import DAYS_A_MONTH, MovedTotals, compute_link_gain
from tradewind.model import LeafModel, ObservedSetting
from tradewind.parameters import Parameters
from tradewind.tiers.setting_table import SettingTable

MOVED = MovedTotals(
    transfers=300,
    bytes_moved=10**12,
    duration_s=360_000,
    first_day=date(2026, 1, 1),
    last_day=date(2026, 1, 30),
    energy_j=5e6,
)
SLOW, FAST = Parameters(concurrency=1, parallelism=1), Parameters(concurrency=4, parallelism=1)
"""The second is what the model of the tests recommends: the fastest certified setting."""


def used(
    *settings: ObservedSetting, metered: bool = False, accuracy: Mapping[str, float] = MappingProxyType({})
) -> LeafModel:
    return replace(leaf_model(0, metered=metered), observed=settings, accuracy=accuracy)


def at(parameters: Parameters, rows: int, log_rate: float, power_w: float | None = None) -> ObservedSetting:
    return ObservedSetting(parameters, rows, log_rate, power_w)


def find_recommended_log_rate(leaf: LeafModel) -> float:
    return next(one.log_throughput_mean for one in leaf.table.settings if one.parameters == FAST)


def test_logs_that_wait_for_a_release_are_counted_and_need_no_advice() -> None:
    enough, few = (compute_link_gain(MOVED, [], waiting_logs=logs) for logs in (33, 7))
    assert (enough.waiting_logs, enough.advice) == (33, ())
    assert "at least 20 transfers" in few.advice[0]
    assert compute_link_gain(MOVED, [leaf_model(0, metered=False)]).waiting_logs is None


def test_half_the_rate_takes_twice_the_hours() -> None:
    leaf = used(at(SLOW, 100, 0.0), accuracy={"gain.fit_sd": 0.01, "gain.noise_sd": 0.1})
    slow = find_recommended_log_rate(leaf) - math.log(2)
    leaf = replace(leaf, observed=(at(SLOW, 100, slow),))
    gain = compute_link_gain(MOVED, [leaf])
    [data_set] = gain.data_sets
    assert data_set.recommended == FAST
    assert data_set.gain is not None
    assert data_set.gain.mean == pytest.approx(2.0)
    hours = 100 / (30 / DAYS_A_MONTH)
    assert gain.moved.hours_a_month == pytest.approx(hours)
    assert gain.saved_hours_a_month is not None
    assert gain.saved_hours_a_month.mean == pytest.approx(hours / 2)
    assert gain.saved_hours_a_month.low < hours / 2 < gain.saved_hours_a_month.high


def test_transfers_at_the_recommended_setting_save_nothing() -> None:
    leaf = used(at(FAST, 100, 18.3))
    gain = compute_link_gain(MOVED, [leaf])
    assert gain.data_sets[0].gain == (1.0, 1.0, 1.0)
    assert gain.saved_hours_a_month is not None
    assert gain.saved_hours_a_month.mean == pytest.approx(0.0)


def test_settings_faster_than_the_recommended_one_count_against_it() -> None:
    gain = compute_link_gain(MOVED, [used(at(SLOW, 100, 25.0))])
    assert gain.saved_hours_a_month is not None
    assert gain.saved_hours_a_month.mean < 0


def test_interval_widens_with_few_transfers_a_month() -> None:
    leaf = used(at(SLOW, 100, 17.0), accuracy={"gain.fit_sd": 0.02, "gain.noise_sd": 0.3})
    many, few = (compute_link_gain(replace(MOVED, transfers=count), [leaf]).data_sets[0] for count in (3000, 3))
    assert many.rate_bps is not None
    assert few.rate_bps is not None
    assert many.rate_bps.mean == few.rate_bps.mean
    assert few.rate_bps.low < many.rate_bps.low < many.rate_bps.high < few.rate_bps.high


def test_uncertified_data_sets_promise_nothing_and_count_with_their_time() -> None:
    certain = used(at(SLOW, 100, 17.0))
    table = SettingTable(tuple(replace(each, certified=False) for each in certain.table.settings))
    unsure = replace(certain, table=table)
    alone, both = compute_link_gain(MOVED, [certain]), compute_link_gain(MOVED, [certain, unsure])
    assert compute_link_gain(MOVED, [unsure]).saved_hours_a_month is None
    assert both.data_sets[1].rate_bps is None
    assert alone.saved_hours_a_month is not None
    assert both.saved_hours_a_month is not None
    assert both.saved_hours_a_month.mean == pytest.approx(alone.saved_hours_a_month.mean / 2)


def test_joules_need_energy_at_the_same_ends() -> None:
    leaf = used(at(SLOW, 100, 17.0, 40.0), metered=True)
    gain = compute_link_gain(MOVED, [leaf])
    assert gain.saved_j_a_month is not None
    assert 0 < gain.saved_j_a_month < 5e6 / MOVED.months
    assert compute_link_gain(MOVED.leave_out_energy(), [leaf]).saved_j_a_month is None
    assert compute_link_gain(MOVED, [used(at(SLOW, 100, 17.0))]).saved_j_a_month is None


def test_data_sets_without_certified_settings_save_no_joules() -> None:
    certain = used(at(SLOW, 100, 17.0, 40.0), metered=True)
    table = SettingTable(tuple(replace(each, certified=False) for each in certain.table.settings))
    alone, both = (
        compute_link_gain(MOVED, leaves).saved_j_a_month
        for leaves in ([certain], [certain, replace(certain, table=table)])
    )
    assert alone is not None
    assert both == pytest.approx(alone / 2)


def test_links_that_save_most_come_first_and_those_without_answer_last() -> None:
    leaf = used(at(SLOW, 100, 17.0))
    busy, calm = compute_link_gain(replace(MOVED, duration_s=1e6), [leaf]), compute_link_gain(MOVED, [leaf])
    unknown = compute_link_gain(replace(MOVED, duration_s=1e9), [])
    assert sorted([unknown, calm, busy], key=lambda each: each.rank) == [busy, calm, unknown]


def test_advice_names_what_all_transfers_have_in_common() -> None:
    [data_set] = compute_link_gain(MOVED, [used(at(SLOW, 100, 17.0), at(FAST, 20, 18.0))]).data_sets
    assert any("streams of each file" in line and "2 and 4" in line for line in data_set.advice)
    assert not any("files at once: 1 in all" in line for line in data_set.advice)
    assert any(line.startswith("files at once: the fastest") and "8" in line for line in data_set.advice)


def test_link_without_model_is_advised_what_a_model_needs() -> None:
    gain = compute_link_gain(MOVED, [], "all 30 rows have the same concurrency")
    [advice] = gain.advice
    assert advice.startswith("all 30 rows have the same concurrency. ")
    assert "1, 2, 4 and 8 files at once" in advice


def test_back_test_of_the_model_is_shown() -> None:
    accuracy = {"predicted_log": 0.7, "observed_log": 0.6, "log_sd": 0.1, "rows": 12.0}
    leaf = used(at(SLOW, 100, 17.0), accuracy={f"gain.{name}": value for name, value in accuracy.items()})
    test = compute_link_gain(MOVED, [leaf]).data_sets[0].back_test
    assert test is not None
    assert test.is_within
    assert test.observed == pytest.approx(math.exp(0.6))
    assert test.rows == 12
