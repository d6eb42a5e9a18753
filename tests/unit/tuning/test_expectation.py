from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.lattices import tables
from tests.unit.tuning.simulated_path import SimulatedPath
from tradewind.parameters import Parameters
from tradewind.selection import SettingTable
from tradewind.tuning.expectation import Expectation

PATH = SimulatedPath()
EXPECTATION = Expectation(PATH.table(1e7).predicted)
settings = st.tuples(st.integers(1, 200), st.integers(1, 64), st.integers(1, 100))


def test_an_entry_is_what_the_table_says():
    for point, expected in EXPECTATION.entries.items():
        assert EXPECTATION.at(*point) == expected


@given(settings)
def test_between_and_beyond_entries_the_expectation_stays_within_the_table(setting):
    rates = [expected.throughput_bps for expected in EXPECTATION.entries.values()]
    watts = [expected.power_w for expected in EXPECTATION.entries.values()]
    found = EXPECTATION.at(*setting)
    assert min(rates) * (1 - 1e-9) <= found.throughput_bps <= max(rates) * (1 + 1e-9)
    assert min(watts) * (1 - 1e-9) <= found.power_w <= max(watts) * (1 + 1e-9)


@pytest.mark.parametrize("concurrency", [5, 10, 20, 40])
def test_between_settings_the_expectation_is_near_the_path(concurrency):
    true = PATH.throughput_bps(Parameters(concurrency=concurrency, parallelism=1, pipelining=1), 1e7)
    assert EXPECTATION.at(concurrency, 1, 1).throughput_bps == pytest.approx(true, rel=0.25)


@given(tables(powered=True))
def test_the_useful_entries_hold_the_fastest_and_the_cheapest(table):
    expectation = Expectation(table)
    useful = [expectation.entries[point] for point in expectation.useful]
    everything = list(expectation.entries.values())
    assert max(e.throughput_bps for e in useful) == max(e.throughput_bps for e in everything)
    assert min(e.power_w for e in useful) == min(e.power_w for e in everything)


def test_a_table_without_certified_settings_is_not_known_to_hold_here():
    settings = tuple(replace(setting, certified=False) for setting in PATH.table(1e7).predicted.settings)
    assert EXPECTATION.is_certified
    assert not Expectation(SettingTable(settings)).is_certified
