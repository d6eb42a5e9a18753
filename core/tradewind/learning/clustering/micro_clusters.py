"""Rows of a link reduced to the occupied cells of a fixed grid, in one pass and in memory that does not grow with them.

A cell is half a doubling of mean file size by half a doubling of file count by 0.05 of load. The grid is fixed and the
sums are integers (offsets from the cell's centre in units of 2⁻¹⁶), so the result depends on neither the order nor the
batching of the rows. BIRCH, which grows its own grid, does.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

CELLS_PER_DOUBLING = 2
CELLS_PER_LOAD = 20
_PER_UNIT = np.array([CELLS_PER_DOUBLING, CELLS_PER_DOUBLING, CELLS_PER_LOAD], dtype=np.float64)
_RESOLUTION = 2.0**16
_AXIS_BITS = 16
_AXIS_MASK = (1 << _AXIS_BITS) - 1


@dataclass(frozen=True, slots=True)
class Cells:
    """Summary of the rows of m cells.

    Attributes
    ----------
    count : (m,) rows.
    mean : (m, d) centroid.
    scatter : (m,) sum of squared distances of the rows from their centroid.
    """

    count: IntArray
    mean: FloatArray
    scatter: FloatArray

    def __len__(self) -> int:
        return len(self.count)

    def of(self, chosen: npt.NDArray[np.bool_]) -> "Cells":
        return Cells(self.count[chosen], self.mean[chosen], self.scatter[chosen])

    def join_on_grid(self, width: float) -> "Cells":
        """Join cells on a grid of this width."""
        _, joined = np.unique(np.floor(self.mean / width), axis=0, return_inverse=True)
        count = np.bincount(joined, weights=self.count)
        mean = np.column_stack([np.bincount(joined, weights=self.count * column) / count for column in self.mean.T])
        between = self.count * ((self.mean - mean[joined]) ** 2).sum(axis=1)
        scatter = np.bincount(joined, weights=self.scatter + between).astype(np.float64)
        return Cells(count.astype(np.int64), mean, scatter)


def compute_coordinates(mean_file_bytes: FloatArray, file_count: FloatArray, load: FloatArray) -> FloatArray:
    """Return rows as points: log2 of mean file size and of file count (at least 1 each), and load; (n, 3)."""
    return np.column_stack([np.log2(np.maximum(mean_file_bytes, 1.0)), np.log2(np.maximum(file_count, 1.0)), load])


def compute_cell_keys(points: FloatArray) -> IntArray:
    """Return the number of the cell that each point falls into, (n,)."""
    index = np.floor(points * _PER_UNIT).astype(np.int64)
    keys: IntArray = (index[:, 0] << 2 * _AXIS_BITS) | (index[:, 1] << _AXIS_BITS) | index[:, 2]
    return keys


def _compute_centres(keys: IntArray) -> FloatArray:
    index = np.column_stack([keys >> 2 * _AXIS_BITS, (keys >> _AXIS_BITS) & _AXIS_MASK, keys & _AXIS_MASK])
    return (index + 0.5) / _PER_UNIT


@dataclass(frozen=True, slots=True)
class MicroClusters:
    """Occupied cells with integer sums.

    Attributes
    ----------
    keys : (m,) cell numbers, ascending.
    sums : (m, 7) rows, then Σ offset and Σ offset² of the three axes, in units of the resolution.
    """

    keys: IntArray
    sums: IntArray

    @classmethod
    def empty(cls) -> Self:
        return cls(np.empty(0, dtype=np.int64), np.empty((0, 7), dtype=np.int64))

    @classmethod
    def of_points(cls, points: FloatArray) -> Self:
        """Return the cells of n points (`compute_coordinates`). O(n log n)."""
        keys = compute_cell_keys(points)
        offsets = np.rint((points - _compute_centres(keys)) * _RESOLUTION).astype(np.int64)
        ones = np.ones((len(keys), 1), dtype=np.int64)
        return cls(*_join_equal_keys(keys, np.hstack([ones, offsets, offsets**2])))

    def merge(self, other: Self) -> Self:
        """Return the cells of both sets of rows."""
        return type(self)(
            *_join_equal_keys(np.concatenate([self.keys, other.keys]), np.concatenate([self.sums, other.sums]))
        )

    @property
    def counts(self) -> IntArray:
        """Rows of each cell, (m,)."""
        return self.sums[:, 0]

    def locate_cells(self) -> FloatArray:
        """Return where each cell stands, (m, 3): mean data set of the cells that share it, mean load of its own
        rows.
        """
        dataset_keys = self.keys >> _AXIS_BITS << _AXIS_BITS
        keys, sums = _join_equal_keys(dataset_keys, self.sums)
        shared = np.searchsorted(keys, dataset_keys)
        return np.column_stack([_compute_means(keys, sums)[shared, :2], _compute_means(self.keys, self.sums)[:, 2]])

    def build_dataset_cells(self) -> Cells:
        """Summarise the cells by mean file size and file count, whatever the load."""
        keys, sums = _join_equal_keys(self.keys >> _AXIS_BITS << _AXIS_BITS, self.sums)
        return Cells(sums[:, 0], _compute_means(keys, sums)[:, :2], _compute_scatter(sums, slice(0, 2)))

    def build_load_cells(self, chosen: npt.NDArray[np.bool_]) -> Cells:
        """Summarise the ``chosen`` ones of ``keys`` by load, whatever the data set."""
        keys, sums = _join_equal_keys(self.keys[chosen] & _AXIS_MASK, self.sums[chosen])
        return Cells(sums[:, 0], _compute_means(keys, sums)[:, 2:], _compute_scatter(sums, slice(2, 3)))


def _join_equal_keys(keys: IntArray, sums: IntArray) -> tuple[IntArray, IntArray]:
    """Return the equal keys joined, ascending."""
    if not len(keys):
        return keys, sums
    order = np.argsort(keys, kind="stable")
    keys, sums = keys[order], sums[order]
    first = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1))
    return keys[first], np.add.reduceat(sums, first, axis=0)


def _compute_scatter(sums: IntArray, axes: slice) -> FloatArray:
    """Σ offset² − (Σ offset)² / n over the given axes, (m,)."""
    count = sums[:, :1].astype(np.float64)
    totals, squares = sums[:, 1:4][:, axes].astype(np.float64), sums[:, 4:7][:, axes].astype(np.float64)
    within = np.maximum(squares - totals**2 / count, 0.0).sum(axis=1)
    return np.asarray(within / _RESOLUTION**2)


def _compute_means(keys: IntArray, sums: IntArray) -> FloatArray:
    """Return the centroids, (m, 3)."""
    return np.asarray(_compute_centres(keys) + sums[:, 1:4] / sums[:, :1] / _RESOLUTION)
