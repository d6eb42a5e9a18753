"""A gauge of present power as a meter of energy: each value holds until the next one."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from tradewind.energy.measured import EnergyMethod, EnergyQuality
from tradewind_agent.meters.meter import MeterUnavailable
from tradewind_agent.meters.steady import MOST_HOST_W
from tradewind_agent.meters.utilisation import HostCounters

RESOLVED_VALUES = 5
"""A change is seen up to one value late: over so many values that is a fifth at most."""


@dataclass(slots=True)
class GaugeMeter:
    """Energy from a gauge of power that takes a while to read.

    Between two readings the last value holds, so that the energy never falls; a change is seen up to ``renew_s`` late.
    While the gauge cannot be read, neither can the meter, until a later reading succeeds.

    Parameters
    ----------
    read_power_w : reads the gauge, W; raises `MeterUnavailable`. It is called when the meter is made, too.
    renew_s : how old a value may become before it is read again.
    late_s : how long the source may show a value before it measures again, where that is longer.
    """

    read_power_w: Callable[[], float]
    description: str
    renew_s: float
    late_s: float = 0.0
    quality: EnergyQuality = EnergyQuality.MEASURED
    base_w: float | None = None
    _power_w: float = field(init=False)
    _energy_j: float = field(default=0.0, init=False)
    _last_s: float | None = field(default=None, init=False)
    _renewed_s: float = field(default=-math.inf, init=False)
    _failure: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._power_w = check_power_w(self.read_power_w())

    @property
    def method(self) -> EnergyMethod:
        return EnergyMethod.METER

    @property
    def resolution_s(self) -> float:
        return RESOLVED_VALUES * max(self.renew_s, self.late_s)

    def read_energy_j(self, counters: HostCounters) -> float:
        """Return the energy since the first reading, J."""
        now_s = counters.at_s
        if self._last_s is not None:
            self._energy_j += self._power_w * (now_s - self._last_s)
        self._last_s = now_s
        if now_s - self._renewed_s >= self.renew_s:
            self._renewed_s = now_s
            self._renew()
        elif self._failure is not None:
            raise MeterUnavailable(self._failure)
        return self._energy_j

    def _renew(self) -> None:
        try:
            self._power_w = check_power_w(self.read_power_w())
        except MeterUnavailable as unavailable:
            self._failure = str(unavailable)
            raise
        self._failure = None


def check_power_w(power_w: float) -> float:
    """Return a power that a host can take: a gauge without a sensor shows 0 W, or all bits of its register.

    Raises
    ------
    MeterUnavailable
    """
    if not 0 < power_w <= MOST_HOST_W:
        raise MeterUnavailable(f"it reports {power_w} W, which is no power of a host")
    return power_w
