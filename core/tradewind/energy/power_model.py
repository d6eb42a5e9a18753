"""Power of a host from its utilisation, fitted by calibration, with cross-validated error.

Fine-grained, where every component's utilisation is known:    P = P_idle + Σ c_i u_i,   c_i ≥ 0
CPU-only, where nothing else can be read:                      P = f(u),   f rising

u are shares of 0..1, P and c are watts. f is a line, a line that ends in a plateau (a processor at its power limit), or
a rising curve through the samples; cross-validation within the samples says which. Few samples: everything is plain
Python, so that an agent fits without numpy.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from statistics import fmean
from typing import Generic, Protocol, TypeVar

from tradewind.errors import CannotFit, InvalidValue

MIN_SAMPLES = 4
"""With fewer samples none is left to check a fit with."""
_RIDGE = 1e-4
"""Penalty of the squared coefficients, relative to the squared utilisations: it decides where two components always
rise together, and nothing else."""
_SWEEPS = 5000
_CONVERGED_W = 1e-9
_LEAST_SPREAD = 0.02
"""A component whose utilisation varies less says nothing of its power."""
_KNEES = tuple(0.3 + 0.02 * step for step in range(35))
_SAME_LOAD = 0.01
"""Samples of a curve that are nearer than this are one."""


@dataclass(frozen=True, slots=True)
class CalibrationSample:
    """Mean power of a step of the ladder. Samples of one ``block`` were taken together and are left out together."""

    block: int
    usage: Mapping[str, float]
    power_w: float


class PowerModel(Protocol):
    def predict_power_w(self, usage: Mapping[str, float]) -> float: ...


_Model = TypeVar("_Model", bound=PowerModel)


@dataclass(frozen=True, slots=True)
class CrossValidated(Generic[_Model]):
    """``error`` : mean absolute error of samples that the fit had not seen, over the mean power."""

    model: _Model
    error: float
    samples: int


@dataclass(frozen=True, slots=True)
class FineModel:
    """P = idle_w + Σ component_w · u; a component that was never exercised is not in it."""

    idle_w: float
    component_w: Mapping[str, float]

    def predict_power_w(self, usage: Mapping[str, float]) -> float:
        return self.idle_w + sum(power_w * usage.get(name, 0.0) for name, power_w in self.component_w.items())


class CurveForm(StrEnum):
    LINE = "line"
    PLATEAU = "plateau"
    CURVE = "curve"


@dataclass(frozen=True, slots=True)
class CpuModel:
    """Power by CPU utilisation alone: straight between ``knots`` of (utilisation, W), the first at 0, the last at 1."""

    form: CurveForm
    knots: tuple[tuple[float, float], ...]

    def predict_power_w(self, usage: Mapping[str, float]) -> float:
        load = min(max(usage["cpu"], 0.0), 1.0)
        after = min(max(bisect_left(self.knots, (load,)), 1), len(self.knots) - 1)
        (u0, p0), (u1, p1) = self.knots[after - 1], self.knots[after]
        return p0 + (p1 - p0) * (load - u0) / (u1 - u0)

    @property
    def idle_w(self) -> float:
        return self.knots[0][1]

    @property
    def full_w(self) -> float:
        return self.knots[-1][1]


def fit_fine(samples: Sequence[CalibrationSample]) -> FineModel:
    """Non-negative ridge by coordinate descent; cost: sweeps × components².

    Raises
    ------
    CannotFit : too few samples, or no component's utilisation varies.
    """
    _check(samples)
    names = [name for name in _list_components(samples) if _measure_spread(samples, name) >= _LEAST_SPREAD]
    if not names:
        raise CannotFit("no component's utilisation varies: nothing shows what takes power")
    columns = [[1.0] * len(samples), *([sample.usage[name] for sample in samples] for name in names)]
    power_w = [sample.power_w for sample in samples]
    coefficients = _solve_non_negative(columns, power_w)
    return FineModel(coefficients[0], dict(zip(names, coefficients[1:], strict=True)))


def fit_cpu(samples: Sequence[CalibrationSample]) -> CpuModel:
    """Return the form that predicts left-out blocks best, fitted to all samples.

    Raises
    ------
    CannotFit : too few samples, or the CPU's utilisation does not vary.
    """
    _check(samples)
    if _measure_spread(samples, "cpu") < _LEAST_SPREAD:
        raise CannotFit("the CPU's utilisation does not vary: nothing shows what it takes")
    fits = {CurveForm.LINE: fit_line, CurveForm.PLATEAU: _fit_plateau, CurveForm.CURVE: _build_curve}
    return min(fits.values(), key=lambda fit: _compute_cross_validation_error(samples, fit))(samples)


def cross_validate(
    samples: Sequence[CalibrationSample], fit: Callable[[Sequence[CalibrationSample]], _Model]
) -> CrossValidated[_Model]:
    """Return the fit of all samples, with the error of each block by a fit of the others, form choices included.

    Raises
    ------
    CannotFit
    """
    return CrossValidated(fit(samples), _compute_cross_validation_error(samples, fit), len(samples))


def fit_line(samples: Sequence[CalibrationSample]) -> CpuModel:
    """P = P_idle + (P_full − P_idle) · u, both not negative and rising."""
    idle_w, range_w = _solve_non_negative(
        [[1.0] * len(samples), _list_loads(samples)], [sample.power_w for sample in samples]
    )
    return CpuModel(CurveForm.LINE, ((0.0, idle_w), (1.0, idle_w + range_w)))


def _fit_plateau(samples: Sequence[CalibrationSample]) -> CpuModel:
    """Fit a line up to a knee and constant from there on; the knee is the one of a grid with the least residual."""
    power_w = [sample.power_w for sample in samples]
    best: tuple[float, CpuModel] | None = None
    for knee in _KNEES:
        bent = [min(load, knee) for load in _list_loads(samples)]
        if max(bent) - min(bent) < _LEAST_SPREAD:
            continue
        idle_w, slope_w = _solve_non_negative([[1.0] * len(bent), bent], power_w)
        left = sum((idle_w + slope_w * u - p) ** 2 for u, p in zip(bent, power_w, strict=True))
        if best is None or left < best[0]:
            top_w = idle_w + slope_w * knee
            ends = (
                ((0.0, idle_w), (1.0, top_w)) if knee > 1 - _SAME_LOAD else ((0.0, idle_w), (knee, top_w), (1.0, top_w))
            )
            best = left, CpuModel(CurveForm.PLATEAU, ends)
    return fit_line(samples) if best is None else best[1]


def _build_curve(samples: Sequence[CalibrationSample]) -> CpuModel:
    """Connect the samples by straight lines, made monotonic by pooling neighbours that fall, and extrapolate to 0 and
    1.
    """
    ordered = sorted((sample.usage["cpu"], sample.power_w) for sample in samples)
    groups: list[list[tuple[float, float]]] = []
    for point in ordered:
        if groups and point[0] - groups[-1][0][0] < _SAME_LOAD:
            groups[-1].append(point)
        else:
            groups.append([point])
    loads = [fmean(load for load, _ in group) for group in groups]
    risen = _fit_rising([fmean(power for _, power in group) for group in groups], [len(group) for group in groups])
    knots = list(zip(loads, risen, strict=True))
    if len(knots) < 2:
        return fit_line(samples)
    if knots[0][0] > 0:
        knots.insert(0, (0.0, max(0.0, _extrapolate(knots[0], knots[1], 0.0))))
    if knots[-1][0] < 1:
        knots.append((1.0, _extrapolate(knots[-2], knots[-1], 1.0)))
    return CpuModel(CurveForm.CURVE, tuple(knots))


def _extrapolate(one: tuple[float, float], other: tuple[float, float], load: float) -> float:
    return one[1] + (other[1] - one[1]) * (load - one[0]) / (other[0] - one[0])


def _fit_rising(values: Sequence[float], weights: Sequence[int]) -> list[float]:
    """Return the nearest sequence that never falls (pool adjacent violators)."""
    pools: list[tuple[float, int, int]] = []  # mean, weight, members
    for value, weight in zip(values, weights, strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] > pool[0]:
            mean, before, members = pools.pop()
            pool = ((mean * before + pool[0] * pool[1]) / (before + pool[1]), before + pool[1], members + pool[2])
        pools.append(pool)
    return [mean for mean, _, members in pools for _ in range(members)]


def _compute_cross_validation_error(
    samples: Sequence[CalibrationSample], fit: Callable[[Sequence[CalibrationSample]], PowerModel]
) -> float:
    errors_w = []
    for block in sorted({sample.block for sample in samples}):
        model = fit([sample for sample in samples if sample.block != block])
        errors_w += [abs(model.predict_power_w(each.usage) - each.power_w) for each in samples if each.block == block]
    return fmean(errors_w) / fmean(sample.power_w for sample in samples)


def _solve_non_negative(columns: Sequence[Sequence[float]], target: Sequence[float]) -> list[float]:
    """Min Σ (y − Σ x_i c_i)² + ridge over c ≥ 0; the first column, the constant, is not penalised."""
    count = len(columns)
    gram = [[sum(a * b for a, b in zip(one, other, strict=True)) for other in columns] for one in columns]
    moment = [sum(a * b for a, b in zip(column, target, strict=True)) for column in columns]
    scale = [gram[i][i] * (1.0 if i == 0 else 1.0 + _RIDGE) for i in range(count)]
    found = [0.0] * count
    for _ in range(_SWEEPS):
        moved = 0.0
        for i in range(count):
            rest = moment[i] - sum(gram[i][j] * found[j] for j in range(count) if j != i)
            new = max(0.0, rest / scale[i]) if scale[i] else 0.0
            moved, found[i] = max(moved, abs(new - found[i])), new
        if moved < _CONVERGED_W:
            break
    return found


def _check(samples: Sequence[CalibrationSample]) -> None:
    if len(samples) < MIN_SAMPLES - 1:  # one less where a block is left out
        raise CannotFit(f"{len(samples)} samples are too few; {MIN_SAMPLES} at least")
    for sample in samples:
        if not isfinite(sample.power_w) or sample.power_w < 0:
            raise InvalidValue("power_w", f"must be finite and not negative, is {sample.power_w}")
    if not any(sample.power_w for sample in samples):
        raise InvalidValue("power_w", "is 0 W in every sample; check that the meter, or its trace, reports power")


def _list_components(samples: Sequence[CalibrationSample]) -> list[str]:
    """Return the components that every sample reports."""
    usages = [set(sample.usage) for sample in samples]
    return sorted(set.intersection(*usages))


def _measure_spread(samples: Sequence[CalibrationSample], name: str) -> float:
    values = [sample.usage[name] for sample in samples if name in sample.usage]
    return max(values) - min(values) if len(values) == len(samples) else 0.0


def _list_loads(samples: Sequence[CalibrationSample]) -> list[float]:
    return [sample.usage["cpu"] for sample in samples]
