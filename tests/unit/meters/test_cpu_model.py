"""The CPU model: energy from time and CPU time, and for other coefficients."""

from dataclasses import replace

import pytest

from tests.unit.meters.made_up import PROFILE, START, later
from tradewind.energy.measured import EnergyQuality, Host
from tradewind.errors import InvalidValue
from tradewind_agent.meters import CpuModelMeter, CpuWork, build_assumed_profile, build_calibrated_profile, reprice


def test_the_model_prices_time_at_idle_and_cpu_time_above():
    meter = CpuModelMeter(PROFILE)
    assert meter.read_energy_j(later(10, cpu_s=8)) - meter.read_energy_j(START) == pytest.approx(10 * 10 + 40 * 8 / 4)
    assert meter.base_w == 10.0


def test_model_of_the_entire_host_counts_the_load_of_all_processes():
    meter = CpuModelMeter(PROFILE, counts_all=True)
    busy = replace(later(10, cpu_s=8), busy_cpu_s=START.busy_cpu_s + 40)
    assert meter.read_energy_j(busy) - meter.read_energy_j(START) == pytest.approx(10 * 10 + 40 * 40 / 4)


def test_assumed_coefficients_say_where_they_come_from():
    profile = build_assumed_profile(8)
    assert (profile.idle_w, profile.max_w) == pytest.approx((5.92, 28.0))
    assert profile.quality is EnergyQuality.ASSUMED
    assert "SPECpower" in profile.source


def test_pricing_again_scales_idle_and_dynamic_apart():
    work = CpuWork(duration_s=10.0, cpu_s=8.0, logical_cpus=4)
    plain = reprice(work, PROFILE, host=Host.SOURCE)
    assert (plain.total_j, plain.dynamic_j, plain.base_w) == pytest.approx((180.0, 80.0, 10.0))
    half = reprice(work, PROFILE, host=Host.SOURCE, factor_idle=0.5, factor_dynamic=1.5)
    assert (half.total_j, half.dynamic_j, half.base_w) == pytest.approx((50.0 + 120.0, 120.0, 5.0))
    assert half.quality is EnergyQuality.CALIBRATED
    assert "idle × 0.5, dynamic × 1.5" in PROFILE.scale(idle=0.5, dynamic=1.5).source


@pytest.mark.parametrize(("idle_w", "max_w", "field"), [(-1.0, 5.0, "idle_w"), (5.0, 4.0, "max_w")])
def test_impossible_profiles_are_refused(idle_w: float, max_w: float, field: str):
    with pytest.raises(InvalidValue, match=field):
        build_calibrated_profile(idle_w, max_w, source="made up")
