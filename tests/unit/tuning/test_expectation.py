from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.core.lattices import tables
from tests.unit.tuning.simulated_path import SimulatedPath
from tradewind.parameters import Parameters
from tradewind.tiers.setting_table import SettingTable
from tradewind.tuning.expectation import RELAXATION, Expectation
from tradewind.tuning.limits import Room

PATH = SimulatedPath()
EXPECTATION = Expectation(PATH.table(1e7).predicted)
settings = st.tuples(st.integers(1, 200), st.integers(1, 64), st.integers(1, 100))


def test_an_entry_is_what_the_table_says():
    for point, expected in EXPECTATION.entries.items():
        assert EXPECTATION.predict_performance(*point) == expected


@given(settings)
def test_between_and_beyond_entries_the_expectation_stays_within_the_table(setting):
    rates = [expected.throughput_bps for expected in EXPECTATION.entries.values()]
    watts = [expected.power_w for expected in EXPECTATION.entries.values()]
    found = EXPECTATION.predict_performance(*setting)
    assert min(rates) * (1 - 1e-9) <= found.throughput_bps <= max(rates) * (1 + 1e-9)
    assert min(watts) * (1 - 1e-9) <= found.power_w <= max(watts) * (1 + 1e-9)


@pytest.mark.parametrize("concurrency", [5, 10, 20, 40])
def test_between_settings_the_expectation_is_near_the_path(concurrency):
    true = PATH.throughput_bps(Parameters(concurrency=concurrency, parallelism=1, pipelining=1), 1e7)
    assert EXPECTATION.predict_performance(concurrency, 1, 1).throughput_bps == pytest.approx(true, rel=0.25)


@given(tables(), st.integers(1, 12), st.integers(1, 12))
def test_fastest_point_within_limits_is_fast_permitted_and_repeatable(table, channels, streams):
    expectation = Expectation(table)
    room = Room(channels=channels, parallelism=None, pipelining=None, streams=streams, files=1000)
    point = expectation.list_candidates(room).fastest.point
    assert room.allows(point)
    permitted = [expectation.entries[p].throughput_bps for p in expectation.chosen_from if room.allows(p)]
    assert expectation.predict_performance(*point).throughput_bps >= (1 - RELAXATION) * max(permitted, default=0.0)
    assert expectation.list_candidates(room).fastest.point == point


def test_more_files_than_a_table_can_use_make_no_difference():
    rooms = [Room(channels=n, parallelism=None, pipelining=None, streams=None, files=n) for n in (2000, 5000)]
    assert len({EXPECTATION.list_candidates(room).fastest.point for room in rooms}) == 1


def test_a_table_without_certified_settings_is_not_known_to_hold_here():
    settings = tuple(replace(setting, certified=False) for setting in PATH.table(1e7).predicted.settings)
    assert EXPECTATION.is_certified
    assert not Expectation(SettingTable(settings)).is_certified


def test_setting_without_log_support_is_not_chosen_however_fast_it_promises_to_be():
    known = PATH.table(1e7).predicted.settings
    promise = replace(
        known[0],
        parameters=Parameters(concurrency=64, parallelism=4, pipelining=1),
        log_throughput_mean=30.0,
        certified=False,
    )
    expectation = Expectation(SettingTable((*known, promise)))
    anywhere = Room(channels=1000, parallelism=None, pipelining=None, streams=None, files=10**6)
    assert expectation.list_candidates(anywhere).fastest == EXPECTATION.list_candidates(anywhere).fastest
    assert (64, 4, 1) not in expectation.list_points(anywhere)
    assert expectation.fastest_bps == EXPECTATION.fastest_bps
