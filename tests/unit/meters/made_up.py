"""Made-up counters and sysfs trees."""

from dataclasses import replace
from pathlib import Path

from tradewind_agent.meters import HostCounters, build_calibrated_profile

RANGE_UJ = 262_143_328_850
START = HostCounters(at_s=100.0, logical_cpus=4, busy_cpu_s=1000.0, tree_cpu_s=50.0, memory=0.25)
PROFILE = build_calibrated_profile(10.0, 50.0, source="made up")


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
