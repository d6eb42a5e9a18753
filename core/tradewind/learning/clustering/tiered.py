"""Tiered clustering of the logs of one link in one streaming pass (GreenDataFlow, step 3).

The first tier, source, destination, network and mover, is the link itself: each has a `Digest` of its own. The second
cuts its rows by data set, the third each of those by load. Because the outer tier is always cut first the tiers nest,
which merging from the last tier up, as printed, does not guarantee.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from tradewind.cluster import Leaf
from tradewind.errors import CannotFit
from tradewind.learning.clustering.micro_clusters import (
    FloatArray,
    IntArray,
    MicroClusters,
    compute_cell_keys,
    compute_coordinates,
)
from tradewind.learning.clustering.ward import CutRule, cut, find_nearest_centre
from tradewind.learning.setting_rows import HashArray, LeafRows, SettingRows

MIN_ROWS = 90
"""Fewest rows of a leaf unless the caller knows better: three times 30 effective degrees of freedom."""

MAX_CELLS = 1000
"""More occupied cells than this are joined to entire doublings first: clustering takes time and memory of their square.
"""


def build_dataset_rule(min_rows: int) -> CutRule:
    """Return the rule of the second tier: data sets half a doubling apart are one, more than one and a half never.

    Between the two, "reasonable structure" after Kaufman & Rousseeuw (1990) decides.
    """
    return CutRule(min_rows=min_rows, max_clusters=12, min_spread=0.5, max_median=1.5, min_silhouette=0.5)


def build_load_rule(min_rows: int) -> CutRule:
    """Return the rule of the third tier.

    The surface has load as a term of its own, so only "strong structure" is worth fewer rows a leaf.
    """
    return CutRule(min_rows=min_rows, max_clusters=3, min_spread=0.05, max_median=1.0, min_silhouette=0.7)


@dataclass(frozen=True, slots=True)
class ClusterRows:
    """A batch of n rows of one link.

    Attributes
    ----------
    mean_file_bytes, file_count, load : (n,) where the row belongs; load 0 … 0.95.
    settings : (n, a) axis values of its parameters, NaN where not logged.
    row_hash : (n,) hash of its id (`setting_rows.hash_of`).
    values : (n, d) what surfaces need of it.
    """

    mean_file_bytes: FloatArray
    file_count: FloatArray
    load: FloatArray
    settings: FloatArray
    row_hash: HashArray
    values: FloatArray


@dataclass(frozen=True, slots=True)
class Digest:
    """All that is kept of a link's rows: cells of its data sets and loads, and a sample of rows of each setting."""

    cells: MicroClusters
    rows: SettingRows

    @classmethod
    def of_rows(cls, rows: ClusterRows) -> Self:
        points = compute_coordinates(rows.mean_file_bytes, rows.file_count, rows.load)
        return cls(
            MicroClusters.of_points(points),
            SettingRows.of_rows(compute_cell_keys(points), rows.settings, rows.row_hash, rows.values),
        )

    @classmethod
    def of_batches(cls, batches: Iterable[ClusterRows]) -> Self:
        """Return the digest of a stream of at least one batch; memory depends on the batch and the cells, not on the
        stream.

        Raises
        ------
        CannotFit : there is no batch.
        """
        total: Self | None = None
        for batch in batches:
            part = cls.of_rows(batch)
            total = part if total is None else total.merge(part)
        if total is None:
            raise CannotFit("no transfer without a limit of its user has succeeded, so there is nothing to learn from")
        return total

    def merge(self, other: Self) -> Self:
        """Return the digest of both sets of rows, whatever their order."""
        return type(self)(self.cells.merge(other.cells), self.rows.merge(other.rows))


@dataclass(frozen=True, slots=True)
class Tiers:
    """Leaves of one link, ordered by data set tier and load tier."""

    leaves: tuple[Leaf, ...]

    def assign(self, points: FloatArray) -> IntArray:
        """Return the index of the nearest leaf of each of n points, (n,), by `tradewind.cluster.find_nearest_leaf`.

        Parameters
        ----------
        points : (n, 3) as `compute_coordinates` makes them.
        """
        tier = np.array([leaf.dataset_tier for leaf in self.leaves])
        first = np.flatnonzero(np.diff(tier, prepend=-1))
        centres = np.array([(leaf.log2_mean_file_bytes, leaf.log2_file_count) for leaf in self.leaves])
        loads = np.array([[leaf.load] for leaf in self.leaves])
        dataset = find_nearest_centre(points[:, :2], centres[first])
        result = np.empty(len(points), dtype=np.int64)
        for i, start in enumerate(first):
            inside = dataset == i
            result[inside] = start + find_nearest_centre(points[inside, 2:], loads[tier == i])
        return result

    def group_rows(self, digest: Digest) -> tuple[LeafRows, ...]:
        """Return the sampled rows of each leaf; a cell goes as a whole where its centroid belongs."""
        leaf_of_cell = self.assign(digest.cells.locate_cells())
        return tuple(digest.rows.build_leaf_rows(digest.cells.keys[leaf_of_cell == i]) for i in range(len(self.leaves)))


def find_tiers(cells: MicroClusters, *, min_rows: int = MIN_ROWS) -> Tiers:
    """Find the leaves of a link from its occupied cells.

    Cost O(m²) for m occupied cells, whatever the number of rows.

    Parameters
    ----------
    min_rows : fewest rows of a leaf, about three times the surface's effective degrees of freedom. A link with fewer
        rows is one leaf.

    Raises
    ------
    CannotFit : no row at all.
    """
    if not len(cells.keys):
        raise CannotFit("no transfer without a limit of its user has succeeded, so there is nothing to learn from")
    data_sets = cells.build_dataset_cells()
    if len(data_sets) > MAX_CELLS:
        data_sets = data_sets.join_on_grid(1.0)
    centres = cut(data_sets, build_dataset_rule(min_rows))
    points, counts = cells.locate_cells(), cells.counts
    dataset = find_nearest_centre(points[:, :2], centres)
    leaves: list[Leaf] = []
    for tier, centre in enumerate(centres):
        inside = dataset == tier
        loads = cut(cells.build_load_cells(inside), build_load_rule(min_rows))
        load_tier = find_nearest_centre(points[inside, 2:], loads)
        rows = np.bincount(load_tier, weights=counts[inside], minlength=len(loads))
        leaves.extend(
            Leaf(
                dataset_tier=tier,
                load_tier=i,
                log2_mean_file_bytes=float(centre[0]),
                log2_file_count=float(centre[1]),
                load=float(load[0]),
                row_count=int(rows[i]),
            )
            for i, load in enumerate(loads)
        )
    return Tiers(tuple(leaves))
