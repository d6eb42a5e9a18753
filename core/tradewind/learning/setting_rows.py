"""A sample of at most 64 rows of each setting of each cell, chosen by a hash of the row's id, with full counts.

The rows with the smallest hashes are an unbiased sample that depends on neither order nor batching, and samples of
parts merge into the sample of the whole. So one pass over the logs is enough: cells become leaves afterwards.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
HashArray = npt.NDArray[np.uint64]

ROWS_A_SETTING = 64
ROWS_AT_MOST = 1 << 18
"""Rows kept in all; beyond it each setting of a cell keeps half as many, again and again, down to one."""


def hash_rows(*columns: npt.NDArray[np.generic]) -> HashArray:
    """Return the 64-bit hash of rows of 64-bit columns, (n,), by SplitMix64's finaliser; equal rows hash equal, NaN
    too.
    """
    state = np.full(len(columns[0]), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in columns:
        if column.dtype.kind == "f":
            canonical = np.where(np.isnan(column.astype(np.float64)), np.nan, column.astype(np.float64) + 0.0)
            bits = np.ascontiguousarray(canonical).view(np.uint64)
        else:
            bits = column.astype(np.uint64)
        state = (state ^ bits) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = state ^ (state >> np.uint64(31))
    return state


@dataclass(frozen=True, slots=True)
class LeafRows:
    """Rows that the surfaces of one leaf are fitted on.

    Attributes
    ----------
    settings : (s, a) axis values of each setting, NaN where not logged.
    counts : (s,) rows that each setting had, kept or not.
    setting : (r,) index into ``settings`` of each kept row.
    values : (r, d) what was kept of it, in the columns given to `SettingRows`.
    """

    settings: FloatArray
    counts: IntArray
    setting: IntArray
    values: FloatArray


@dataclass(frozen=True, slots=True)
class SettingRows:
    """The sample of a link. Groups are the settings of each cell.

    Attributes
    ----------
    group, cell, setting_key, counts : (g,) hash of the group (ascending), its cell, hash of its setting, its rows.
    settings : (g, a) axis values of each group.
    row_group, row_hash : (r,) group and hash of each kept row, ascending.
    values : (r, d) what is kept of it.
    kept : rows kept of a group at most.
    """

    group: HashArray
    cell: IntArray
    setting_key: HashArray
    counts: IntArray
    settings: FloatArray
    row_group: HashArray
    row_hash: HashArray
    values: FloatArray
    rows_a_setting: int = ROWS_A_SETTING

    @classmethod
    def of_rows(cls, cell: IntArray, settings: FloatArray, row_hash: HashArray, values: FloatArray) -> "SettingRows":
        """Return the sample of n rows.

        Parameters
        ----------
        cell : (n,) cell numbers (`micro_clusters.compute_cell_keys`).
        settings : (n, a) axis values.
        row_hash : (n,) hash of each row's id (`hash_rows`).
        values : (n, d) what is to be kept of each row.
        """
        setting_key = hash_rows(*settings.T)
        group_of_row = hash_rows(cell, setting_key)
        group, first, counts = np.unique(group_of_row, return_index=True, return_counts=True)
        rows = _find_smallest(group_of_row, row_hash, values, ROWS_A_SETTING)
        sample = cls(group, cell[first], setting_key[first], counts.astype(np.int64), settings[first], *rows)
        return _reduce_to_budget(sample)

    def merge(self, other: "SettingRows") -> "SettingRows":
        """Return the sample of both sets of rows."""
        group, first, inverse = np.unique(
            np.concatenate([self.group, other.group]), return_index=True, return_inverse=True
        )
        counts = np.zeros(len(group), dtype=np.int64)
        np.add.at(counts, inverse, np.concatenate([self.counts, other.counts]))
        rows_a_setting = min(self.rows_a_setting, other.rows_a_setting)
        rows = _find_smallest(
            np.concatenate([self.row_group, other.row_group]),
            np.concatenate([self.row_hash, other.row_hash]),
            np.concatenate([self.values, other.values]),
            rows_a_setting,
        )
        sample = SettingRows(
            group,
            np.concatenate([self.cell, other.cell])[first],
            np.concatenate([self.setting_key, other.setting_key])[first],
            counts,
            np.concatenate([self.settings, other.settings])[first],
            *rows,
            rows_a_setting=rows_a_setting,
        )
        return _reduce_to_budget(sample)

    def build_leaf_rows(self, cells: IntArray) -> LeafRows:
        """Return the rows of the leaf of these cells: its settings in order of their hash, at most 64 rows each."""
        chosen = np.flatnonzero(np.isin(self.cell, cells))
        keys, first, inverse = np.unique(self.setting_key[chosen], return_index=True, return_inverse=True)
        counts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(counts, inverse, self.counts[chosen])
        in_leaf = np.isin(self.row_group, self.group[chosen])
        position = np.searchsorted(self.group[chosen], self.row_group[in_leaf])
        row_keys, _, values = _find_smallest(
            keys[inverse[position]], self.row_hash[in_leaf], self.values[in_leaf], ROWS_A_SETTING
        )
        return LeafRows(self.settings[chosen][first], counts, np.searchsorted(keys, row_keys).astype(np.int64), values)


def _reduce_to_budget(sample: SettingRows) -> SettingRows:
    """Keep fewer rows a group if the sample is too big; the number depends only on the counts, not on the order."""
    rows_a_setting = sample.rows_a_setting
    while rows_a_setting > 1 and np.minimum(sample.counts, rows_a_setting).sum() > ROWS_AT_MOST:
        rows_a_setting //= 2
    if rows_a_setting == sample.rows_a_setting:
        return sample
    row_group, row_hash, values = _find_smallest(sample.row_group, sample.row_hash, sample.values, rows_a_setting)
    return replace(sample, row_group=row_group, row_hash=row_hash, values=values, rows_a_setting=rows_a_setting)


def _find_smallest(
    group: HashArray, row_hash: HashArray, values: FloatArray, rows_a_setting: int
) -> tuple[HashArray, HashArray, FloatArray]:
    """Find the rows with the ``rows_a_setting`` smallest hashes of each group, ordered by group and hash."""
    order = np.lexsort((row_hash, group))
    ordered = group[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(order) else order
    place = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    chosen = order[place < rows_a_setting]
    return group[chosen], row_hash[chosen], values[chosen]
