"""The benchmark of energy: what it chooses of a made-up set whose best settings are known."""

import numpy as np
import pytest

from benchmarks.energy.choices import FASTEST, FRACTION, HeldOutSet, has_resources, make_frugal_sla
from benchmarks.energy.made_up import LINE_BPS, make_set
from benchmarks.surfaces.sets import SurfaceSet
from tradewind.sla.kinds import EnergyBasis

SEEDS = 5


@pytest.fixture(scope="module")
def surfaces() -> SurfaceSet:
    return make_set(3)


def test_frugal_settings_retain_most_of_the_throughput_for_less_energy(surfaces: SurfaceSet) -> None:
    pairs = []
    for seed in range(SEEDS):
        held_out = HeldOutSet(surfaces, seed)
        choice, frugal = held_out.choose(make_frugal_sla(EnergyBasis.DYNAMIC))
        assert choice.setting in held_out.table.settings
        pairs.append((held_out.choose(FASTEST)[1], frugal))
    assert sum(frugal.dynamic_j for _, frugal in pairs) < sum(fastest.dynamic_j for fastest, _ in pairs)
    fastest_bps, frugal_bps = (sum(each.throughput_bps for each in column) for column in zip(*pairs, strict=True))
    assert FRACTION * fastest_bps * 0.9 < frugal_bps < SEEDS * LINE_BPS


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
