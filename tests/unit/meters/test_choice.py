"""Which meter is used, and why not a better one."""

import os
import platform
from pathlib import Path

import psutil
import pytest

from tests.unit.meters.made_up import PROFILE, add_battery, add_zone
from tradewind.energy.measured import EnergyMethod, EnergyQuality
from tradewind.energy.power_model import FineModel
from tradewind_agent.meters import CalibratedMeter, choose_meter
from tradewind_agent.meters.utilisation import describe_processors


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


@pytest.mark.parametrize(("host", "method"), [(None, "fine_model"), ("", "fine_model"), ("96 × Other", "cpu_model")])
def test_model_of_other_processors_is_refused(tmp_path: Path, host: str | None, method: str):
    """A home that several hosts share has the calibration of one of them."""
    known = describe_processors() if host == "" else host
    calibrated = CalibratedMeter(FineModel(10.0, {"cpu": 30.0}), "made up", known)
    choice = choose_meter(logical_cpus=4, calibrated=calibrated, sysfs=tmp_path)
    assert str(choice.meter.method) == method
    expected = EnergyQuality.CALIBRATED if method == "fine_model" else EnergyQuality.ASSUMED
    assert choice.meter.quality is expected
    assert ("no fine_model: it was calibrated on 96 × Other" in choice.explanation) is (method == "cpu_model")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("processor\t: 0\nmodel name\t: Xeon 1\nmodel name\t: Xeon 1\n", "Xeon 1"),
        (2 * "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", f"{platform.machine()} 0x41 0xd0c"),
        ("", platform.machine()),
    ],
)
def test_processors_are_described_by_model_and_number(
    tmp_path: Path, text: str, name: str, monkeypatch: pytest.MonkeyPatch
):
    """Those that are switched off count: a host whose threads are is still the one that was calibrated."""
    monkeypatch.setattr(os, "sysconf", {"SC_NPROCESSORS_CONF": 96}.__getitem__)
    monkeypatch.setattr(psutil, "cpu_count", lambda: 48)
    if text:
        (tmp_path / "cpuinfo").write_text(text)
    assert describe_processors(tmp_path) == f"96 × {name}"
