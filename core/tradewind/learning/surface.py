"""One response surface: the log of a positive quantity over the settings, with its uncertainty.

log y = f(x) + g(x) + u_c + L(ℓ) + e: penalised splines f, local kriging g, cell effect u_c, load term L, noise
e ~ s²(x). The order of a fit: robust weights first, then repeats collapse to cells, then REML; a few passes.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from tradewind.learning.basis import AxisBasis, Design
from tradewind.learning.cells import Cells, Index
from tradewind.learning.kriging import ResidualKriging, fit_kriging
from tradewind.learning.observations import Flags, Floats
from tradewind.learning.reml import MixedFit, fit_mixed
from tradewind.learning.robust import (
    LeaveOneOut,
    NoiseModel,
    huber_weights,
    leave_one_out,
    nearest_cells,
    paule_mandel,
    robust_variance,
)

PASSES = 4
REML_STEPS = 6
SETTLED = 0.01
"""Mean change of the robust weights below which another pass is not worth its time."""

NORMAL_90 = 1.6448536269514722
COVERAGE = 0.9


@dataclass(frozen=True, slots=True)
class LoadTerm:
    """Additive effect of external load, a spline in log2(1 − ℓ): the share of the path that is left."""

    basis: AxisBasis

    @classmethod
    def spanning(cls, load: Floats) -> Self | None:
        """Term over the loads seen (n,), or None where load is unknown for most rows or does not vary."""
        left = 1.0 - load
        known = left[np.isfinite(left)]
        if len(known) < max(8, len(load) // 2) or np.ptp(known) < 0.02:
            return None
        return cls(AxisBasis.spanning("load", 0, left))

    def columns(self, load: Floats) -> Floats:
        """(n, columns); an unknown load counts as the median one."""
        return self.basis.columns(self.basis.coordinate(1.0 - load[:, None]))


@dataclass(frozen=True, slots=True)
class Plane:
    """What the surfaces of one leaf share: design, cells, design matrix (m, q) of the cells, load columns (n, l)."""

    design: Design
    cells: Cells
    columns: Floats
    neighbours: Index
    load: LoadTerm | None
    load_columns: Floats

    @classmethod
    def spanning(cls, axes: tuple[str, ...], settings: Floats, load: Floats) -> Self:
        design = Design.spanning(axes, settings)
        cells = Cells.of(design, design.coordinates(settings))
        term = LoadTerm.spanning(load)
        load_columns = term.columns(load) if term else np.empty((len(load), 0))
        return cls(design, cells, design.columns(cells.x), nearest_cells(cells), term, load_columns)

    @property
    def blocks(self) -> tuple[slice, ...]:
        q = self.columns.shape[1]
        wiggly = slice(q + 1, q + self.load_columns.shape[1])
        return (*self.design.blocks, wiggly) if wiggly.stop > wiggly.start else self.design.blocks


@dataclass(frozen=True, slots=True)
class SurfacePrediction:
    """(r,) arrays: log mean, deviation of the fit, deviation of a single row's noise, and whether data support it."""

    log_mean: Floats
    fit_sd: Floats
    noise_sd: Floats
    certified: Flags


@dataclass(frozen=True, slots=True)
class Surface:
    """A fitted surface.

    Attributes
    ----------
    centre : added to every log value; the median of the training rows.
    fit : coefficients over [design columns, load columns].
    widest : largest posterior variance of f among the training cells: the hull guard.
    calibration : factor on the deviations that makes the central 90 % band hold on held-out residuals.
    smearing : factor from exp(mean + s²/2) to the mean of the raw quantity, from held-out rows.
    held_out : leave-one-out predictions of the training rows.
    weight : (n,) robust weights of the training rows.
    """

    plane: Plane
    centre: float
    fit: MixedFit
    noise: NoiseModel
    tau2: float
    kriging: ResidualKriging | None
    widest: float
    calibration: float
    smearing: float
    held_out: LeaveOneOut
    weight: Floats

    def predict(self, settings: Floats, load: Floats) -> SurfacePrediction:
        """Predict at raw settings (r, k) under load (r,), NaN for the median load."""
        design, cells = self.plane.design, self.plane.cells
        x = design.coordinates(settings)
        B = design.columns(x)
        q = B.shape[1]
        mean = self.centre + B @ self.fit.coefficients[:q]
        variance = _quadratic(B, self.fit.covariance[:q, :q])
        certified = variance <= self.widest * (1 + 1e-9)
        if self.plane.load is not None:
            mean += self.plane.load.columns(load) @ self.fit.coefficients[q:]
        if self.kriging is not None:
            more, spread = self.kriging.predict(cells.positions(x))
            mean += more
            variance = variance + spread
        return SurfacePrediction(mean, np.sqrt(variance), np.sqrt(self.noise.at(x)), certified)

    def deviation(self, prediction: SurfacePrediction) -> Floats:
        """Calibrated deviation (r,) of one new row around the log mean."""
        return self.calibration * np.hypot(prediction.fit_sd, prediction.noise_sd)

    def raw_mean(self, prediction: SurfacePrediction) -> Floats:
        """Mean of the raw quantity (r,): the log mean is that of a median."""
        variance = prediction.fit_sd**2 + prediction.noise_sd**2
        raw: Floats = self.smearing * np.exp(prediction.log_mean + 0.5 * variance)
        return raw


def fit_surface(plane: Plane, values: Floats, start: Surface | None = None) -> Surface:
    """Fit log ``values`` (n,) > 0, NaN where not measured, over the plane.

    Parameters
    ----------
    start : a surface of nearly the same rows: its precisions and noise save passes.

    Notes
    -----
    Cost m q² + q³ a pass, m cells and q columns, plus 16³ a cell for kriging.
    """
    cells = plane.cells
    known = np.isfinite(values)
    y = np.log(np.where(known, values, 1.0))
    centre = float(np.median(y[known]))
    y = np.where(known, y - centre, 0.0)
    weight = known.astype(np.float64)
    precisions = np.full(len(plane.blocks), 10.0) if start is None else start.fit.precisions
    noise = NoiseModel.constant(cells, robust_variance(y[known])) if start is None else start.noise
    tau2 = 0.0 if start is None else start.tau2
    for turn in range(PASSES):
        fit, f, v, rest = _solve_cells(plane, y, weight, noise, tau2, precisions, REML_STEPS)
        precisions = fit.precisions
        loo = leave_one_out(cells, rest, weight, noise.at(cells.x), tau2, f, v)
        if turn == 0 and start is None:
            noise = NoiseModel.constant(cells, robust_variance(loo.residual[known]))
        else:
            noise = noise.scored(cells, loo, weight)
        s2 = noise.at(cells.x)
        before = weight
        weight = huber_weights(cells, loo, s2, plane.neighbours) * known
        W = cells.sum(weight / s2[cells.of_row])
        mean = _cell_means(cells, rest, weight / s2[cells.of_row], W, f)
        p = _mean_precision(W, tau2)
        tau2 = paule_mandel(mean, f, W, cells.sum((weight > 0).astype(np.float64)), float(np.sum(np.minimum(v * p, 1))), tau2)
        if turn > 0 and float(np.mean(np.abs(weight - before))) < SETTLED:
            break
    fit, f, v, rest = _solve_cells(plane, y, weight, noise, tau2, precisions, 1)
    return _finished(plane, centre, y, rest, weight, known, noise, tau2, fit, f, v)


def _solve_cells(
    plane: Plane, y: Floats, weight: Floats, noise: NoiseModel, tau2: float, precisions: Floats, steps: int
) -> tuple[MixedFit, Floats, Floats, Floats]:
    """Fit on cell means; load columns, which vary within a cell, add their within-cell cross-products.

    Returns
    -------
    Fit, surface (m,), its variance (m,), and rows without their load term (n,).
    """
    cells, c = plane.cells, plane.cells.of_row
    B = plane.columns
    row = weight / noise.at(cells.x)[c]
    W = cells.sum(row)
    p = _mean_precision(W, tau2)
    mean = _cell_means(cells, y, row, W, np.zeros(len(cells)))
    if plane.load_columns.shape[1]:
        L = plane.load_columns
        L_mean = np.stack([_cell_means(cells, column, row, W, np.zeros(len(cells))) for column in L.T], axis=1)
        within, y_within = L - L_mean[c], y - mean[c]
        B = np.concatenate([B, L_mean], axis=1)
    scaled = B * np.sqrt(p)[:, None]
    G = scaled.T @ scaled
    g = B.T @ (p * mean)
    q = plane.columns.shape[1]
    if plane.load_columns.shape[1]:
        G[q:, q:] += (within * row[:, None]).T @ within
        g[q:] += within.T @ (row * y_within)
    fit = fit_mixed(G, g, plane.blocks, precisions, steps)
    f = plane.columns @ fit.coefficients[:q]
    v = _quadratic(plane.columns, fit.covariance[:q, :q])
    rest = y - plane.load_columns @ fit.coefficients[q:]
    return fit, f, v, rest


def _finished(
    plane: Plane,
    centre: float,
    y: Floats,
    rest: Floats,
    weight: Floats,
    known: Flags,
    noise: NoiseModel,
    tau2: float,
    fit: MixedFit,
    f: Floats,
    v: Floats,
) -> Surface:
    cells, c = plane.cells, plane.cells.of_row
    s2 = noise.at(cells.x)
    row = weight / s2[c]
    W = cells.sum(row)
    mean = _cell_means(cells, rest, row, W, f)
    leverage = np.minimum(v * _mean_precision(W, tau2), 0.999)
    own_noise = np.divide(1.0, W, out=np.full_like(W, np.inf), where=W > 0)
    residual = mean - f
    kriged = fit_kriging(cells, residual, residual / (1 - leverage), own_noise, tau2, _mean_precision(W, tau2))
    kriging, around = None, None
    if kriged is not None:
        kriging, around = kriged[0], kriged[1:]
    elif tau2 > 0:
        noisy = np.where(np.isfinite(own_noise), own_noise, 1e6)
        kriging = ResidualKriging(cells.rank.astype(np.float64), residual, noisy, 0.0, tau2, np.ones(cells.x.shape[1]))
    loo = leave_one_out(cells, rest, weight, s2, tau2, f, v, around)
    deviation = np.sqrt(s2[c] + loo.variance)
    z = np.abs(loo.residual[known]) / deviation[known]
    level = min(1.0, COVERAGE * (1 + 1 / len(z)))
    believed = weight > 0
    load = y - rest
    raw = np.exp(y[believed])
    expected = np.exp(loo.mean[believed] + load[believed] + 0.5 * deviation[believed] ** 2)
    return Surface(
        plane=plane,
        centre=centre,
        fit=fit,
        noise=noise,
        tau2=tau2,
        kriging=kriging,
        widest=float(np.max(v[W > 0])),
        calibration=float(np.quantile(z, level)) / NORMAL_90,
        smearing=float(np.clip(raw.sum() / expected.sum(), 0.5, 2.0)),
        held_out=loo,
        weight=weight,
    )


def _cell_means(cells: Cells, rows: Floats, precision: Floats, W: Floats, empty: Floats) -> Floats:
    return np.divide(cells.sum(precision * rows), W, out=empty.copy(), where=W > 0)


def _mean_precision(W: Floats, tau2: float) -> Floats:
    """Precision of the cell means, 1/(τ² + 1/W), 0 where a cell has no believed row."""
    return W / (1.0 + tau2 * W)


def _quadratic(B: Floats, V: Floats) -> Floats:
    form: Floats = np.maximum(np.einsum("ij,ij->i", B @ V, B), 0.0)
    return form
