"""The benchmark of energy: what it chooses of a made-up set whose best settings are known."""

import numpy as np
import pytest

from benchmarks.energy.choices import FASTEST, FRACTION, HeldOutSet, has_resources, make_frugal_sla
from benchmarks.energy.made_up import LINE_BPS, make_set
from benchmarks.surfaces.sets import SurfaceSet
from tradewind.sla.kinds import EnergyBasis


@pytest.fixture(scope="module")
def surfaces() -> SurfaceSet:
    return make_set(3)


def test_frugal_settings_keep_most_of_the_throughput_for_less_energy(surfaces: SurfaceSet) -> None:
    held_out = HeldOutSet(surfaces, 0)
    _, fastest = held_out.choose(FASTEST)
    choice, frugal = held_out.choose(make_frugal_sla(EnergyBasis.DYNAMIC))
    assert choice.setting in held_out.table.settings
    assert fastest.throughput_bps > 0.5 * LINE_BPS
    assert frugal.dynamic_j < fastest.dynamic_j
    assert frugal.throughput_bps > 0.9 * FRACTION * fastest.throughput_bps


def test_baseline_chooses_among_the_same_rows(surfaces: SurfaceSet) -> None:
    fastest, frugal = HeldOutSet(surfaces, 0).choose_by_boosting(EnergyBasis.DYNAMIC)
    of_rows = surfaces.observations.throughput_bps
    assert fastest.throughput_bps in of_rows
    assert frugal.throughput_bps in of_rows
    assert frugal.dynamic_j <= fastest.dynamic_j


def test_dynamic_energy_is_what_lies_above_the_base_power(surfaces: SurfaceSet) -> None:
    above_w = surfaces.dynamic_energy_j * surfaces.observations.throughput_bps / (8 * surfaces.total_bytes)
    np.testing.assert_allclose(above_w, surfaces.observations.power_w - surfaces.base_power_w)
    assert has_resources(surfaces)
