"""Agglomerative clustering of weighted cells by Ward's criterion, cut at the best silhouette (001 step 3, ref. 37).

Notation
--------
m      cells, each with weight w (rows), centroid c (d,) and scatter
cost   growth of the within-cluster sum of squares when i and j merge: w_i · w_j / (w_i + w_j) · ‖c_i − c_j‖²
s(x)   silhouette of a row, (b − a) / max(a, b): a its mean distance to its own cluster, b to the nearest other one

Weights make cells equal to the rows they stand for, which neither scipy's nor fastcluster's linkage offers.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tradewind.learning.clustering.micro_clusters import Cells

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

STANDING_APART = 0.65
"""Silhouette of clusters worth a cut of their own: two normal ones six sd apart have 0.70, a continuum 0.62."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutRule:
    """When cells are worth separating.

    Attributes
    ----------
    min_rows : fewest rows of a cluster.
    max_clusters : most clusters.
    min_spread : root mean square distance from the common centre below which all is one cluster.
    max_median : median distance (which a few far rows do not stretch) above which a cluster is cut even where nothing
        stands apart.
    min_silhouette : mean silhouette that a separation must otherwise reach.
    """

    min_rows: int
    max_clusters: int
    min_spread: float
    max_median: float
    min_silhouette: float


def compute_ward_merges(weight: FloatArray, centre: FloatArray) -> IntArray:
    """Return the order in which m weighted points merge, by nearest-neighbour chains; O(m²) time, O(m) memory.

    Parameters
    ----------
    weight : (m,) above 0.
    centre : (m, d).

    Returns
    -------
    (m − 1, 2) indices of the two representatives that merge, cheapest merge first; the first of the two goes on
    representing the union. Ties go to the lower index.

    References
    ----------
    Murtagh & Legendre, "Ward's Hierarchical Agglomerative Clustering Method", J. Classification 31, 2014.
    """
    weight, centre = weight.astype(np.float64), centre.copy()
    alive = np.ones(len(weight), dtype=bool)
    merges: list[tuple[float, int, int]] = []
    chain: list[int] = []
    while len(merges) < len(weight) - 1:
        if not chain:
            chain.append(int(np.argmax(alive)))
        tip = chain[-1]
        cost = weight * weight[tip] / (weight + weight[tip]) * ((centre - centre[tip]) ** 2).sum(axis=1)
        cost[~alive] = np.inf
        cost[tip] = np.inf
        nearest = int(np.argmin(cost))
        if len(chain) > 1 and cost[chain[-2]] <= cost[nearest]:  # on a tie go back, or the chain could run in circles
            survivor, gone = sorted((chain.pop(), chain.pop()))
            merges.append((float(cost[survivor if survivor != tip else gone]), survivor, gone))
            both = weight[survivor] + weight[gone]
            centre[survivor] = (weight[survivor] * centre[survivor] + weight[gone] * centre[gone]) / both
            weight[survivor] = both
            alive[gone] = False
        else:
            chain.append(nearest)
    merges.sort(key=lambda merge: merge[0])  # stable: a merge stays after those that made its parts
    return np.array([(survivor, gone) for _, survivor, gone in merges], dtype=np.int64).reshape(-1, 2)


def compute_labels(merges: IntArray, clusters: int) -> IntArray:
    """Return the label of each of the m points when the dendrogram is cut into ``clusters``, (m,), numbered by first
    point.
    """
    m = len(merges) + 1
    parent = np.arange(m)
    for survivor, gone in merges[: m - clusters]:
        parent[parent == gone] = survivor
    labels: IntArray = np.unique(parent, return_inverse=True)[1].astype(np.int64)
    return labels


def compute_centres(cells: Cells, labels: IntArray) -> FloatArray:
    """Return the weighted centroid of each label, (k, d)."""
    totals = np.bincount(labels, weights=cells.count)
    columns = [np.bincount(labels, weights=cells.count * column) / totals for column in cells.mean.T]
    return np.column_stack(columns)


def find_nearest_centre(points: FloatArray, centres: FloatArray) -> IntArray:
    """Return the index of the nearest of k centres for each of n points, (n,); ties go to the lower index."""
    distance = np.stack([((points - centre) ** 2).sum(axis=1) for centre in centres])
    nearest: IntArray = distance.argmin(axis=0).astype(np.int64)
    return nearest


def compute_row_distances(cells: Cells) -> FloatArray:
    """Return the root mean square distance of rows of two cells, √(‖c_i − c_j‖² + v_i + v_j) with variances v, (m,
    m).
    """
    variance = cells.scatter / cells.count
    squared = np.asarray(variance[:, None] + variance[None, :])
    for column in cells.mean.T:
        squared += (column[:, None] - column[None, :]) ** 2
    return np.asarray(np.sqrt(squared))


def compute_silhouette(distance: FloatArray, count: IntArray, labels: IntArray) -> float:
    """Return the mean silhouette over all rows of m cells; 0 for a single label. O(m² · k).

    Parameters
    ----------
    distance : (m, m) of `compute_row_distances`.
    count, labels : (m,) rows and label of each cell, labels from 0 without gaps.
    """
    k = int(labels.max()) + 1
    if k < 2:
        return 0.0
    weight = count.astype(np.float64)
    member = np.zeros((len(weight), k))
    member[np.arange(len(weight)), labels] = weight
    size = member.sum(axis=0)
    to_cluster = distance @ member
    own = np.arange(len(weight)), labels
    others = np.maximum(size[labels] - 1.0, 1.0)
    a = (to_cluster[own] - np.diag(distance)) / others
    mean_to = to_cluster / size
    mean_to[own] = np.inf
    b = mean_to.min(axis=1)
    top = np.maximum(a, b)
    score = np.divide(b - a, top, out=np.zeros_like(top), where=(top > 0) & (size[labels] > 1))
    return float(np.average(score, weights=weight))


def cut(cells: Cells, rule: CutRule) -> FloatArray:
    """Return the centres of the best clusters of the cells, (k, d), in ascending order of their coordinates.

    The best silhouette favours the coarsest structure: of pages, images and archives it joins the first two, which are
    near each other only in comparison with the third. So each cluster is cut again by itself while its parts stand
    apart, or while it is too wide to be described by one surface.
    """
    finished: list[FloatArray] = []
    waiting = [(cells, rule.min_silhouette)]
    while waiting:
        group, min_silhouette = waiting.pop(0)
        centres = _find_best_cut(group, rule, min_silhouette, rule.max_clusters - len(waiting) - len(finished))
        if len(centres) == 1:
            finished.append(centres[0])
            continue
        nearest = find_nearest_centre(group.mean, centres)
        stricter = max(min_silhouette, STANDING_APART)
        waiting += [(group.of(nearest == i), stricter) for i in range(len(centres))]
    centres = _drop_small_clusters(cells, np.array(finished), rule.min_rows)
    return centres[np.lexsort(centres.T[::-1])]


def _find_best_cut(cells: Cells, rule: CutRule, min_silhouette: float, max_clusters: int) -> FloatArray:
    """Return the centres of the number of clusters with the highest mean silhouette, the fewer on a tie, (k, d).

    For each number the dendrogram's centroids are taken, cells go to the nearest one (as new rows will), and centroids
    with too few rows are dropped, the smallest first. All stays one cluster if no silhouette exceeds the minimum,
    unless that one is wider than the rule permits.
    """
    overall_mean = compute_centres(cells, np.zeros(len(cells), dtype=np.int64))
    squared = ((cells.mean - overall_mean) ** 2).sum(axis=1) + cells.scatter / cells.count
    rows = cells.count.sum()
    if squared @ cells.count < rows * rule.min_spread**2 or rows < 2 * rule.min_rows:
        return overall_mean
    outwards = np.argsort(squared, kind="stable")
    middle = outwards[np.searchsorted(np.cumsum(cells.count[outwards]), rows / 2)]
    best, best_score = overall_mean, min_silhouette if squared[middle] <= rule.max_median**2 else -1.0
    distance = compute_row_distances(cells)
    merges = compute_ward_merges(cells.count.astype(np.float64), cells.mean)
    for clusters in range(2, min(max_clusters, len(cells)) + 1):
        centres = _drop_small_clusters(cells, compute_centres(cells, compute_labels(merges, clusters)), rule.min_rows)
        score = compute_silhouette(distance, cells.count, find_nearest_centre(cells.mean, centres))
        if score > best_score:
            best, best_score = centres, score
    return best


def _drop_small_clusters(cells: Cells, centres: FloatArray, min_rows: int) -> FloatArray:
    while len(centres) > 1:
        rows = np.bincount(find_nearest_centre(cells.mean, centres), weights=cells.count, minlength=len(centres))
        smallest = int(rows.argmin())
        if rows[smallest] >= min_rows:
            break
        centres = np.delete(centres, smallest, axis=0)
    return centres
