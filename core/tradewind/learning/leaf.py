"""The surfaces of one leaf: throughput and power over the same settings, and energy that follows from both."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from tradewind.errors import CannotFit
from tradewind.learning.leaf_prediction import LatticeTable, LeafPrediction
from tradewind.learning.observations import Flags, Floats, Observations
from tradewind.learning.power_surface import PowerSurface, fit_power
from tradewind.learning.surface.plane import Plane
from tradewind.learning.surface.response import Surface, compute_mean_of_lognormal, compute_smearing_factor, fit_surface
from tradewind.load_effect import LoadEffect
from tradewind.parameters import Lattice
from tradewind.units import BITS_PER_BYTE, format_count

MIN_ROWS = 8
"""Fewer rows cannot tell a surface from noise, even along a single axis; the same for metered rows and power."""

LARGEST_CORRELATION = 0.99
UNSEEN_POWER_LOG_SD = 1.0
"""Spread of ln(W) far from all metered settings: no promise on energy or power can rest on it."""

MEDIAN_LOAD = float("nan")


@dataclass(frozen=True, slots=True)
class LeafSurfaces:
    """Fitted surfaces of one leaf.

    Attributes
    ----------
    axes : as in the observations.
    constant : raw values of the axes that did not vary.
    throughput, power : surfaces of bit/s and W (see `power_surface`); ``power`` is None where too few rows were
        metered.
    highest_log_power : ln of the highest power seen, W: what a setting far from all metered ones is taken to draw, so
        that few metered rows neither forbid a rate nor make an unmetered setting look cheap.
    correlation : of the noise of log throughput and log power in rows with both.
    energy_smearing : factor from exp of the log mean to the mean of P/T.
    idle_power_w : floor of any power, so that E ≥ P_idle·8·bytes/T; 0 if unknown.
    """

    axes: tuple[str, ...]
    constant: Mapping[str, float]
    throughput: Surface
    power: PowerSurface | None
    highest_log_power: float
    correlation: float
    energy_smearing: float
    idle_power_w: float

    def predict(self, settings: Floats, load: Floats) -> LeafPrediction:
        """Predict at raw settings (r, k) in the order of ``axes`` under load (r,), NaN for the leaf's median.

        Far from all metered settings the log of power is cautious, because promises rest on it. The means of power and
        energy are what the surfaces expect.
        """
        places = self.throughput.plane.locate(settings)
        t = self.throughput.predict_at(places, load)
        t_sd = self.throughput.compute_deviation(t)
        bps = self.throughput.compute_raw_mean(t)
        certified = t.certified & self._find_rows_at_constants(settings)
        if self.power is None:
            return LeafPrediction(
                log_throughput_mean=t.log_mean, log_throughput_sd=t_sd, throughput_bps=bps, certified=certified
            )
        p = self.power.predict_at(places, load)
        p_sd = np.where(p.certified, p.log_sd, UNSEEN_POWER_LOG_SD)
        log_power = np.where(p.certified, p.log_mean, np.maximum(p.log_mean, self.highest_log_power))
        joint = self.correlation * t_sd * p.log_sd
        spread = np.sqrt(np.maximum(p.log_sd**2 + t_sd**2 - 2 * joint, 0.0))
        per_bit = self.energy_smearing * compute_mean_of_lognormal(p.log_mean - t.log_mean, spread)
        idle_w = max(self.idle_power_w, np.finfo(np.float64).tiny)
        return LeafPrediction(
            log_throughput_mean=t.log_mean,
            log_throughput_sd=t_sd,
            throughput_bps=bps,
            certified=certified,
            log_power_mean=np.maximum(log_power, np.log(idle_w)),
            log_power_sd=p_sd,
            log_covariance=np.where(p.certified, joint, 0.0),
            power_w=np.maximum(p.mean_w, idle_w),
            energy_j_per_byte=BITS_PER_BYTE * np.maximum(per_bit, idle_w * np.exp(-t.log_mean)),
        )

    def evaluate(self, lattice: Lattice, load: float = MEDIAN_LOAD) -> LatticeTable:
        """Return the surfaces on ``lattice``; axes that it lacks are held at their constant or median."""
        grid = np.meshgrid(*(lattice.values[axis] for axis in lattice.axes), indexing="ij")
        on_lattice = dict(zip(lattice.axes, grid, strict=True))
        settings = np.full((len(lattice), len(self.axes)), np.nan)  # NaN stands for the median
        for column, axis in enumerate(self.axes):
            if axis in on_lattice:
                settings[:, column] = on_lattice[axis].ravel()
            elif axis in self.constant:
                settings[:, column] = self.constant[axis]
            else:
                settings[:, column] = self._compute_median(axis)
        return LatticeTable(lattice, load, self.predict(settings, np.full(len(lattice), load)))

    def tabulate_load_effect(self) -> LoadEffect | None:
        """Return the effect of load on any setting, over the loads of the rows; ``None`` where load is unknown."""
        term = self.throughput.plane.load
        if term is None:
            return None
        loads = term.list_tabulated_loads()
        return LoadEffect(
            loads=tuple(loads.tolist()),
            log_throughput=tuple(self.throughput.predict_load_effect(loads).tolist()),
            log_power=None if self.power is None else tuple(self.power.predict_load_effect(loads).tolist()),
        )

    def _compute_median(self, axis: str) -> float:
        bases = self.throughput.plane.design.axes
        return next((basis.reference for basis in bases if basis.name == axis and not basis.indicator), float("nan"))

    def _find_rows_at_constants(self, settings: Floats) -> Flags:
        """Find the rows (r,) that keep to the values of the axes that never varied."""
        keeps = np.ones(len(settings), dtype=np.bool_)
        for axis, value in self.constant.items():
            column = settings[:, self.axes.index(axis)]
            keeps &= np.isnan(column) | np.isclose(column, value)
        return keeps


def fit_leaf(
    observations: Observations, *, idle_power_w: float = 0.0, start: LeafSurfaces | None = None
) -> LeafSurfaces:
    """Fit throughput and, where measured, power over the settings of one leaf.

    Parameters
    ----------
    idle_power_w : power of the metered hosts without a transfer, W; no power is predicted below it.
    start : surfaces of nearly the same rows; their smoothing saves passes.

    Raises
    ------
    CannotFit : too few rows, throughput that is not positive, or settings that are all the same.
    """
    _check(observations)
    plane = Plane.spanning(observations.axes, observations.settings, observations.load)
    throughput = fit_surface(plane, observations.throughput_bps, start.throughput if start else None)
    watts = np.where(observations.power_w > 0, observations.power_w, np.nan)
    metered = np.isfinite(watts)
    power, correlation, smearing = None, 0.0, 1.0
    if metered.sum() >= MIN_ROWS and len(np.unique(plane.cells.of_row[metered])) > 1:
        power = fit_power(plane, watts, idle_power_w=idle_power_w, start=start.power if start else None)
        correlation, smearing = _estimate_joint_spread(throughput, power, watts, observations.throughput_bps)
    return LeafSurfaces(
        axes=observations.axes,
        constant=_find_constants(observations),
        throughput=throughput,
        power=power,
        highest_log_power=float(np.log(np.nanmax(watts))) if power else 0.0,
        correlation=correlation,
        energy_smearing=smearing,
        idle_power_w=idle_power_w,
    )


def _check(observations: Observations) -> None:
    n = len(observations)
    if n < MIN_ROWS:
        raise CannotFit(f"{format_count(n, 'row')}: a surface needs at least {MIN_ROWS}; send more logs of this link")
    positive = np.isfinite(observations.throughput_bps) & (observations.throughput_bps > 0)
    if not positive.all():
        raise CannotFit(
            f"{n - int(positive.sum())} of {n} rows have no positive throughput: leave failed transfers out"
        )
    if not any(_varies(column) for column in observations.settings.T):
        raise CannotFit(
            f"all {n} rows have the same {', '.join(observations.axes) or 'settings'}: "
            "vary at least one parameter before a surface can be fitted"
        )


def _varies(column: Floats) -> bool:
    known = column[np.isfinite(column)]
    return len(known) > 0 and (len(known) < len(column) or bool(known.min() < known.max()))


def _find_constants(observations: Observations) -> Mapping[str, float]:
    return MappingProxyType(
        {
            axis: float(column[0])
            for axis, column in zip(observations.axes, observations.settings.T, strict=True)
            if np.isfinite(column).all() and not _varies(column)
        }
    )


def _estimate_joint_spread(
    throughput: Surface, power: PowerSurface, power_w: Floats, throughput_bps: Floats
) -> tuple[float, float]:
    """Return the correlation of the held-out residuals of ln T and ln P, and the smearing of P/T, over rows believed by
    both.
    """
    both = (throughput.weight > 0) & (power.weight > 0)
    weights = throughput.weight[both], power.weight[both]
    if both.sum() < MIN_ROWS:
        return 0.0, 1.0
    t, p = throughput.held_out.residual[both], power.compute_held_out_residuals(power_w)[both]
    size = max(float(np.sqrt((t @ t) * (p @ p))), np.finfo(np.float64).tiny)
    correlation = float(np.clip(t @ p / size, -LARGEST_CORRELATION, LARGEST_CORRELATION))
    ratio = p - t
    predicted = np.log(power_w / throughput_bps)[both] - ratio
    deviation = np.full(len(ratio), np.sqrt(np.mean(ratio**2)))
    return correlation, compute_smearing_factor(
        predicted - np.median(predicted), ratio, deviation, np.minimum(*weights)
    )
