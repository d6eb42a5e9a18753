"""Power meters on made-up sysfs trees and made-up counters, and sessions whose time the test controls."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tradewind.energy import EnergyMethod, EnergyQuality, Host
from tradewind.errors import InvalidTrace, InvalidValue
from tradewind_agent.meters import (
    BatteryMeter,
    CpuModelMeter,
    CpuWork,
    HostCounters,
    Meter,
    MeterResult,
    MeterSession,
    MeterUnavailable,
    RaplMeter,
    assumed_profile,
    calibrated_profile,
    choose_meter,
    measure_base_power,
    reprice,
    usage_between,
)
from tradewind_agent.meters.trace import EnergyTrace, PowerIntegral

RANGE_UJ = 262_143_328_850
START = HostCounters(at_s=100.0, logical_cpus=4, busy_cpu_s=1000.0, tree_cpu_s=50.0, memory=0.25)
PROFILE = calibrated_profile(10.0, 50.0, source="made up")


def later(seconds: float, cpu_s: float = 0.0, **changed: object) -> HostCounters:
    return replace(START, at_s=START.at_s + seconds, tree_cpu_s=START.tree_cpu_s + cpu_s, **changed)


def add_zone(sysfs: Path, zone: str, name: str, energy_uj: int, range_uj: int = RANGE_UJ) -> Path:
    folder = sysfs / "class" / "powercap" / zone
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "max_energy_range_uj").write_text(f"{range_uj}\n")
    (folder / "energy_uj").write_text(f"{energy_uj}\n")
    return folder / "energy_uj"


def add_battery(sysfs: Path, name: str = "BAT0", **says: object) -> Path:
    folder = sysfs / "class" / "power_supply" / name
    folder.mkdir(parents=True)
    for file, text in {"type": "Battery", "status": "Discharging", **says}.items():
        (folder / file).write_text(f"{text}\n")
    return folder


# RAPL


def test_packages_and_memory_are_summed_and_their_parts_left_out(tmp_path: Path):
    package = add_zone(tmp_path, "intel-rapl:0", "package-0", 1_000_000)
    core = add_zone(tmp_path, "intel-rapl:0:0", "core", 500_000)
    dram = add_zone(tmp_path, "intel-rapl:0:1", "dram", 7_000_000)
    other = add_zone(tmp_path, "intel-rapl:1", "package-1", 0)
    add_zone(tmp_path, "intel-rapl:2", "psys", 0)
    meter = RaplMeter(tmp_path)
    assert meter.energy_j(START) == 0
    for path, now_uj in ((package, 3_500_000), (core, 9_000_000), (dram, 7_250_000), (other, 1_000_000)):
        path.write_text(str(now_uj))
    assert meter.energy_j(START) == pytest.approx(2.5 + 0.25 + 1.0)
    assert "package-0, dram, package-1" in meter.description


def test_a_counter_that_wraps_around_goes_on_counting(tmp_path: Path):
    counter = add_zone(tmp_path, "intel-rapl:0", "package-0", RANGE_UJ - 999_999)
    meter = RaplMeter(tmp_path)
    counter.write_text("1000000")
    assert meter.energy_j(START) == pytest.approx(2.0)
    counter.write_text(str(RANGE_UJ))
    assert meter.energy_j(START) == pytest.approx(2.0 + (RANGE_UJ - 1_000_000) / 1e6)
    counter.write_text("0")
    assert meter.energy_j(START) == pytest.approx((999_999 + RANGE_UJ + 2) / 1e6, rel=1e-9)


def test_without_zones_the_reason_is_told(tmp_path: Path):
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


# Battery


def test_a_discharging_battery_is_integrated_over_irregular_samples(tmp_path: Path):
    battery = add_battery(tmp_path, power_now=10_000_000)
    meter = BatteryMeter(tmp_path)
    assert meter.energy_j(later(0)) == 0
    for seconds, watts in ((1, 20), (4, 20), (4.5, 0)):
        (battery / "power_now").write_text(str(watts * 1_000_000))
        energy_j = meter.energy_j(later(seconds))
    assert energy_j == pytest.approx(15 + 60 + 5)


def test_current_and_voltage_stand_for_power(tmp_path: Path):
    add_battery(tmp_path, current_now=-2_000_000, voltage_now=12_000_000)
    meter = BatteryMeter(tmp_path)
    meter.energy_j(later(0))
    assert meter.energy_j(later(2)) == pytest.approx(48)


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ({"status": "Charging", "power_now": 1}, "runs on mains"),
        ({"type": "Mains"}, "has no battery"),
        ({"type": "UPS"}, "has no battery"),
        ({}, "tells neither power_now"),
    ],
)
def test_a_battery_that_tells_nothing_is_refused(tmp_path: Path, says: dict[str, object], reason: str):
    add_battery(tmp_path, **says)
    with pytest.raises(MeterUnavailable, match=reason):
        BatteryMeter(tmp_path)


# CPU model


def test_the_model_prices_time_at_idle_and_cpu_time_above():
    meter = CpuModelMeter(PROFILE)
    assert meter.energy_j(later(10, cpu_s=8)) - meter.energy_j(START) == pytest.approx(10 * 10 + 40 * 8 / 4)
    assert meter.base_w == 10.0


def test_assumed_coefficients_say_where_they_come_from():
    profile = assumed_profile(8)
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
    assert "idle × 0.5, dynamic × 1.5" in PROFILE.scaled(idle=0.5, dynamic=1.5).source


@pytest.mark.parametrize(("idle_w", "max_w", "field"), [(-1.0, 5.0, "idle_w"), (5.0, 4.0, "max_w")])
def test_impossible_profiles_are_refused(idle_w: float, max_w: float, field: str):
    with pytest.raises(InvalidValue, match=field):
        calibrated_profile(idle_w, max_w, source="made up")


# Choice


def test_the_best_readable_meter_is_chosen_and_each_refusal_explained(tmp_path: Path):
    choice = choose_meter(logical_cpus=4, sysfs=tmp_path)
    assert (choice.meter.method, choice.meter.quality) == (EnergyMethod.CPU_MODEL, EnergyQuality.ASSUMED)
    assert [method for method, _ in choice.refusals] == [EnergyMethod.RAPL, EnergyMethod.BATTERY]
    assert choice.explanation.startswith("cpu_model (assumed): CPU model, 2.96 W idle")
    assert "no rapl:" in choice.explanation
    assert "no battery:" in choice.explanation

    add_battery(tmp_path, power_now=1)
    choice = choose_meter(logical_cpus=4, sysfs=tmp_path)
    assert (choice.meter.method, len(choice.refusals)) == (EnergyMethod.BATTERY, 1)

    add_zone(tmp_path, "intel-rapl:0", "package-0", 1)
    choice = choose_meter(logical_cpus=4, sysfs=tmp_path)
    assert (choice.meter.method, choice.refusals) == (EnergyMethod.RAPL, ())
    assert choice.explanation.startswith("rapl (measured): RAPL counters of package-0")


def test_given_coefficients_make_the_model_calibrated(tmp_path: Path):
    assert choose_meter(logical_cpus=4, profile=PROFILE, sysfs=tmp_path).meter.quality is EnergyQuality.CALIBRATED


# Utilisation


def test_utilisation_is_the_share_of_what_there_is():
    earlier = replace(START, disk_busy_s={"a": 5.0, "b": 0.0}, sent_bytes={"e": 0}, received_bytes={"e": 0})
    after = later(
        10,
        busy_cpu_s=1020.0,
        memory=0.75,
        disk_busy_s={"a": 7.0, "b": 4.0, "new": 100.0},
        sent_bytes={"e": 1e8, "lo": 1e9},
        received_bytes={"e": 5e8},
        nic_speed_bps={"e": 1e9},
    )
    usage = usage_between(earlier, after)
    assert (usage.cpu, usage.memory, usage.disk, usage.nic) == pytest.approx((0.5, 0.5, 0.4, 0.4))


def test_what_cannot_be_told_is_unknown_not_zero():
    usage = usage_between(START, later(1))
    assert (usage.cpu, usage.disk, usage.nic) == (0.0, None, None)
    assert usage_between(START, START).cpu is None


def test_rounding_of_clocks_does_not_carry_a_share_beyond_one():
    assert usage_between(START, later(1, busy_cpu_s=1004.2)).cpu == 1.0
    assert usage_between(START, later(1, busy_cpu_s=999.99)).cpu == 0.0


# Traces


def test_trapezoids_over_irregular_samples():
    integral = PowerIntegral()
    for at_s, power_w in ((0.0, 10.0), (0.5, 10.0), (3.5, 40.0), (4.0, 0.0)):
        integral.add(at_s, power_w)
    assert integral.energy_j == pytest.approx(5 + 75 + 10)
    with pytest.raises(InvalidTrace):
        integral.add(4.0, 1.0)


def test_a_reading_splits_the_total_into_base_and_dynamic():
    trace = EnergyTrace()
    for at_s, energy_j in ((0.0, 100.0), (1.0, 130.0), (5.0, 200.0), (5.0, 999.0)):
        trace.add(at_s, energy_j)
    reading = trace.reading(CpuModelMeter(PROFILE), Host.SOURCE, base_w=25.0)
    assert (reading.total_j, reading.dynamic_j, reading.base_w) == pytest.approx((100.0, -25.0, 25.0))
    assert trace.reading(CpuModelMeter(PROFILE), Host.SOURCE, base_w=None).dynamic_j is None
    assert trace.power_w() == [(1.0, 30.0), (5.0, 17.5)]
    assert trace.latest_power_w == 17.5


# Sessions


class Scene:
    """Counters and time that the test moves."""

    def __init__(self, meter: Meter) -> None:
        self.now = START
        self.meter = meter
        self._ticks: asyncio.Queue[None] = asyncio.Queue()
        self._idle = asyncio.Event()
        self.session: MeterSession

    async def wait(self, _seconds: float) -> None:
        self._idle.set()
        await self._ticks.get()

    async def begin(self, **options: float | None) -> None:
        self.session = MeterSession(self.meter, lambda: self.now, host=Host.DESTINATION, wait=self.wait, **options)
        await self.session.start()

    async def tick(self, now: HostCounters) -> None:
        """Let the session take one sample of ``now``."""
        await self._idle.wait()
        self._idle.clear()
        self.now = now
        self._ticks.put_nowait(None)
        await self._idle.wait()


def run(meter: Meter, steps: list[HostCounters], last: HostCounters, **options: float | None) -> MeterResult:
    async def main() -> MeterResult:
        scene = Scene(meter)
        await scene.begin(**options)
        for step in steps:
            await scene.tick(step)
        scene.now = last
        return await scene.session.stop()

    return asyncio.run(main())


def test_a_session_gives_energy_and_mean_usage():
    steps = [later(1, cpu_s=2, busy_cpu_s=1003.0, memory=0.5), later(4, cpu_s=2, busy_cpu_s=1003.0, memory=0.5)]
    result = run(CpuModelMeter(PROFILE), steps, later(5, cpu_s=6, busy_cpu_s=1010.0, memory=0.75))
    assert result.energy is not None
    assert (result.energy.host, result.energy.method) == (Host.DESTINATION, EnergyMethod.CPU_MODEL)
    assert (result.energy.total_j, result.energy.dynamic_j) == pytest.approx((110.0, 60.0))
    assert (result.usage.cpu, result.usage.memory) == pytest.approx((0.5, (0.375 + 1.5 + 0.625) / 5))
    assert (result.work, result.samples) == (CpuWork(duration_s=5.0, cpu_s=6.0, logical_cpus=4), 4)
    again = reprice(result.work, PROFILE, host=Host.DESTINATION)
    assert again.total_j == pytest.approx(result.energy.total_j)


def test_the_live_sample_is_of_the_last_interval():
    async def main() -> None:
        scene = Scene(CpuModelMeter(PROFILE))
        await scene.begin()
        assert scene.session.latest() is None
        await scene.tick(later(1, cpu_s=4, busy_cpu_s=1004.0))
        await scene.tick(later(3, cpu_s=4, busy_cpu_s=1004.0))
        live = scene.session.latest()
        assert live is not None
        assert (live.power_w, live.usage.cpu) == pytest.approx((10.0, 0.0))
        assert (live.method, live.quality) == (EnergyMethod.CPU_MODEL, EnergyQuality.CALIBRATED)
        await scene.session.stop()

    asyncio.run(main())


@pytest.mark.parametrize(("base_w", "dynamic_j"), [(20.0, 20.0), (None, None)])
def test_a_measured_counter_has_a_dynamic_part_only_with_a_base(
    tmp_path: Path, base_w: float | None, dynamic_j: float | None
):
    counter = add_zone(tmp_path, "intel-rapl:0", "package-0", 0)

    async def main() -> MeterResult:
        scene = Scene(RaplMeter(tmp_path))
        await scene.begin(base_w=base_w)
        counter.write_text("60000000")
        scene.now = later(2)
        return await scene.session.stop()

    energy = asyncio.run(main()).energy
    assert energy is not None
    assert (energy.total_j, energy.dynamic_j) == (pytest.approx(60.0), dynamic_j)
    assert (energy.method, energy.quality) == (EnergyMethod.RAPL, EnergyQuality.MEASURED)


def test_a_meter_that_fails_half_way_gives_no_figure_but_its_reason(tmp_path: Path):
    battery = add_battery(tmp_path, power_now=1_000_000)

    async def main() -> MeterResult:
        scene = Scene(BatteryMeter(tmp_path))
        await scene.begin()
        await scene.tick(later(1))
        (battery / "status").write_text("Charging\n")
        await scene.tick(later(2, busy_cpu_s=1008.0))
        live = scene.session.latest()
        assert live is not None
        assert live.power_w is None
        scene.now = later(4, busy_cpu_s=1008.0)
        return await scene.session.stop()

    result = asyncio.run(main())
    assert result.energy is None
    assert result.failure is not None
    assert "runs on mains" in result.failure
    assert result.usage.cpu == pytest.approx(0.5)


def test_a_session_of_no_duration_measures_nothing():
    result = run(CpuModelMeter(PROFILE), [], START)
    assert result.energy is None
    assert result.failure == "time_s: needs at least two samples"


def test_base_power_is_measured_where_the_meter_does_not_know_it(tmp_path: Path):
    add_battery(tmp_path, power_now=7_000_000)
    times = iter(range(10))

    async def wait(_seconds: float) -> None:
        await asyncio.sleep(0)

    read: Callable[[], HostCounters] = lambda: later(next(times))  # noqa: E731 - a counter of calls
    assert asyncio.run(measure_base_power(BatteryMeter(tmp_path), read, wait=wait)) == pytest.approx(7.0)
    assert asyncio.run(measure_base_power(CpuModelMeter(PROFILE), read)) == 10.0
