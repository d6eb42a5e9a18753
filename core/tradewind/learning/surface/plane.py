"""What the surfaces of one leaf share: the design over its cells and the term of external load."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from tradewind.learning.observations import Floats
from tradewind.learning.surface.basis import AxisBasis, Design
from tradewind.learning.surface.cells import Cells, Index
from tradewind.learning.surface.robust import find_nearest_cells

MIN_LOADS = 8
MIN_LOAD_RANGE = 0.02
TABULATED_LOADS = 20
"""Loads at which the effect is tabulated, evenly spaced where the spline lives: in log2(1 − ℓ)."""


@dataclass(frozen=True, slots=True)
class LoadTerm:
    """Additive effect of external load, a spline in log2(1 − ℓ): the share of the path that is left."""

    basis: AxisBasis

    @classmethod
    def spanning(cls, load: Floats) -> Self | None:
        """Return the term over the loads seen (n,), or None where load is unknown for most rows or does not vary."""
        left = 1.0 - load
        known = left[np.isfinite(left)]
        if len(known) < max(MIN_LOADS, len(load) // 2) or np.ptp(known) < MIN_LOAD_RANGE:
            return None
        return cls(AxisBasis.spanning("load", 0, left))

    def compute_columns(self, load: Floats) -> Floats:
        """(n, columns); an unknown load counts as the median one."""
        return self.basis.compute_columns(self.basis.compute_coordinate(1.0 - load[:, None]))

    def list_tabulated_loads(self) -> Floats:
        """Return the loads (r,) from the lowest to the highest seen, ascending."""
        grid = self.basis.grid
        loads: Floats = 1.0 - 2.0 ** np.linspace(grid[-1], grid[0], TABULATED_LOADS)
        return loads


@dataclass(frozen=True, slots=True)
class Places:
    """Distinct settings to predict at: coordinates (d, axes), design columns (d, q), and the one of each row (r,)."""

    x: Floats
    columns: Floats
    of_row: Index


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
        cells = Cells.of(design, design.compute_coordinates(settings))
        term = LoadTerm.spanning(load)
        load_columns = term.compute_columns(load) if term else np.empty((len(load), 0))
        return cls(design, cells, design.compute_columns(cells.x), find_nearest_cells(cells), term, load_columns)

    def locate(self, settings: Floats) -> Places:
        """Return where raw settings (r, k) are."""
        x, of_row = _find_distinct(self.design.compute_coordinates(settings))
        return Places(x, self.design.compute_columns(x), of_row)

    def is_comparable_with(self, other: Self) -> bool:
        """Return whether smoothing parameters of one plane mean the same on the other."""
        own_axes, other_axes = ([axis.name for axis in plane.design.axes] for plane in (self, other))
        return own_axes == other_axes and len(self.blocks) == len(other.blocks)

    @property
    def blocks(self) -> tuple[slice, ...]:
        q = self.columns.shape[1]
        wiggly = slice(q + 1, q + self.load_columns.shape[1])
        return (*self.design.blocks, wiggly) if wiggly.stop > wiggly.start else self.design.blocks


def _find_distinct(x: Floats) -> tuple[Floats, Index]:
    """Return the distinct rows of coordinates (r, axes) and the place of each row among them: repeats are predicted
    once.
    """
    order = np.lexsort(x.T)
    ordered = x[order]
    new = np.ones(len(x), dtype=np.bool_)
    new[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    of_row = np.empty(len(x), dtype=np.intp)
    of_row[order] = np.cumsum(new) - 1
    return ordered[new], of_row
