"""A gauge of present power as a meter of energy: each value holds until the next one."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from tradewind.energy.measured import EnergyMethod, EnergyQuality
from tradewind_agent.meters.meter import MeterUnavailable
from tradewind_agent.meters.utilisation import HostCounters


@dataclass(slots=True)
class GaugeMeter:
    """Energy from a gauge of power that takes a while to read.

    Between two readings the last value holds, so that the energy never falls; a change is seen up to ``renew_s`` late.

    Parameters
    ----------
    read_power_w : reads the gauge, W; raises `MeterUnavailable`. It is called when the meter is made, too.
    renew_s : how old a value may become before it is read again.
    """

    read_power_w: Callable[[], float]
    description: str
    renew_s: float
    quality: EnergyQuality = EnergyQuality.MEASURED
    base_w: float | None = None
    _power_w: float = field(init=False)
    _energy_j: float = field(default=0.0, init=False)
    _last_s: float | None = field(default=None, init=False)
    _renewed_s: float = field(default=-math.inf, init=False)

    def __post_init__(self) -> None:
        self._power_w = check_power_w(self.read_power_w())

    @property
    def method(self) -> EnergyMethod:
        return EnergyMethod.METER

    def read_energy_j(self, counters: HostCounters) -> float:
        """Return the energy since the first reading, J."""
        now_s = counters.at_s
        if self._last_s is not None:
            self._energy_j += self._power_w * (now_s - self._last_s)
        self._last_s = now_s
        if now_s - self._renewed_s >= self.renew_s:
            self._renewed_s = now_s
            self._power_w = check_power_w(self.read_power_w())
        return self._energy_j


def check_power_w(power_w: float) -> float:
    """Return a power that can be one.

    Raises
    ------
    MeterUnavailable
    """
    if not math.isfinite(power_w) or power_w < 0:
        raise MeterUnavailable(f"it reports {power_w} W, which is no power")
    return power_w
