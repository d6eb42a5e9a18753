"""Energy counters of Intel and AMD processors (RAPL) as Linux shows them under /sys/class/powercap.

They cover the sockets and, where there are dram zones, the memory: neither disks nor network cards nor losses of the
power supply. The whole host is counted, whoever used it.
"""

from dataclasses import dataclass
from pathlib import Path

from tradewind.energy.measured import EnergyMethod, EnergyQuality
from tradewind_agent.meters.meter import MeterUnavailable
from tradewind_agent.meters.utilisation import HostCounters

_JOULES_PER_MICROJOULE = 1e-6
MOST_SOCKET_W = 2_000.0
"""More than any socket takes: a counter that would have had to count more was set back, as by suspending the host."""


@dataclass(slots=True)
class _Zone:
    """One counter, which wraps around at ``range_uj``."""

    name: str
    path: Path
    range_uj: int
    last_uj: int
    since_start_uj: int = 0

    def advance(self, passed_s: float) -> int:
        """Return what it has counted, ``passed_s`` after the last time; 0 where that is not known."""
        now_uj = _read_number(self.path)
        step_uj = now_uj - self.last_uj
        if step_uj < 0:
            wrapped_uj = step_uj + self.range_uj + 1  # max_energy_range_uj is the largest value, then comes 0
            if not passed_s or wrapped_uj * _JOULES_PER_MICROJOULE <= MOST_SOCKET_W * passed_s:
                step_uj = wrapped_uj
        self.last_uj = now_uj
        self.since_start_uj += step_uj
        return self.since_start_uj


class RaplMeter:
    """The sum of all package and dram zones; core and uncore zones are part of their package.

    A counter that wraps more than once between readings looks like one that did not: at 100 W the usual range
    of 262 kJ lasts 43 minutes, so a reading a minute is enough. One that is set back makes the energy fall.

    Parameters
    ----------
    sysfs : where sysfs is mounted.

    Raises
    ------
    MeterUnavailable : no zones, or none that may be read.
    """

    method = EnergyMethod.RAPL
    quality = EnergyQuality.MEASURED
    base_w: float | None = None

    def __init__(self, sysfs: Path = Path("/sys")) -> None:
        folder = sysfs / "class" / "powercap"
        zones = sorted(folder.glob("intel-rapl:*"))
        if not zones:
            raise MeterUnavailable(f"{folder} has no intel-rapl zones: a virtual machine, or the module is not loaded")
        named = {zone: _read_text(zone / "name") for zone in zones}
        packages = [name for name in named.values() if name.startswith("package")]
        if not packages:
            raise MeterUnavailable(f"{folder} has no package zone, only {', '.join(sorted(set(named.values())))}")
        if len(set(packages)) < len(packages):
            raise MeterUnavailable(f"{folder} has a package twice: {', '.join(packages)}")
        counted = [zone for zone, name in named.items() if name.startswith("package") or name == "dram"]
        self._zones = [
            _Zone(
                name=named[zone],
                path=zone / "energy_uj",
                range_uj=_read_number(zone / "max_energy_range_uj"),
                last_uj=_read_number(zone / "energy_uj"),
            )
            for zone in counted
        ]
        self._last_s: float | None = None

    @property
    def description(self) -> str:
        return f"RAPL counters of {', '.join(zone.name for zone in self._zones)}: sockets only, the whole host"

    def read_energy_j(self, counters: HostCounters) -> float:
        """Return the energy of all zones since the meter was made, J."""
        passed_s = 0.0 if self._last_s is None else counters.at_s - self._last_s
        self._last_s = counters.at_s
        return sum(zone.advance(passed_s) for zone in self._zones) * _JOULES_PER_MICROJOULE


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except PermissionError as error:
        raise MeterUnavailable(f"{path} may be read by root alone (Linux does so since 5.10)") from error
    except OSError as error:
        raise MeterUnavailable(f"{path} cannot be read: {error.strerror}") from error


def _read_number(path: Path) -> int:
    text = _read_text(path)
    if not text.isdecimal():
        raise MeterUnavailable(f"{path} holds {text!r}, which is no count of microjoules")
    return int(text)
