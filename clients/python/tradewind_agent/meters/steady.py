"""Energy of a meter that jumps, goes backward, stands still, or cannot be read for a while, which is noted.

An interval without a plausible step counts at the power of the last plausible one; those before the first count at its
power. What a counter has counted while it stood still or could not be read is in its next value.
"""

import math
from dataclasses import dataclass, field

from tradewind_agent.meters.meter import MeterUnavailable

MOST_HOST_W = 20_000.0
"""More than any host takes: a server with eight of the largest accelerators is specified with 14.3 kW."""


@dataclass(slots=True)
class SteadyEnergy:
    """Makes a meter's values an energy that never falls, nor jumps.

    Attributes
    ----------
    irregularity : the first one, in words; ``None`` while the meter behaves.
    """

    irregularity: str | None = None
    _energy_j: float = 0.0
    _power_w: float | None = None
    _unbridged_s: float = 0.0
    _still_s: float = 0.0
    _last: tuple[float, float] | None = field(default=None)

    def note_absence(self, reason: str, missing_s: float = 0.0) -> None:
        """Note that the meter could not be read, and could again later; ``missing_s`` : before its first value."""
        self._unbridged_s += missing_s
        self._note(f"could not be read for a while: {reason}")

    def correct(self, at_s: float, value_j: float) -> float:
        """Return the energy until now, J, with a likely value for each interval that cannot be.

        Raises
        ------
        MeterUnavailable : the value is no number.
        """
        if not math.isfinite(value_j):
            raise MeterUnavailable(f"it reports {value_j} J, which is no energy")
        if self._last is not None and at_s > self._last[0]:
            duration_s = at_s - self._last[0]
            self._energy_j += self._check_step(value_j - self._last[1], duration_s)
        self._last = (at_s, value_j)
        return self._energy_j

    def _check_step(self, step_j: float, duration_s: float) -> float:
        if step_j == 0:  # no host takes nothing: the meter is read more often than it is refreshed
            self._note(f"stood still for {duration_s:.3g} s")
            self._still_s += duration_s
            return 0.0
        lasting_s, self._still_s = duration_s + self._still_s, 0.0
        if 0 < step_j <= MOST_HOST_W * lasting_s:
            self._power_w = step_j / lasting_s
            bridged_j, self._unbridged_s = self._power_w * self._unbridged_s, 0.0
            return step_j + bridged_j
        self._note("went backward" if step_j < 0 else f"jumped by {step_j:.3g} J within {lasting_s:.3g} s")
        if self._power_w is None:
            self._unbridged_s += lasting_s
            return 0.0
        return self._power_w * lasting_s

    def _note(self, irregularity: str) -> None:
        if self.irregularity is None:
            self.irregularity = irregularity
