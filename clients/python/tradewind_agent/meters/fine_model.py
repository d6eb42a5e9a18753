"""Power from the utilisation of this host's components, by coefficients that were calibrated on it.

P = P_idle + Σ c_i u_i, added up from reading to reading with the utilisation that the calibration has seen: the busiest
disk may be another each time, and disks and processors come and go. It is the whole host's power, as that of a battery
is, whoever keeps it busy.
"""

from dataclasses import dataclass, field

from tradewind.energy import EnergyMethod, EnergyQuality
from tradewind_agent.meters.utilisation import HostCounters, usage_between


@dataclass(slots=True)
class FineModelMeter:
    """``cpu_w``, ``disk_w`` : above idle, when all processors or the busiest disk are busy all the time."""

    idle_w: float
    cpu_w: float
    disk_w: float
    source: str
    _last: HostCounters | None = field(default=None, init=False)
    _energy_j: float = field(default=0.0, init=False)

    @property
    def method(self) -> EnergyMethod:
        return EnergyMethod.FINE_MODEL

    @property
    def quality(self) -> EnergyQuality:
        return EnergyQuality.CALIBRATED

    @property
    def base_w(self) -> float | None:
        return self.idle_w

    @property
    def description(self) -> str:
        parts = f"{self.idle_w:.3g} W idle, CPU {self.cpu_w:.3g} W, disk {self.disk_w:.3g} W"
        return f"fine-grained model, {parts} ({self.source})"

    def energy_j(self, counters: HostCounters) -> float:
        """Energy since the first reading."""
        if self._last is not None:
            used = usage_between(self._last, counters)
            power_w = self.idle_w + self.cpu_w * (used.cpu or 0.0) + self.disk_w * (used.disk or 0.0)
            self._energy_j += power_w * (counters.at_s - self._last.at_s)
        self._last = counters
        return self._energy_j
