"""P-spline bases in mixed-model form: linear part unpenalised, wiggly part and interactions as random effects.

Notation
--------
x_j      coordinate of axis j, log2(v), or log2(v + 1) where 0 occurs
K_j      B-splines of axis j, at most SEGMENTS + 3 and no more than its distinct values
B_j      (n, K_j) B-splines of degree min(3, K_j − 1) on equidistant knots
D        second-order differences; D'D = U Ω U', its null space holds constant and line
Z_j      (n, K_j − 2) wiggly columns B_j U₊ Ω₊^(−1/2), so that the penalty is the identity
M_j      (n, K_j − 1) = [line, Z_j], what an interaction is made of

The design is [1, lines | Z_1 | … | Z_k | M_1 ⊗ M_2 | …]: one variance for each block behind the first bar.

References
----------
Eilers & Marx, "Flexible smoothing with B-splines and penalties", Statistical Science 11 (1996).
Wood, "Generalized Additive Models", 2nd ed., §5.8 and §6.2 (mixed-model form).
"""

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Self

import numpy as np

from tradewind.learning.observations import Floats

SEGMENTS = 5
DEGREE = 3
PAIR_COLUMNS = 16
"""Columns kept of one interaction: those of largest prior variance, the rest is left to kriging."""


@dataclass(frozen=True, slots=True)
class AxisBasis:
    """Marginal basis of one axis.

    Attributes
    ----------
    name : the axis; ``indicator`` is true if it stands for "this axis was not logged" (0 or 1).
    column : which column of the raw settings it reads.
    shift : 1 where 0 occurs among the values, else 0.
    grid : (d,) distinct coordinates seen, ascending.
    reference : raw value that stands in where a row does not say.
    knots, degree : of the B-splines.
    marginal : (K, K − 1) from B-splines to M, before centring by ``centre`` (K − 1,).
    """

    name: str
    column: int
    indicator: bool
    shift: float
    grid: Floats
    reference: float
    knots: Floats
    degree: int
    marginal: Floats
    centre: Floats

    @classmethod
    def spanning(cls, name: str, column: int, values: Floats, *, indicator: bool = False) -> Self:
        """Return the basis over the range of ``values`` (n,), NaN allowed, at least two distinct."""
        known = values[np.isfinite(values)]
        shift = 0.0 if indicator or known.min() > 0 else 1.0
        x = known if indicator else np.log2(known + shift)
        grid = np.unique(x)
        size = min(SEGMENTS + DEGREE, len(grid))
        degree = min(DEGREE, size - 1)
        step = (grid[-1] - grid[0]) / (size - degree)
        knots = grid[0] + step * np.arange(-degree, size + 1)
        marginal = _compute_mixed_form(size)
        raw = _compute_b_splines(grid, knots, degree) @ marginal
        centre = raw.mean(axis=0)
        spread = raw - centre
        scale = np.ones(size - 1)
        scale[0] = np.sqrt(np.mean(spread[:, 0] ** 2))
        scale[1:] = np.sqrt(np.mean(np.sum(spread[:, 1:] ** 2, axis=1))) if size > 2 else 1.0
        return cls(
            name=name,
            column=column,
            indicator=indicator,
            shift=shift,
            grid=grid,
            reference=float(np.median(known)),
            knots=knots,
            degree=degree,
            marginal=marginal / scale,
            centre=centre / scale,
        )

    def compute_coordinate(self, settings: Floats) -> Floats:
        """Return the coordinate (n,) of raw settings (n, k), cut to the range seen."""
        values = settings[:, self.column]
        missing = ~np.isfinite(values)
        if self.indicator:
            return missing.astype(np.float64)
        known = np.where(missing, self.reference, values)
        x = np.log2(np.maximum(known + self.shift, np.finfo(np.float64).tiny))
        return np.clip(x, self.grid[0], self.grid[-1])

    def compute_columns(self, x: Floats) -> Floats:
        """M (n, K − 1) at coordinates x (n,)."""
        return _compute_b_splines(x, self.knots, self.degree) @ self.marginal - self.centre


@dataclass(frozen=True, slots=True)
class Design:
    """Main effects and pairwise interactions of all axes that vary.

    Attributes
    ----------
    axes : bases, constant axes left out.
    pairs : for each pair of axes the columns of M_j ⊗ M_k that are kept.
    blocks : random-effect blocks as slices of the columns; columns before the first are unpenalised.
    """

    axes: tuple[AxisBasis, ...]
    pairs: tuple[tuple[int, int, tuple[int, ...]], ...]
    blocks: tuple[slice, ...]

    @classmethod
    def spanning(cls, names: tuple[str, ...], settings: Floats) -> Self:
        """Return the design over the settings (n, k) seen; no axis may vary, then only the intercept is left."""
        axes = tuple(_build_varying_axes(names, settings))
        variances = [np.mean(axis.compute_columns(axis.grid) ** 2, axis=0) for axis in axes]
        pairs = tuple(
            (j, k, _find_leading_columns(variances[j], variances[k])) for j, k in combinations(range(len(axes)), 2)
        )
        sizes = [len(axis.centre) - 1 for axis in axes] + [len(leading) for _, _, leading in pairs]
        starts = 1 + len(axes) + np.concatenate([[0], np.cumsum(sizes)])
        blocks = tuple(slice(int(a), int(b)) for a, b in pairwise(starts) if b > a)
        return cls(axes, pairs, blocks)

    def compute_coordinates(self, settings: Floats) -> Floats:
        """(n, axes) coordinates of raw settings (n, k)."""
        return np.stack([axis.compute_coordinate(settings) for axis in self.axes], axis=1)

    def compute_columns(self, x: Floats) -> Floats:
        """Return the design matrix (n, q) at coordinates x (n, axes)."""
        margins = [_compute_once_a_value(axis, x[:, j]) for j, axis in enumerate(self.axes)]
        parts = [np.ones((len(x), 1)), *(m[:, :1] for m in margins), *(m[:, 1:] for m in margins)]
        for j, k, leading in self.pairs:
            product = margins[j][:, :, None] * margins[k][:, None, :]
            parts.append(product.reshape(len(x), -1)[:, list(leading)])
        return np.concatenate(parts, axis=1)


def _compute_once_a_value(axis: AxisBasis, x: Floats) -> Floats:
    """M (n, K − 1) at coordinates x (n,), which take few values: settings are on a lattice."""
    values, place = np.unique(x, return_inverse=True)
    return axis.compute_columns(values)[place]


def _build_varying_axes(names: tuple[str, ...], settings: Floats) -> list[AxisBasis]:
    axes: list[AxisBasis] = []
    patterns: set[bytes] = set()
    for column, name in enumerate(names):
        values = settings[:, column]
        missing = ~np.isfinite(values)
        known = values[~missing]
        if len(known) and known.min() < known.max():
            axes.append(AxisBasis.spanning(name, column, values))
        # Rows that do not log an axis differ as a group; axes that are always missing together count once.
        if missing.any() and not missing.all() and missing.tobytes() not in patterns:
            patterns.add(missing.tobytes())
            axes.append(AxisBasis.spanning(name, column, missing.astype(np.float64), indicator=True))
    return axes


def _compute_mixed_form(size: int) -> Floats:
    """(K, K − 1): from coefficients of K B-splines to a line and the wiggly columns with identity penalty."""
    line = np.arange(size, dtype=np.float64)[:, None]
    if size == 2:
        return line
    differences = np.diff(np.eye(size), n=2, axis=0)
    # D'(DD')^(−1/2) spans the range of D'D with eigenvalues Ω^(−1/2) folded in.
    u, singular, _ = np.linalg.svd(differences.T, full_matrices=False)
    return np.concatenate([line, u[:, ::-1] / singular[::-1]], axis=1)


def _compute_b_splines(x: Floats, knots: Floats, degree: int) -> Floats:
    """Return the B-splines (n, K) at coordinates x (n,), cut to the range of the knots, by the recursion of Cox and
    de Boor on equidistant knots.
    """
    size = len(knots) - degree - 1
    place = (np.clip(x, knots[degree], knots[size]) - knots[0]) / (knots[1] - knots[0])
    first = np.arange(len(knots) - 1)
    basis: Floats = (np.minimum(place.astype(np.intp), size - 1)[:, None] == first).astype(np.float64)
    away = place[:, None] - first
    for order in range(1, degree + 1):
        rising, falling = away[:, :-order], order - away[:, 1 : len(first) - order + 1]
        basis = (rising * basis[:, :-1] + falling * basis[:, 1:]) / order
    return basis


def _find_leading_columns(one: Floats, two: Floats) -> tuple[int, ...]:
    """Return the columns of M_j ⊗ M_k of largest prior variance, from the mean squares of those of both axes."""
    variance = np.outer(one, two).ravel()
    return tuple(sorted(int(i) for i in np.argsort(-variance, kind="stable")[:PAIR_COLUMNS]))
