"""Which meter is used, and why not a better one."""

from pathlib import Path

from tests.unit.meters.made_up import PROFILE, add_battery, add_zone
from tradewind.energy.measured import EnergyMethod, EnergyQuality
from tradewind_agent.meters import choose_meter


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
