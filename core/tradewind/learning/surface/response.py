"""One response surface: the log of a positive quantity over the settings, with its uncertainty.

log y = f(x) + g(x) + u_c + L(ℓ) + e: penalised splines f, local kriging g, cell effect u_c, load term L, noise
e ~ s²(x). The order of a fit: robust weights first, then repeats collapse to cells, then REML; a few passes.
"""

from dataclasses import dataclass, replace

import numpy as np

from tradewind.learning.observations import Flags, Floats
from tradewind.learning.surface.cells import Cells
from tradewind.learning.surface.kriging import ResidualKriging, compute_cell_effects, fit_kriging, krige_like
from tradewind.learning.surface.plane import Places, Plane
from tradewind.learning.surface.reml import MixedFit, fit_mixed
from tradewind.learning.surface.robust import (
    CellSums,
    LeaveOneOut,
    compute_huber_weights,
    leave_one_out,
    predict_cells_left_out,
)
from tradewind.learning.surface.variance import NoiseModel, compute_paule_mandel, compute_robust_variance

PASSES = 4
WARM_PASSES = 2
REML_STEPS = 6
WARM_REML_STEPS = 2
FIRST_PRECISION = 10.0
CONVERGENCE_TOLERANCE = 0.01
"""Mean change of the robust weights below which another pass is not worth its time."""

SMEARING_RANGE = (0.5, 2.0)
SMEARING_DEVIATIONS = 4.0
LARGEST_DEVIATION = float(np.sqrt(2.0))
SMALLEST_CALIBRATION = 0.05
ROUNDING = 1e-9
NORMAL_90 = 1.6448536269514722
COVERAGE = 0.9


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
    fitted : (n,) log means at the training rows.
    smooth_residual : (n,) log residuals of the training rows from f + L alone. Where settings were swept in order,
        neighbours on the lattice are neighbours in time, and g and u_c take what belongs to the hour.
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
    fitted: Floats
    smooth_residual: Floats
    weight: Floats

    def predict(self, settings: Floats, load: Floats, *, local: bool = True) -> SurfacePrediction:
        """Predict at raw settings (r, k) under load (r,), NaN for the median; without g and u_c if not ``local``."""
        return self.predict_at(self.plane.locate(settings), load, local=local)

    def predict_at(self, places: Places, load: Floats, *, local: bool = True) -> SurfacePrediction:
        """Predict at places of the plane, as `predict` does: surfaces of one leaf share them."""
        x, B, of_row = places.x, places.columns, places.of_row
        q = B.shape[1]
        mean = self.centre + B @ self.fit.coefficients[:q]
        variance = self.fit.compute_variance(B)
        certified = variance <= self.widest * (1 + ROUNDING)
        if local and self.kriging is not None:
            more, spread = self.kriging.predict(self.plane.cells.compute_positions(x))
            mean, variance = mean + more, variance + spread
        log_mean = mean[of_row]
        if self.plane.load is not None:
            log_mean += self.plane.load.compute_columns(load) @ self.fit.coefficients[q:]
        fit_sd, noise_sd = np.sqrt(variance), np.sqrt(self.noise.compute_variance(x))
        return SurfacePrediction(log_mean, fit_sd[of_row], noise_sd[of_row], certified[of_row])

    def predict_load_effect(self, load: Floats) -> Floats:
        """Return what L adds to the log mean (r,) under load (r,), against the median load; the same at all
        settings.
        """
        term = self.plane.load
        if term is None:
            return np.zeros(len(load))
        q = self.plane.columns.shape[1]
        effect: Floats = (
            term.compute_columns(load) - term.compute_columns(np.full(1, np.nan))
        ) @ self.fit.coefficients[q:]
        return effect

    def compute_deviation(self, prediction: SurfacePrediction) -> Floats:
        """Return the calibrated deviation (r,) of one new row around the log mean."""
        return self.calibration * np.hypot(prediction.fit_sd, prediction.noise_sd)

    def compute_standardised_residuals(self) -> Floats:
        """Return the held-out residuals (n,) of the training rows over their calibrated deviations."""
        cells = self.plane.cells
        z: Floats = self.held_out.residual / np.sqrt(
            self.noise.compute_variance(cells.x)[cells.of_row] + self.held_out.variance
        )
        return z / self.calibration

    def compute_raw_mean(self, prediction: SurfacePrediction) -> Floats:
        """Return the mean of the raw quantity (r,): the log mean is that of a median."""
        deviation = np.hypot(prediction.fit_sd, prediction.noise_sd)
        raw: Floats = self.smearing * compute_mean_of_lognormal(prediction.log_mean, deviation)
        return raw


@dataclass(frozen=True, slots=True)
class _State:
    """What the passes of a fit improve: robust weights (n,), noise, τ² and the precisions of the blocks.

    ``known`` (n,): rows with a value.
    """

    known: Flags
    weight: Floats
    noise: NoiseModel
    tau2: float
    precisions: Floats

    def compute_row_precision(self, cells: Cells) -> Floats:
        return self.weight / self.noise.compute_variance(cells.x)[cells.of_row]


@dataclass(frozen=True, slots=True)
class _Solution:
    """Fit at one state: the surface at the cells with its variance (m,), and the rows without their load term (n,)."""

    fit: MixedFit
    surface: tuple[Floats, Floats]
    rest: Floats


def fit_surface(plane: Plane, values: Floats, start: Surface | None = None) -> Surface:
    """Fit log ``values`` (n,) > 0, NaN where not measured, over the plane.

    Parameters
    ----------
    start : a surface of nearly the same rows: its smoothing and noise save passes.

    Notes
    -----
    Cost m q² + q³ a pass, m cells and q columns, plus 16³ a cell for kriging.
    """
    known = np.isfinite(values)
    y = np.log(np.where(known, values, 1.0))
    centre = float(np.median(y[known]))
    y = np.where(known, y - centre, 0.0)
    warm = start is not None and start.plane.is_comparable_with(plane)
    state = _State(
        known=known,
        weight=known.astype(np.float64),
        noise=start.noise if start and warm else NoiseModel.constant(plane.cells, compute_robust_variance(y[known])),
        tau2=start.tau2 if start and warm else 0.0,
        precisions=start.fit.precisions if start and warm else np.full(len(plane.blocks), FIRST_PRECISION),
    )
    for turn in range(WARM_PASSES if warm else PASSES):
        better = _improve(plane, y, state, is_first=turn == 0, is_warm=warm)
        change = float(np.mean(np.abs(better.weight - state.weight)))
        state = better
        if turn > 0 and change < CONVERGENCE_TOLERANCE:
            break
    return _finish(plane, centre, y, state, start if warm else None)


def _improve(plane: Plane, y: Floats, state: _State, *, is_first: bool, is_warm: bool) -> _State:
    """Return the one pass: REML at the current weights, then noise, weights and τ² from leave-one-out residuals."""
    cells = plane.cells
    solution = _solve(plane, y, state, WARM_REML_STEPS if is_warm else REML_STEPS)
    surface, rest = solution.surface, solution.rest
    effect = np.zeros(len(cells)), np.full(len(cells), state.tau2)
    row = state.compute_row_precision(cells)
    without = predict_cells_left_out(CellSums.of(cells, rest, row), surface, state.tau2)
    loo = leave_one_out(cells, rest, row, without, effect)
    if is_first and not is_warm:
        noise = NoiseModel.constant(cells, compute_robust_variance(loo.residual[state.known]))
    else:
        noise = state.noise.take_scoring_step(cells, loo, state.weight)
    weight = compute_huber_weights(cells, loo, noise.compute_variance(cells.x), plane.neighbours) * state.known
    state = replace(state, weight=weight, noise=noise, precisions=solution.fit.precisions)
    sums = CellSums.of(cells, rest, state.compute_row_precision(cells))
    used = float(np.sum(np.minimum(surface[1] * sums.compute_surface_precision(state.tau2), 1)))
    return replace(state, tau2=compute_paule_mandel(sums, surface[0], used, state.tau2))


def _solve(plane: Plane, y: Floats, state: _State, steps: int) -> _Solution:
    """Fit on cell means; load columns, which vary within a cell, add their within-cell cross-products."""
    cells, B, q = plane.cells, plane.columns, plane.columns.shape[1]
    row = state.compute_row_precision(cells)
    sums = CellSums.of(cells, y, row)
    L = plane.load_columns
    L_mean = np.stack([CellSums.of(cells, column, row).mean for column in L.T], axis=1) if L.size else L[: len(cells)]
    both = np.concatenate([B, L_mean], axis=1) if L.size else B
    p = sums.compute_surface_precision(state.tau2)
    scaled = both * np.sqrt(p)[:, None]
    G, g = scaled.T @ scaled, both.T @ (p * sums.mean)
    if L.size:
        within = L - L_mean[cells.of_row]
        G[q:, q:] += (within * row[:, None]).T @ within
        g[q:] += within.T @ (row * (y - sums.mean[cells.of_row]))
    fit = fit_mixed(G, g, plane.blocks, state.precisions, steps)
    surface = B @ fit.coefficients[:q], fit.compute_variance(B)
    return _Solution(fit, surface, y - L @ fit.coefficients[q:])


def _finish(plane: Plane, centre: float, y: Floats, state: _State, start: Surface | None) -> Surface:
    """Solve at the final state, krige what is left, calibrate on held-out residuals."""
    cells, c = plane.cells, plane.cells.of_row
    solution = _solve(plane, y, state, 1)
    row = state.compute_row_precision(cells)
    sums = CellSums.of(cells, solution.rest, row)
    seen = sums.rows > 0
    f, v = solution.surface
    noise = np.divide(1.0, sums.precision, out=np.full(len(cells), np.inf), where=seen)
    effects = compute_cell_effects(cells, np.where(seen, sums.mean - f, 0.0), noise, state.tau2)
    without = predict_cells_left_out(sums, (f, v), state.tau2)
    held_out = np.where(seen, sums.mean - without[0], 0.0)
    if start is None:
        kriged = fit_kriging(effects, cells, held_out, sums.compute_surface_precision(state.tau2))
    else:
        kriged = krige_like(start.kriging, effects) if start.kriging and start.kriging.signal > 0 else None
    effect = (kriged.mean, kriged.variance) if kriged else (np.zeros(len(cells)), np.full(len(cells), state.tau2))
    loo = leave_one_out(cells, solution.rest, row, without, effect)
    deviation = np.sqrt(state.noise.compute_variance(cells.x)[c] + loo.variance)
    return Surface(
        plane=plane,
        centre=centre,
        fit=solution.fit,
        noise=state.noise,
        tau2=state.tau2,
        kriging=kriged.kriging if kriged else (effects if state.tau2 > 0 else None),
        widest=float(np.max(v[seen])),
        calibration=compute_conformal_factor((loo.residual / deviation)[state.known]),
        smearing=compute_smearing_factor(y - loo.residual, loo.residual, deviation, state.weight),
        held_out=loo,
        fitted=centre + y - loo.own_residual,
        smooth_residual=solution.rest - f[c],
        weight=state.weight,
    )


def compute_mean_of_lognormal(log_mean: Floats, deviation: Floats) -> Floats:
    """exp(mean + s²/2) (n,); a setting that is hardly known gets no more than a factor e."""
    mean: Floats = np.exp(log_mean + 0.5 * np.minimum(deviation, LARGEST_DEVIATION) ** 2)
    return mean


def compute_smearing_factor(log_mean: Floats, residual: Floats, deviation: Floats, weight: Floats) -> float:
    """Return the factor from exp(mean + s²/2) to the raw mean, over rows (n,) by their robust weights.

    Residuals count up to a few deviations, so that no single row decides a factor on every prediction.

    References
    ----------
    Duan, "Smearing estimate: a nonparametric retransformation method", JASA 78 (1983).
    """
    log_actual = log_mean + residual
    log_mean = np.clip(log_mean, np.min(log_actual), np.max(log_actual))  # a lone corner's leave-one-out runs wild
    limit = SMEARING_DEVIATIONS * np.minimum(deviation, LARGEST_DEVIATION)
    actual = np.exp(log_mean + np.clip(log_actual - log_mean, -limit, limit))
    expected = compute_mean_of_lognormal(log_mean, deviation)
    return float(np.clip((weight @ actual) / (weight @ expected), *SMEARING_RANGE))


def compute_conformal_factor(z: Floats) -> float:
    """Return the factor that makes ±1.645 deviations hold 90 % of held-out standardised residuals (n,), finite-sample
    corrected.

    References
    ----------
    Lei et al., "Distribution-free predictive inference for regression", JASA 113 (2018).
    """
    level = min(1.0, COVERAGE * (1 + 1 / len(z)))
    return max(float(np.quantile(np.abs(z), level)) / NORMAL_90, SMALLEST_CALIBRATION)
