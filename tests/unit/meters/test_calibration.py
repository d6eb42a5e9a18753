"""The ladder and its fit on synthetic power: what was put in comes out again, which says nothing of a real meter."""

import errno
import json
import os
import time
from contextlib import contextmanager
from dataclasses import asdict, replace

import pytest
import typer

from tests.unit.meters.made_up import START, add_battery, later
from tradewind.energy.measured import EnergyMethod, EnergyQuality
from tradewind.energy.power_model import FineModel
from tradewind.errors import CannotFit, InvalidTrace, InvalidValue
from tradewind.mobile.profiles import ValueOrigin
from tradewind_agent.cli.commands.meter_calibrate import CalibrationOptions, calibrate_host
from tradewind_agent.cli.meter_trace import TraceOptions
from tradewind_agent.cli.terminal import Terminal
from tradewind_agent.errors import CalibrationUnusable
from tradewind_agent.folders import build_state_folder
from tradewind_agent.meters import (
    BatteryMeter,
    CalibratedMeter,
    CpuModelMeter,
    HostReader,
    MeterChoice,
    build_assumed_profile,
    choose_meter,
)
from tradewind_agent.meters.calibration import add_trace, calibrate
from tradewind_agent.meters.ladder import build_host_loads, climb
from tradewind_agent.meters.power_trace import PowerTrace
from tradewind_agent.meters.stored_models import FILE, load_calibrated_meter, load_calibration, store_calibration
from tradewind_agent.session.metering import HostMeter

IDLE_W, CPU_W, DISK_W = 10.0, 30.0, 5.0


class Scene:
    """A host whose counters grow as it is loaded, and whose power is known; others use its network now and then."""

    def __init__(self):
        self.counters = replace(START, disk_busy_s={"sda": 0.0}, sent_bytes={"eth0": 0.0}, nic_speed_bps={"eth0": 8e6})
        self.meter = lambda _: self.energy_j
        self.loads = {"cpu": 0.0, "disk": 0.0}
        self.energy_j = 0.0

    def load(self, name):
        @contextmanager
        def loaded(share):
            self.loads[name] = share
            yield
            self.loads[name] = 0.0

        return loaded

    def wait(self, seconds):
        now = self.counters
        self.energy_j += seconds * (IDLE_W + CPU_W * self.loads["cpu"] + DISK_W * self.loads["disk"])
        self.counters = replace(
            now,
            at_s=now.at_s + seconds,
            busy_cpu_s=now.busy_cpu_s + seconds * self.loads["cpu"] * now.logical_cpus,
            disk_busy_s={"sda": now.disk_busy_s["sda"] + seconds * self.loads["disk"]},
            sent_bytes={"eth0": now.sent_bytes["eth0"] + seconds * 1e6 * (now.at_s % 10) / 10},
        )

    def climb(self, *, metered=True, step_s=2.0):
        return climb(
            {name: self.load(name) for name in self.loads},
            read=lambda: self.counters,
            energy_j=self.meter if metered else None,
            step_s=step_s,
            wait=self.wait,
            clock_s=lambda: self.counters.at_s,
        )


def test_the_ladder_recovers_what_was_put_into_a_synthetic_host(tmp_path):
    found = calibrate(Scene().climb(), method=EnergyMethod.BATTERY, source="synthetic")
    assert found.idle_w == pytest.approx(IDLE_W, abs=0.05)
    assert found.component_w == pytest.approx({"cpu": CPU_W, "disk": DISK_W}, abs=0.1)
    assert found.fine_error < 0.01
    assert found.source == "synthetic, 10 steps"
    assert (found.covers, found.not_measured) == ("the whole host", ("memory", "network", "radio"))
    profile = found.build_device_profile("Acme", "One").to_profile("one", {})
    assert profile.component_w["cpu"].origin is ValueOrigin.CALIBRATED
    assert "cross-validated error" in profile.idle_w.source


def test_next_to_rapl_a_profile_is_of_the_sockets_alone_and_reports_no_disk():
    found = calibrate(Scene().climb(), method=EnergyMethod.RAPL, source="synthetic")
    profile = found.build_device_profile("Acme", "One")
    assert set(profile.component_w) == {"cpu"}
    assert profile.facts["covers"].startswith("sockets only")
    assert profile.facts["not_measured"] == "disk, memory, network, radio"
    assert found.component_w["disk"] == pytest.approx(DISK_W, abs=0.1)  # the sockets' part, for later transfers


def test_a_disk_that_nobody_can_see_at_work_is_configured_not_to_be_measured():
    on_tmpfs = [replace(step, usage={"cpu": step.usage["cpu"]}) for step in Scene().climb()]
    found = calibrate(on_tmpfs, method=EnergyMethod.METER, source="synthetic")
    assert found.not_measured == ("disk", "memory", "network", "radio")
    assert found.build_device_profile("Acme", "One").facts["not_measured"] == "disk, memory, network, radio"


@pytest.mark.parametrize(("power_w", "spread_w"), [(5.5, 0.0), (7.7, 0.0), (5.5, 0.2)])
def test_a_power_that_does_not_follow_the_load_is_that_of_something_else(power_w, spread_w):
    others = [
        replace(step, power_w=power_w + spread_w * (-1) ** (step.number * step.number // 3)) for step in Scene().climb()
    ]
    with pytest.raises(CannotFit, match="does not follow the load; see that the meter is this host's"):
        calibrate(others, method=EnergyMethod.METER, source="synthetic")


def test_unmeasured_components_are_in_the_closing_line_and_the_document(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    found = calibrate(Scene().climb(), method=EnergyMethod.RAPL, source="synthetic")
    folder = build_state_folder(os.environ)
    store_calibration(found, folder)
    wish = CalibrationOptions(afresh=False, step_s=None, upload_as=None)
    host = HostMeter(MeterChoice(CpuModelMeter(build_assumed_profile(4)), ()), HostReader(lambda: 0.0))
    calibrate_host(Terminal(), host, wish, None)
    assert "sockets only" in (line := capsys.readouterr().out)
    assert "not measured: disk, memory, network, radio" in line
    assert f"disk {DISK_W:.0f}" not in line
    calibrate_host(Terminal(json=True), host, wish, None)
    message = json.loads(capsys.readouterr().out)
    assert (set(message["component_w"]), message["not_measured"][0]) == ({"cpu"}, "disk")


def test_steps_take_their_power_from_a_trace_recorded_meanwhile():
    scene = Scene()
    steps = scene.climb(metered=False)
    end_s = scene.counters.at_s
    measured = add_trace(steps, PowerTrace((START.at_s, end_s), (7.0, 7.0), ()))
    assert {step.power_w for step in measured} == {7.0}
    with pytest.raises(InvalidTrace, match="with that clock"):
        add_trace(steps, PowerTrace((0.0, 20.0), (7.0, 7.0), ()))


def test_a_device_that_is_plugged_in_meanwhile_ends_the_ladder_with_what_to_do(tmp_path):
    battery = add_battery(tmp_path, power_now=10_000_000)
    scene, meter = Scene(), BatteryMeter(tmp_path)

    def plugged_in_during_the_third_step(counters):
        if counters.at_s - START.at_s > 5:
            (battery / "status").write_text("Charging\n")
        return meter.read_energy_j(counters)

    scene.meter = plugged_in_during_the_third_step
    with pytest.raises(CannotFit, match=r"step 3 of 10: .*runs on mains.*calibrate again"):
        scene.climb()


def test_a_component_that_cannot_be_loaded_ends_the_ladder_with_the_reason():
    scene = Scene()

    @contextmanager
    def full(_share):
        yield
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    scene.load = lambda _: full
    with pytest.raises(CannotFit, match=r"step 1 of 10: (cpu|disk) could not be loaded: .*No space left"):
        scene.climb()


def test_a_load_that_fails_while_it_runs_is_no_idle_one(monkeypatch, tmp_path):
    def refuse(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fdatasync", refuse)
    with pytest.raises(OSError, match="No space left"), build_host_loads(1, tmp_path)["disk"](1.0):
        time.sleep(0.05)


def test_a_meter_that_says_nothing_all_the_while_is_reported():
    steps = [replace(step, power_w=0.0) for step in Scene().climb()]
    with pytest.raises(InvalidValue, match="0 W in every sample"):
        calibrate(steps, method=EnergyMethod.METER, source="synthetic")


def test_stored_models_meter_the_entire_host_until_a_profile_is_given(tmp_path):
    of_an_older_version = {"idle_w": 10, "component_w": {"cpu": 30.0, "disk": 5.0}, "source": "made up"}
    (tmp_path / FILE).write_text(json.dumps(of_an_older_version))
    with pytest.raises(CalibrationUnusable, match="older version"):
        load_calibration(tmp_path)
    meter = load_calibrated_meter(tmp_path)
    begun_j = meter.read_energy_j(replace(START, disk_busy_s={"sda": 0.0}))
    half_of_four_cpus = later(2, busy_cpu_s=START.busy_cpu_s + 4.0, disk_busy_s={"sda": 1.0})
    assert meter.read_energy_j(half_of_four_cpus) - begun_j == pytest.approx(2 * 10 + 30 * 1 + 5 * 1)
    chosen = choose_meter(logical_cpus=4, calibrated=meter, sysfs=tmp_path).meter
    assert (chosen.method, chosen.quality) == (EnergyMethod.FINE_MODEL, EnergyQuality.CALIBRATED)
    given = choose_meter(logical_cpus=4, profile=build_assumed_profile(4), calibrated=meter, sysfs=tmp_path).meter
    assert given.method is EnergyMethod.CPU_MODEL


def test_a_host_whose_power_bends_is_metered_by_the_cpu_only_model_that_follows_it(tmp_path):
    scene = Scene()
    at_its_limit = [replace(each, power_w=IDLE_W + min(30.0, 60 * each.usage["cpu"])) for each in scene.climb()]
    found = calibrate(at_its_limit, method=EnergyMethod.METER, source="synthetic")
    assert (found.cpu_form, found.meter_by) == ("plateau", "cpu_model")
    assert found.cpu_error < 0.02 < 0.2 < found.fine_error
    store_calibration(found, tmp_path)
    assert json.loads(json.dumps(asdict(load_calibration(tmp_path)))) == json.loads(json.dumps(asdict(found)))
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / FILE).write_text(json.dumps(asdict(found) | {"idle_w": None}))
    with pytest.raises(CalibrationUnusable, match="is damaged"):
        load_calibration(tmp_path / "damaged")
    meter = load_calibrated_meter(tmp_path)
    assert (meter.method, meter.quality) == (EnergyMethod.CPU_MODEL, EnergyQuality.CALIBRATED)
    assert "a plateau, 10 W idle and 40 W busy" in meter.description
    begun_j = meter.read_energy_j(START)
    three_of_four_cpus = later(2, busy_cpu_s=START.busy_cpu_s + 6.0)
    assert meter.read_energy_j(three_of_four_cpus) - begun_j == pytest.approx(2 * 40, rel=0.01)


def test_a_battery_is_read_all_through_a_step_as_its_gauge_reports_the_moment(tmp_path):
    battery = add_battery(tmp_path, power_now=10_000_000)
    scene, meter = Scene(), BatteryMeter(tmp_path)

    def peak_amid_the_step(counters):
        amid = 0.6 < (counters.at_s - START.at_s) % 8.0 / 8.0 < 0.7
        (battery / "power_now").write_text(f"{30_000_000 if amid else 10_000_000}\n")
        return meter.read_energy_j(counters)

    scene.meter = peak_amid_the_step
    told_w = [step.power_w for step in scene.climb(step_s=8.0)]
    assert told_w == pytest.approx([10 + 20 / 6] * len(told_w), abs=0.01)


def test_the_disk_that_works_counts_whatever_others_did_since_boot():
    meter = CalibratedMeter(FineModel(0.0, {"disk": 8.0}), "made up")
    begun_j = meter.read_energy_j(later(0, disk_busy_s={"sda": 1000.0, "sdb": 5.0}))
    assert meter.read_energy_j(later(60, disk_busy_s={"sda": 1000.0, "sdb": 65.0})) - begun_j == pytest.approx(480)


def test_energy_never_goes_back_when_a_disk_or_a_processor_goes():
    meter = CalibratedMeter(FineModel(1.0, {"cpu": 20.0, "disk": 8.0}), "made up")
    readings = [
        later(0, disk_busy_s={"sda": 1000.0, "sdb": 5.0}),
        later(1, disk_busy_s={"sdb": 6.0}),
        later(2, disk_busy_s={"sda": 0.0, "sdb": 6.0}),
        later(3, disk_busy_s={"sda": 0.5, "sdb": 6.0}, logical_cpus=2),
        later(3, disk_busy_s={"sda": 0.0, "sdb": 6.0}),
    ]
    energy_j = [meter.read_energy_j(reading) for reading in readings]
    assert [after - energy_j[0] for after in energy_j] == pytest.approx([0, 9, 10, 15, 15])


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{}", json.dumps({"idle_w": "x", "component_w": {}, "source": ""})),
        json.dumps({"meter_by": "cpu_model", "cpu_form": "line", "cpu_knots": [[0, 1]], "source": ""}),
        json.dumps({"meter_by": "cpu_model", "cpu_form": "wave", "cpu_knots": [[0, 1], [1, 2]], "source": ""}),
    ],
)
def test_damaged_models_say_what_to_do(tmp_path, content):
    assert load_calibrated_meter(tmp_path) is None
    (tmp_path / "power_models.json").write_text(content)
    with pytest.raises(CalibrationUnusable, match="--calibrate"):
        load_calibrated_meter(tmp_path)


def test_without_a_measured_power_nothing_is_calibrated():
    meter = MeterChoice(CpuModelMeter(build_assumed_profile(4)), ((EnergyMethod.RAPL, "no zones"),))
    host = HostMeter(meter, HostReader(lambda: 0.0))
    with pytest.raises(typer.BadParameter, match=r"needs a measured power.*no rapl: no zones.*--trace"):
        calibrate_host(Terminal(), host, CalibrationOptions(afresh=True, step_s=1.0, upload_as=None), None)


class LadderStartedError(Exception):
    """The host was read for its first step."""


def calibrate_by_trace(trace, content):
    """By a trace that is so when the ladder is to begin; ``{now}`` in seconds, ``{ms}`` in milliseconds."""

    def begin():
        raise LadderStartedError

    now_s = round(time.time())
    times = {name: now_s + offset_s for name, offset_s in {"begun": -1, "hours_ago": -7200, "later": 7200}.items()}
    trace.write_text(content.format(now=now_s, ms=1000 * now_s, **times))
    host = HostMeter(MeterChoice(CpuModelMeter(build_assumed_profile(4)), ()), HostReader(begin))
    wish = CalibrationOptions(afresh=True, step_s=1.0, upload_as=None)
    calibrate_host(Terminal(), host, wish, TraceOptions(trace, None, None, None, None))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("when,what\n", "names no time or no power"),
        ("t,w\n{ms},1\n", "in milliseconds"),
        ("t,w\n{now},1\n{begun},1\n", "time goes back"),
        ("t,w\n{hours_ago},1\n{now},1\n{now}.1,1\n{now}.2,1\n", "has a gap"),
        ("t,w\n{now},1\n{later},1\n", "is not being recorded now"),
        ("t,w\n{hours_ago},1\n{hours_ago}.5,1\n", "is not being recorded now"),
    ],
)
def test_trace_that_is_not_recorded_now_is_refused_before_calibration(tmp_path, content, message):
    with pytest.raises((InvalidTrace, typer.BadParameter), match=message):
        calibrate_by_trace(tmp_path / "meter.csv", content)


@pytest.mark.parametrize("content", ["", "t,", "t,w\n", "t,w\n{now},1\n", "t,w\n{begun},1\n{now},1\n{now}.5"])
def test_a_trace_that_has_just_started_or_ends_within_a_row_is_being_recorded(tmp_path, content):
    with pytest.raises(LadderStartedError):
        calibrate_by_trace(tmp_path / "meter.csv", content)
