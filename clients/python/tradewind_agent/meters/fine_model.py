"""Power from the utilisation of this host's components, by coefficients that were calibrated on it.

P = P_idle + Σ c_i u_i, integrated exactly: the counters are those of busy time. It is the whole host's power, as that
of a battery is, whoever keeps it busy.
"""

from dataclasses import dataclass

from tradewind.energy import EnergyMethod, EnergyQuality
from tradewind_agent.meters.utilisation import HostCounters


@dataclass(frozen=True, slots=True)
class FineModelMeter:
    """``cpu_w``, ``disk_w`` : above idle, when all processors or the busiest disk are busy all the time."""

    idle_w: float
    cpu_w: float
    disk_w: float
    source: str

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
        """Energy since the clock's and the counters' own origins: only differences mean something."""
        disk_s = max(counters.disk_busy_s.values(), default=0.0)
        cpu_s = counters.busy_cpu_s / counters.logical_cpus
        return self.idle_w * counters.at_s + self.cpu_w * cpu_s + self.disk_w * disk_s
