"""The model of one leaf: throughput and power over the same settings, and the table of it that is stored and served."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from tradewind.errors import CannotFit
from tradewind.learning.observations import Flags, Floats, Observations
from tradewind.learning.surface import Plane, Surface, fit_surface
from tradewind.parameters import Lattice
from tradewind.units import BITS_PER_BYTE

MIN_ROWS = 8
"""Fewer rows cannot tell a surface from noise, even along a single axis."""

MIN_POWER_ROWS = 8


@dataclass(frozen=True, slots=True)
class Prediction:
    """What is expected of one new transfer at each of r settings; arrays (r,).

    Attributes
    ----------
    log_throughput_mean, log_throughput_sd : ln(bit/s); the deviation holds fit and noise, calibrated on held-out rows.
    throughput_bps : mean, corrected for the back-transform.
    power_w_mean, power_w_sd : mean power, W, not below the idle power; None without a power surface.
    log_power_mean, log_power_sd : of ln(W); None without a power surface.
    correlation : of the deviations of log throughput and log power.
    energy_j_per_byte : mean of 8·P/T, not below idle power; None without a power surface.
    certified : whether training rows surround the setting, so that an SLA may rest on it.
    """

    log_throughput_mean: Floats
    log_throughput_sd: Floats
    throughput_bps: Floats
    power_w_mean: Floats | None
    power_w_sd: Floats | None
    log_power_mean: Floats | None
    log_power_sd: Floats | None
    correlation: float
    energy_j_per_byte: Floats | None
    certified: Flags

    @property
    def log_throughput_power_cov(self) -> Floats | None:
        """Covariance of ln T and P (nat · W), for the delta method on energy."""
        if self.power_w_sd is None:
            return None
        return self.correlation * self.log_throughput_sd * self.power_w_sd


@dataclass(frozen=True, slots=True)
class LatticeTable:
    """A leaf's model on a finite lattice: what is stored, partitioned and served.

    ``lattice`` gives the settings, ``prediction`` arrays run in the order of ``lattice.settings()``; ``load`` is the
    external load assumed, NaN for the leaf's median.
    """

    lattice: Lattice
    load: float
    prediction: Prediction

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and None, ready for JSON."""
        p = self.prediction
        arrays = {
            name: None if (values := getattr(p, name)) is None else values.tolist()
            for name in (*_ARRAYS, "log_throughput_power_cov")
        }
        return {
            "axes": {axis: list(self.lattice.values[axis]) for axis in self.lattice.axes},
            "load": None if np.isnan(self.load) else self.load,
            "correlation": p.correlation,
            **arrays,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """The table that ``to_dict`` wrote."""
        lattice = Lattice(MappingProxyType({axis: tuple(values) for axis, values in stored["axes"].items()}))
        arrays: dict[str, Any] = {n: None if stored[n] is None else np.asarray(stored[n]) for n in _ARRAYS}
        load = float("nan") if stored["load"] is None else stored["load"]
        return cls(lattice, load, Prediction(correlation=stored["correlation"], **arrays))


_ARRAYS = (
    "log_throughput_mean",
    "log_throughput_sd",
    "throughput_bps",
    "power_w_mean",
    "power_w_sd",
    "log_power_mean",
    "log_power_sd",
    "energy_j_per_byte",
    "certified",
)


@dataclass(frozen=True, slots=True)
class LeafModel:
    """Surfaces of one leaf.

    Attributes
    ----------
    axes : as in the observations.
    constant : raw values of the axes that did not vary.
    throughput, power : surfaces of bit/s and W; ``power`` is None where too few rows were metered.
    correlation : of the noise of log throughput and log power in rows with both.
    energy_smearing : factor from exp of the log mean to the mean of P/T.
    idle_power_w : floor of any power; 0 if unknown.
    """

    axes: tuple[str, ...]
    constant: Mapping[str, float]
    throughput: Surface
    power: Surface | None
    correlation: float
    energy_smearing: float
    idle_power_w: float

    def predict(self, settings: Floats, load: Floats) -> Prediction:
        """Predict at raw settings (r, k) in the order of ``axes`` under load (r,), NaN for the median."""
        t = self.throughput.predict(settings, load)
        t_sd = self.throughput.deviation(t)
        certified = t.certified & self._at_constants(settings)
        bps = self.throughput.raw_mean(t)
        if self.power is None:
            return Prediction(t.log_mean, t_sd, bps, None, None, None, None, self.correlation, None, certified)
        p = self.power.predict(settings, load)
        p_sd = self.power.deviation(p)
        watts = np.maximum(self.power.raw_mean(p), self.idle_power_w)
        # Var of ln(P/T) with the covariance that rows with both show.
        variance = p_sd**2 + t_sd**2 - 2 * self.correlation * p_sd * t_sd
        per_bit = self.energy_smearing * np.exp(p.log_mean - t.log_mean + 0.5 * variance)
        floor = self.idle_power_w * np.exp(-t.log_mean)
        return Prediction(
            log_throughput_mean=t.log_mean,
            log_throughput_sd=t_sd,
            throughput_bps=bps,
            power_w_mean=watts,
            power_w_sd=watts * np.sqrt(np.expm1(np.minimum(p_sd, 2.0) ** 2)),
            log_power_mean=p.log_mean,
            log_power_sd=p_sd,
            correlation=self.correlation,
            energy_j_per_byte=BITS_PER_BYTE * np.maximum(per_bit, floor),
            certified=certified & p.certified,
        )

    def evaluate(self, lattice: Lattice, load: float = float("nan")) -> LatticeTable:
        """The model on ``lattice``; axes that it lacks are held at their median."""
        grid = np.meshgrid(*(lattice.values[axis] for axis in lattice.axes), indexing="ij")
        settings = np.full((len(lattice), len(self.axes)), np.nan)
        for axis, values in zip(lattice.axes, grid, strict=True):
            if axis in self.axes:
                settings[:, self.axes.index(axis)] = values.ravel()
        for column, axis in enumerate(self.axes):
            if axis not in lattice.axes:
                settings[:, column] = self.constant.get(axis, self._median(axis))
        return LatticeTable(lattice, load, self.predict(settings, np.full(len(lattice), load)))

    def _median(self, axis: str) -> float:
        found = (basis.reference for basis in self.throughput.plane.design.axes if basis.name == axis)
        return next(found, float("nan"))

    def _at_constants(self, settings: Floats) -> Flags:
        """Rows (r,) that keep to the values of the axes that never varied."""
        keeps = np.ones(len(settings), dtype=np.bool_)
        for axis, value in self.constant.items():
            column = settings[:, self.axes.index(axis)]
            keeps &= np.isnan(column) | np.isclose(column, value)
        return keeps


def fit_leaf(observations: Observations, *, idle_power_w: float = 0.0, start: LeafModel | None = None) -> LeafModel:
    """Fit throughput and, where measured, power over the settings of one leaf.

    Parameters
    ----------
    idle_power_w : power of the metered hosts without a transfer, W; total energy never falls below it.
    start : a model of nearly the same rows; its smoothing parameters save passes.

    Raises
    ------
    CannotFit : too few rows, throughput that is not positive, or settings that are all alike.
    """
    _check(observations)
    plane = Plane.spanning(observations.axes, observations.settings, observations.load)
    throughput = fit_surface(plane, observations.throughput_bps, start.throughput if start else None)
    watts = np.where(observations.power_w > 0, observations.power_w, np.nan)
    metered = np.isfinite(watts)
    power, correlation, smearing = None, 0.0, 1.0
    if metered.sum() >= MIN_POWER_ROWS and len(np.unique(plane.cells.of_row[metered])) >= 2:
        power = fit_surface(plane, watts, start.power if start else None)
        correlation, smearing = _joint(throughput, power, observations.throughput_bps, watts)
    return LeafModel(
        axes=observations.axes,
        constant=_constants(observations),
        throughput=throughput,
        power=power,
        correlation=correlation,
        energy_smearing=smearing,
        idle_power_w=idle_power_w,
    )


def _check(observations: Observations) -> None:
    n = len(observations)
    if n < MIN_ROWS:
        raise CannotFit(f"{n} rows; a surface needs at least {MIN_ROWS}: send more logs of this link")
    throughput = observations.throughput_bps
    if not np.all(np.isfinite(throughput) & (throughput > 0)):
        bad = int(np.sum(~(np.isfinite(throughput) & (throughput > 0))))
        raise CannotFit(f"{bad} of {n} rows have no positive throughput: leave failed transfers out")
    if not any(_varies(column) for column in observations.settings.T):
        raise CannotFit(
            f"all {n} rows have the same {', '.join(observations.axes) or 'settings'}: "
            "vary at least one parameter before a surface can be fitted"
        )


def _varies(column: Floats) -> bool:
    known = column[np.isfinite(column)]
    return len(known) > 0 and (len(known) < len(column) or bool(known.min() < known.max()))


def _constants(observations: Observations) -> Mapping[str, float]:
    return MappingProxyType(
        {
            axis: float(column[0])
            for axis, column in zip(observations.axes, observations.settings.T, strict=True)
            if np.isfinite(column).all() and not _varies(column)
        }
    )


def _joint(throughput: Surface, power: Surface, bps: Floats, watts: Floats) -> tuple[float, float]:
    """Correlation of the held-out residuals of ln T and ln P, and the smearing of P/T, over rows believed by both."""
    both = (throughput.weight > 0) & (power.weight > 0)
    if both.sum() < MIN_POWER_ROWS:
        return 0.0, 1.0
    t, p = throughput.held_out.residual[both], power.held_out.residual[both]
    correlation = float(np.clip(t @ p / np.sqrt((t @ t) * (p @ p) + np.finfo(np.float64).tiny), -0.99, 0.99))
    log_ratio = np.log(watts[both] / bps[both])
    spread = p - t
    expected = np.exp(log_ratio - spread + 0.5 * np.mean(spread**2))
    return correlation, float(np.clip(np.sum(watts[both] / bps[both]) / np.sum(expected), 0.5, 2.0))
