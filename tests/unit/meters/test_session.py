"""From samples to the energy of a transfer, in time that the test controls."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.meters.made_up import PROFILE, START, add_battery, add_zone, later
from tradewind.energy.measured import EnergyMethod, EnergyQuality, Host
from tradewind.errors import InvalidTrace
from tradewind_agent.meters import (
    BatteryMeter,
    CpuModelMeter,
    CpuWork,
    HostCounters,
    Meter,
    MeterResult,
    MeterSession,
    RaplMeter,
    measure_base_power,
    reprice,
)
from tradewind_agent.meters.trace import EnergyTrace, PowerIntegral


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
    reading = trace.build_reading(CpuModelMeter(PROFILE), Host.SOURCE, base_w=25.0)
    assert (reading.total_j, reading.dynamic_j, reading.base_w) == pytest.approx((100.0, -25.0, 25.0))
    assert trace.build_reading(CpuModelMeter(PROFILE), Host.SOURCE, base_w=None).dynamic_j is None
    assert trace.compute_power_w() == [(1.0, 30.0), (5.0, 17.5)]
    assert trace.compute_mean_power_w(0.0) == 17.5


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
        assert scene.session.find_latest() is None
        await scene.tick(later(1, cpu_s=4, busy_cpu_s=1004.0))
        await scene.tick(later(3, cpu_s=4, busy_cpu_s=1004.0))
        live = scene.session.find_latest()
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
        live = scene.session.find_latest()
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
