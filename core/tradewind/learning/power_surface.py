"""The power surface of a leaf: what transfers add to the power of hosts that idle, over the settings.

Notation
--------
P      mean power of the metered hosts, W
F      floor, a little below the power of the idle hosts, or 0
A      what is above the floor, A = P − F; ln A is what is fitted

Idle hosts take most of P. On a surface of ln P the noise of P hides the differences that a setting makes, and above
the idle power it is neither constant nor proportional. A surface of ln A follows them where their noise is
proportional to them. Which of both describes a leaf is decided by the likelihood of its held-out rows, and a leaf
whose idle power is unknown has the floor 0.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tradewind.learning.observations import Flags, Floats
from tradewind.learning.surface.plane import Places, Plane
from tradewind.learning.surface.response import Surface, fit_surface

LOWEST_SHARE = 0.01
"""Share of the metered rows that may lie below the floor; meters are noisy, and some rows fall below the idle power."""

MARGIN = 0.2
"""Distance of the floor below the lowest rows, as a share of what a usual row adds: ln A stays finite there."""

LARGEST_DEVIATION = 4.0
"""Standard deviations that one row counts at most where two floors are compared."""


class PowerPrediction(NamedTuple):
    """Arrays (r,): mean and deviation of ln P, mean of P, and whether metered rows support it."""

    log_mean: Floats
    log_sd: Floats
    mean_w: Floats
    certified: Flags


@dataclass(frozen=True, slots=True)
class PowerSurface:
    """A surface of ln A, ``above``, with its floor F in watts."""

    above: Surface
    floor_w: float

    @property
    def weight(self) -> Floats:
        """Robust weights (n,) of the training rows."""
        return self.above.weight

    def predict_at(self, places: Places, load: Floats) -> PowerPrediction:
        """Predict at places (r,) of the plane under load (r,), NaN for the median.

        The deviation of ln P is that of ln A by the delta method at the median, d ln P / d ln A = A / P.
        """
        a = self.above.predict_at(places, load)
        above_w = np.exp(a.log_mean)
        power_w = self.floor_w + above_w
        return PowerPrediction(
            log_mean=np.log(power_w),
            log_sd=self.above.compute_deviation(a) * above_w / power_w,
            mean_w=self.floor_w + self.above.compute_raw_mean(a),
            certified=a.certified,
        )

    def predict_load_effect(self, load: Floats) -> Floats:
        """Return what load adds to ln P (r,) at a usual setting, against the median load."""
        usual_w = np.exp(self.above.centre)
        effect = np.exp(self.above.predict_load_effect(load))
        added: Floats = np.log((self.floor_w + usual_w * effect) / (self.floor_w + usual_w))
        return added

    def compute_held_out_residuals(self, power_w: Floats) -> Floats:
        """Return the residuals (n,) of ln P of the training rows, each predicted without itself; NaN where unknown."""
        above_w = self.measure_above(power_w)
        without_w = above_w * np.exp(-self.above.held_out.residual)
        residual: Floats = np.log((self.floor_w + above_w) / (self.floor_w + without_w))
        return residual

    def measure_above(self, power_w: Floats) -> Floats:
        """Return A (n,) of measured powers; NaN where it is not positive."""
        return np.where(power_w > self.floor_w, power_w - self.floor_w, np.nan)


def fit_power(
    plane: Plane, power_w: Floats, *, idle_power_w: float = 0.0, start: PowerSurface | None = None
) -> PowerSurface:
    """Fit the power (n,) > 0, NaN where not metered, over the plane.

    Parameters
    ----------
    idle_power_w : power of the metered hosts without a transfer, W; 0 if unknown.
    start : a surface of nearly the same rows, whose floor and smoothing are taken over.
    """
    if start is not None:
        return _fit_above(plane, power_w, start.floor_w, start.above)
    entire = _fit_above(plane, power_w, 0.0)
    floor_w = _choose_floor(power_w[np.isfinite(power_w)], idle_power_w)
    if floor_w <= 0:
        return entire
    above = _fit_above(plane, power_w, floor_w)
    return above if _is_likelier(above, entire, power_w) else entire


def _fit_above(plane: Plane, power_w: Floats, floor_w: float, start: Surface | None = None) -> PowerSurface:
    above_w = np.where(power_w > floor_w, power_w - floor_w, np.nan)
    return PowerSurface(fit_surface(plane, above_w, start), floor_w)


def _choose_floor(metered_w: Floats, idle_power_w: float) -> float:
    """Return a floor below the idle power and nearly all rows; 0 where the idle power is unknown."""
    if idle_power_w <= 0:
        return 0.0
    added_w = metered_w - idle_power_w
    lowest_w = min(float(np.quantile(added_w, LOWEST_SHARE)), 0.0)
    return max(idle_power_w + lowest_w - MARGIN * float(np.median(np.abs(added_w))), 0.0)


def _is_likelier(one: PowerSurface, other: PowerSurface, power_w: Floats) -> bool:
    """Return whether ``one`` gives the measured powers a higher density, over the rows that both believe."""
    both = (one.weight > 0) & (other.weight > 0)
    return bool(np.sum((_compute_log_density(one, power_w) - _compute_log_density(other, power_w))[both]) > 0)


def _compute_log_density(surface: PowerSurface, power_w: Floats) -> Floats:
    """Return the log density (n,) of P at each row, predicted without it: that of ln A over A, but for a constant."""
    cells, held_out = surface.above.plane.cells, surface.above.held_out
    variance = surface.above.noise.compute_variance(cells.x)[cells.of_row] + held_out.variance
    deviation = surface.above.calibration * np.sqrt(variance)
    z = np.minimum(np.abs(held_out.residual) / deviation, LARGEST_DEVIATION)
    density: Floats = -0.5 * z**2 - np.log(deviation) - np.log(surface.measure_above(power_w))
    return density
