"""Rows at the same setting collapse to cells: what the linear algebra works on."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tradewind.learning.observations import Floats
from tradewind.learning.surface.basis import Design

Index = NDArray[np.intp]

MAX_STEPS = 256
"""Equal steps of its range to which a quantity that varies freely is rounded."""

ROWS_A_VALUE = 4
"""Rows at each value of an axis, on average, from which on its values are never rounded: they belong to data sets that
were sent again and again, and two of nearly the same size may behave differently.
"""


@dataclass(frozen=True, slots=True)
class Cells:
    """Distinct settings among n rows.

    Attributes
    ----------
    steps : for each axis its coordinates after rounding (d_j,), ascending.
    x : (m, axes) coordinates of the cells.
    rank : (m, axes) position of each cell on the steps.
    of_row : (n,) cell of each row.
    """

    steps: tuple[Floats, ...]
    x: Floats
    rank: Index
    of_row: Index

    @classmethod
    def of(cls, design: Design, coordinates: Floats) -> Self:
        """Return the cells of rows at coordinates (n, axes)."""
        steps, ranks = [], []
        for j, axis in enumerate(design.axes):
            is_repeated = len(coordinates) >= ROWS_A_VALUE * len(axis.grid)
            grid = axis.grid
            if len(grid) > MAX_STEPS and not is_repeated:
                grid = np.linspace(grid[0], grid[-1], MAX_STEPS)
            steps.append(grid)
            ranks.append(_find_nearest(grid, coordinates[:, j]))
        shape = tuple(len(grid) for grid in steps)
        code = np.ravel_multi_index(tuple(ranks), shape)
        distinct, of_row = np.unique(code, return_inverse=True)
        rank = np.stack(np.unravel_index(distinct, shape), axis=1)
        x = np.stack([grid[rank[:, j]] for j, grid in enumerate(steps)], axis=1)
        return cls(tuple(steps), x, rank, of_row)

    def __len__(self) -> int:
        return len(self.x)

    def sum(self, rows: Floats) -> Floats:
        """Return the sums (m,) of row values (n,) over the cells."""
        total: Floats = np.bincount(self.of_row, weights=rows, minlength=len(self)).astype(np.float64)
        return total

    def compute_positions(self, x: Floats) -> Floats:
        """Return the places of coordinates (r, axes) on the steps, fractional between two of them."""
        return np.stack([np.interp(x[:, j], grid, np.arange(len(grid))) for j, grid in enumerate(self.steps)], axis=1)

    def find_adjacent(self, axis: int) -> tuple[Index, Index]:
        """Return the pairs of cells one step apart on ``axis`` and the same on every other."""
        shape = tuple(len(grid) for grid in self.steps)
        code = np.ravel_multi_index(tuple(self.rank.T), shape)
        inner = np.flatnonzero(self.rank[:, axis] + 1 < shape[axis])
        stride = int(np.prod(shape[axis + 1 :], dtype=np.int64))
        found = np.searchsorted(code, code[inner] + stride)
        hit = (found < len(code)) & (code[np.minimum(found, len(code) - 1)] == code[inner] + stride)
        return inner[hit], found[hit]


def _find_nearest(grid: Floats, x: Floats) -> Index:
    right = np.clip(np.searchsorted(grid, x), 1, len(grid) - 1)
    rounded: Index = right - (x - grid[right - 1] < grid[right] - x)
    return rounded
