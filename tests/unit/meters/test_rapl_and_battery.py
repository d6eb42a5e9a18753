"""Meters of hardware on made-up sysfs trees."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.meters.made_up import RANGE_UJ, START, add_battery, add_zone, later
from tradewind_agent.meters import BatteryMeter, MeterUnavailable, RaplMeter


def test_packages_and_memory_are_summed_and_their_parts_left_out(tmp_path: Path):
    package = add_zone(tmp_path, "intel-rapl:0", "package-0", 1_000_000)
    core = add_zone(tmp_path, "intel-rapl:0:0", "core", 500_000)
    dram = add_zone(tmp_path, "intel-rapl:0:1", "dram", 7_000_000)
    other = add_zone(tmp_path, "intel-rapl:1", "package-1", 0)
    add_zone(tmp_path, "intel-rapl:2", "psys", 0)
    meter = RaplMeter(tmp_path)
    assert meter.read_energy_j(START) == 0
    for path, now_uj in ((package, 3_500_000), (core, 9_000_000), (dram, 7_250_000), (other, 1_000_000)):
        path.write_text(str(now_uj))
    assert meter.read_energy_j(START) == pytest.approx(2.5 + 0.25 + 1.0)
    assert "package-0, dram, package-1" in meter.description


def test_a_counter_that_wraps_around_goes_on_counting(tmp_path: Path):
    counter = add_zone(tmp_path, "intel-rapl:0", "package-0", RANGE_UJ - 999_999)
    meter = RaplMeter(tmp_path)
    counter.write_text("1000000")
    assert meter.read_energy_j(START) == pytest.approx(2.0)
    counter.write_text(str(RANGE_UJ))
    assert meter.read_energy_j(START) == pytest.approx(2.0 + (RANGE_UJ - 1_000_000) / 1e6)
    counter.write_text("0")
    assert meter.read_energy_j(START) == pytest.approx((999_999 + RANGE_UJ + 2) / 1e6, rel=1e-9)


def test_without_zones_the_reason_is_reported(tmp_path: Path):
    with pytest.raises(MeterUnavailable, match="no intel-rapl zones"):
        RaplMeter(tmp_path)
    add_zone(tmp_path, "intel-rapl:0", "psys", 0)
    with pytest.raises(MeterUnavailable, match="no package zone, only psys"):
        RaplMeter(tmp_path)


@pytest.fixture
def nobody() -> Iterator[None]:
    """Root may read anything: give that up for a while."""
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(65534)
    yield
    if was_root:
        os.seteuid(0)


@pytest.fixture
def locked_sysfs() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        add_zone(Path(folder), "intel-rapl:0", "package-0", 5).chmod(0)
        yield Path(folder)


@pytest.mark.usefixtures("nobody")
def test_a_counter_that_may_not_be_read_is_named(locked_sysfs: Path):
    with pytest.raises(MeterUnavailable, match=r"energy_uj may be read by root alone"):
        RaplMeter(locked_sysfs)


def test_a_counter_that_is_no_number_is_named(tmp_path: Path):
    add_zone(tmp_path, "intel-rapl:0", "package-0", 5).write_text("-\n")
    with pytest.raises(MeterUnavailable, match="'-', which is no count"):
        RaplMeter(tmp_path)


def test_a_discharging_battery_is_integrated_over_irregular_samples(tmp_path: Path):
    battery = add_battery(tmp_path, power_now=10_000_000)
    meter = BatteryMeter(tmp_path)
    assert meter.read_energy_j(later(0)) == 0
    for seconds, watts in ((1, 20), (4, 20), (4.5, 0)):
        (battery / "power_now").write_text(str(watts * 1_000_000))
        energy_j = meter.read_energy_j(later(seconds))
    assert energy_j == pytest.approx(15 + 60 + 5)


def test_current_and_voltage_stand_for_power(tmp_path: Path):
    add_battery(tmp_path, current_now=-2_000_000, voltage_now=12_000_000)
    meter = BatteryMeter(tmp_path)
    meter.read_energy_j(later(0))
    assert meter.read_energy_j(later(2)) == pytest.approx(48)


def test_the_battery_of_a_mouse_is_none_of_the_device(tmp_path: Path):
    add_battery(tmp_path, name="hidpp_battery_0", scope="Device", power_now=100_000)
    with pytest.raises(MeterUnavailable, match="has no battery"):
        BatteryMeter(tmp_path)
    add_battery(tmp_path, power_now=10_000_000, scope="System")
    meter = BatteryMeter(tmp_path)
    meter.read_energy_j(later(0))
    assert meter.read_energy_j(later(2)) == pytest.approx(20)
    assert "discharge of BAT0:" in meter.description


def test_a_battery_that_reports_no_power_is_left_out_next_to_one_that_does(tmp_path: Path):
    add_battery(tmp_path, power_now=10_000_000)
    add_battery(tmp_path, name="BAT1", capacity=80)
    meter = BatteryMeter(tmp_path)
    meter.read_energy_j(later(0))
    assert meter.read_energy_j(later(2)) == pytest.approx(20)
    assert "discharge of BAT0:" in meter.description


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ({"status": "Charging", "power_now": 1}, "runs on mains"),
        ({"type": "Mains"}, "has no battery"),
        ({"type": "UPS"}, "has no battery"),
        ({"scope": "Device", "power_now": 1}, "has no battery"),
        ({}, "has neither power_now"),
    ],
)
def test_a_battery_that_reports_nothing_is_refused(tmp_path: Path, says: dict[str, object], reason: str):
    add_battery(tmp_path, **says)
    with pytest.raises(MeterUnavailable, match=reason):
        BatteryMeter(tmp_path)


def test_counter_that_is_set_back_falls_and_does_not_seem_to_wrap(tmp_path: Path):
    """Of 5 kJ before the end of its range no socket takes all within half a second."""
    counter = add_zone(tmp_path, "intel-rapl:0", "package-0", RANGE_UJ - 5_000_000_000)
    meter = RaplMeter(tmp_path)
    before_j = meter.read_energy_j(later(0))
    counter.write_text("1000000")
    assert meter.read_energy_j(later(0.5)) < before_j
    counter.write_text("26000000")
    fallen_j = meter.read_energy_j(later(1))
    counter.write_text("51000000")
    assert meter.read_energy_j(later(1.5)) - fallen_j == pytest.approx(25)


def test_memory_without_its_package_and_a_package_that_is_there_twice_are_refused(tmp_path: Path):
    add_zone(tmp_path, "intel-rapl:0:0", "dram", 0)
    with pytest.raises(MeterUnavailable, match="no package zone, only dram"):
        RaplMeter(tmp_path)
    add_zone(tmp_path, "intel-rapl:0", "package-0", 0)
    assert RaplMeter(tmp_path).read_energy_j(START) == 0
    add_zone(tmp_path, "intel-rapl:1", "package-0", 0)
    with pytest.raises(MeterUnavailable, match="a package twice"):
        RaplMeter(tmp_path)


def test_text_that_is_not_ascii_is_no_counter_and_no_battery(tmp_path: Path):
    add_zone(tmp_path, "intel-rapl:0", "package-0", 0).write_bytes(b"\xff\n")
    add_battery(tmp_path, status="Entl\u00e4dt", power_now=1)
    with pytest.raises(MeterUnavailable, match="no count of microjoules"):
        RaplMeter(tmp_path)
    with pytest.raises(MeterUnavailable, match="runs on mains"):
        BatteryMeter(tmp_path)


@pytest.mark.parametrize(
    ("charger", "reason"),
    [
        ({"type": "Mains", "online": 1}, "AC feeds the device next to its battery"),
        ({"type": "USB", "online": 2}, "AC feeds the device"),
        ({"type": "Mains", "online": 0}, None),
        ({"type": "USB"}, None),
        ({"type": "USB", "online": 1, "scope": "Device"}, None),
        ({"type": "Battery", "status": "Charging", "power_now": 5}, "a battery of the device is charging"),
        ({"type": "Battery", "status": "Not charging", "power_now": 0}, None),
    ],
)
def test_battery_next_to_a_charger_gives_only_a_part_of_the_power(
    tmp_path: Path, charger: dict[str, object], reason: str | None
):
    add_battery(tmp_path, power_now=10_000_000)
    meter = BatteryMeter(tmp_path)
    add_battery(tmp_path, name="AC", **charger)
    if reason is None:
        meter = BatteryMeter(tmp_path)
        meter.read_energy_j(later(0))
        assert meter.read_energy_j(later(40)) == pytest.approx(400)
        return
    with pytest.raises(MeterUnavailable, match=reason):
        BatteryMeter(tmp_path)
    if charger["type"] != "Battery":
        with pytest.raises(MeterUnavailable, match=reason):
            meter.read_energy_j(later(0))
