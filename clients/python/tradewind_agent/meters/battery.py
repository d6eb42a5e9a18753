"""A battery's discharge as Linux shows it under /sys/class/power_supply: the whole device, while it runs on it."""

from math import isfinite
from pathlib import Path

from tradewind.energy.measured import EnergyMethod, EnergyQuality
from tradewind_agent.meters.meter import MeterUnavailable
from tradewind_agent.meters.trace import PowerIntegral
from tradewind_agent.meters.utilisation import HostCounters

_MICRO = 1e-6
GAUGE_S = 30.0
"""A gauge updates its power every few to thirty seconds: a shorter transfer may have the power before it."""


class BatteryMeter:
    """Power drawn from all discharging batteries, integrated by trapezoids between readings.

    What a battery gives next to mains or a charger is a part of the power alone, and is not read.
    Those of mice and keyboards are none of the device's, and one without a power is left out if another has one.

    Parameters
    ----------
    sysfs : where sysfs is mounted.

    Raises
    ------
    MeterUnavailable : no battery, none is discharging, mains or a charger helps, or its gauge shows no power.
    """

    method = EnergyMethod.BATTERY
    quality = EnergyQuality.MEASURED
    base_w: float | None = None
    resolution_s = GAUGE_S

    def __init__(self, sysfs: Path = Path("/sys")) -> None:
        self._folder = folder = sysfs / "class" / "power_supply"
        batteries = [supply for supply in sorted(folder.glob("*")) if _is_own_battery(supply)]
        if not batteries:
            raise MeterUnavailable(f"{folder} has no battery of this device")
        self._batteries = [battery for battery in batteries if _read_power_w(battery) is not None] or batteries
        self._integral = PowerIntegral()
        self._compute_power_w()

    @property
    def description(self) -> str:
        return f"discharge of {', '.join(battery.name for battery in self._batteries)}: the whole device"

    def read_energy_j(self, counters: HostCounters) -> float:
        """Return the energy drawn since the first reading, J."""
        self._integral.add(counters.at_s, self._compute_power_w())
        return self._integral.energy_j

    def _compute_power_w(self) -> float:
        states = {battery: _read_text(battery / "status") for battery in self._batteries}
        discharging = [battery for battery, state in states.items() if state == "Discharging"]
        if not discharging:
            raise MeterUnavailable("the device runs on mains: its battery is not discharging")
        if "Charging" in states.values():
            raise MeterUnavailable("a battery of the device is charging: what the other one gives is not the device's")
        if feeding := [supply.name for supply in sorted(self._folder.glob("*")) if _is_feeding(supply)]:
            raise MeterUnavailable(
                f"{', '.join(feeding)} feeds the device next to its battery, whose part alone is known"
            )
        return sum(_compute_discharge_w(battery) for battery in discharging)


def _is_own_battery(supply: Path) -> bool:
    """Return whether it is the device's own battery: peripherals have the scope ``Device``, most drivers set none."""
    return _read_text(supply / "type") == "Battery" and _read_text(supply / "scope") != "Device"


def _is_feeding(supply: Path) -> bool:
    """Return whether mains or a charger is plugged in, such as one that is too weak for the device."""
    if _read_text(supply / "type") in (None, "Battery") or _read_text(supply / "scope") == "Device":
        return False
    return bool(_read_number(supply / "online"))


def _compute_discharge_w(battery: Path) -> float:
    if (power_w := _read_power_w(battery)) is None:
        raise MeterUnavailable(f"{battery} has neither power_now nor current_now and voltage_now")
    return power_w


def _read_power_w(battery: Path) -> float | None:
    if (power_uw := _read_number(battery / "power_now")) is not None:
        return abs(power_uw) * _MICRO
    current_ua, voltage_uv = _read_number(battery / "current_now"), _read_number(battery / "voltage_now")
    if current_ua is None or voltage_uv is None:
        return None
    return abs(current_ua) * _MICRO * voltage_uv * _MICRO


def _read_number(path: Path) -> float | None:
    """Return the value of a gauge; ``None`` if the driver has none, or no number."""
    try:
        value = float(_read_text(path) or "")
    except ValueError:
        return None
    return value if isfinite(value) else None


def _read_text(path: Path) -> str | None:
    """Return the text of a sysfs file; ``None`` if the driver does not provide it."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None
