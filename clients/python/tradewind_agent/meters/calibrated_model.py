"""Power from the utilisation of this host, by a model that was calibrated on it: fine-grained or CPU-only.

It is added up from reading to reading with the utilisation that the calibration has seen: the busiest disk may be
another each time, and disks and processors come and go. It is the power of what the meter of the calibration counted,
whoever keeps it busy: of the whole host by a battery or a power meter, of the sockets alone by RAPL.
"""

from dataclasses import dataclass, field

from tradewind.energy.measured import EnergyMethod, EnergyQuality
from tradewind.energy.power_model import CpuModel, FineModel
from tradewind.mobile.profiles import COMPONENTS
from tradewind_agent.meters.utilisation import HostCounters, compute_usage


@dataclass(slots=True)
class CalibratedMeter:
    """``source`` : who measured; ``host`` : the processors of the host that it is of, where that is known."""

    model: FineModel | CpuModel
    source: str
    host: str | None = None
    _last: HostCounters | None = field(default=None, init=False)
    _energy_j: float = field(default=0.0, init=False)

    @property
    def method(self) -> EnergyMethod:
        return EnergyMethod.FINE_MODEL if isinstance(self.model, FineModel) else EnergyMethod.CPU_MODEL

    @property
    def quality(self) -> EnergyQuality:
        return EnergyQuality.CALIBRATED

    @property
    def base_w(self) -> float | None:
        return self.model.idle_w

    @property
    def description(self) -> str:
        idle = f"{self.model.idle_w:.3g} W idle"
        if isinstance(self.model, CpuModel):
            return f"CPU-only model, a {self.model.form}, {idle} and {self.model.full_w:.3g} W busy ({self.source})"
        parts = ", ".join(f"{name} {power_w:.3g} W" for name, power_w in self.model.component_w.items())
        return f"fine-grained model, {idle}, {parts} ({self.source})"

    def read_energy_j(self, counters: HostCounters) -> float:
        """Return the energy since the first reading, J."""
        if self._last is not None:
            used = compute_usage(self._last, counters)
            known = {name: getattr(used, name) or 0.0 for name in COMPONENTS}
            power_w = self.model.predict_power_w(known)
            self._energy_j += power_w * (counters.at_s - self._last.at_s)
        self._last = counters
        return self._energy_j
