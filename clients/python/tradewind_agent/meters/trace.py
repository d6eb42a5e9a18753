"""From samples of a meter to the energy of a transfer."""

from array import array
from bisect import bisect_left
from itertools import pairwise

from tradewind.energy.measured import (
    EnergyReading,
    Host,
    compute_base_energy_j,
    compute_energy_above_base_j,
    compute_total_energy_j,
)
from tradewind.errors import InvalidTrace
from tradewind_agent.meters.meter import Meter


class PowerIntegral:
    """Instantaneous power, sampled at any times, as energy since the first sample (trapezoids)."""

    def __init__(self) -> None:
        self.energy_j = 0.0
        self._last: tuple[float, float] | None = None

    def add(self, at_s: float, power_w: float) -> None:
        """Take a sample; times must increase.

        Raises
        ------
        InvalidTrace
        """
        if self._last is not None:
            last_s, last_w = self._last
            self.energy_j += compute_total_energy_j((last_s, at_s), (last_w, power_w))
        self._last = (at_s, power_w)


class EnergyTrace:
    """Samples of a meter's energy over time; 16 bytes each."""

    def __init__(self) -> None:
        self.time_s = array("d")
        self.energy_j = array("d")

    def add(self, at_s: float, energy_j: float) -> None:
        """Take a sample; one that is not later than the last is left out."""
        if not self.time_s or at_s > self.time_s[-1]:
            self.time_s.append(at_s)
            self.energy_j.append(energy_j)

    @property
    def duration_s(self) -> float:
        return self.time_s[-1] - self.time_s[0] if self.time_s else 0.0

    def compute_mean_power_w(self, over_s: float) -> float | None:
        """Mean power of about the last ``over_s`` seconds, at least of those between the last two samples."""
        if len(self.time_s) < 2:
            return None
        begin_s = self.time_s[-1] - over_s
        after = min(bisect_left(self.time_s, begin_s), len(self.time_s) - 2)
        before = max(after - 1, 0)
        first = before if begin_s - self.time_s[before] < self.time_s[after] - begin_s else after
        return (self.energy_j[-1] - self.energy_j[first]) / (self.time_s[-1] - self.time_s[first])

    def compute_power_w(self) -> list[tuple[float, float]]:
        """Mean power between neighbouring samples, with the time at its end."""
        samples = zip(self.time_s, self.energy_j, strict=True)
        return [(t1, (e1 - e0) / (t1 - t0)) for (t0, e0), (t1, e1) in pairwise(samples)]

    def build_reading(self, meter: Meter, host: Host, base_w: float | None) -> EnergyReading:
        """Return total and dynamic energy, J, and base power, W; dynamic is unknown without a base, and never clipped.

        Raises
        ------
        InvalidTrace : fewer than two samples.
        """
        if len(self.time_s) < 2:
            raise InvalidTrace("time_s", "needs at least two samples")
        total_j = self.energy_j[-1] - self.energy_j[0]
        return EnergyReading(
            host=host,
            total_j=total_j,
            dynamic_j=None
            if base_w is None
            else compute_energy_above_base_j(total_j, compute_base_energy_j(self.duration_s, base_w)),
            base_w=base_w,
            method=meter.method,
            quality=meter.quality,
        )
