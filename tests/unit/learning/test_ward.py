import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score, silhouette_score

from tradewind.learning.clustering.micro_clusters import Cells
from tradewind.learning.clustering.ward import (
    CutRule,
    compute_labels,
    compute_row_distances,
    compute_silhouette,
    compute_ward_merges,
    cut,
    find_nearest_centre,
)

RULE = CutRule(min_rows=20, max_clusters=8, min_spread=0.5, max_median=1.5, min_silhouette=0.5)


def points_as_cells(points):
    return Cells(np.ones(len(points), dtype=np.int64), points, np.zeros(len(points)))


@given(st.integers(0, 2**32 - 1), st.integers(3, 40), st.integers(1, 6))
def test_unweighted_merges_are_those_of_direct_ward(seed, n, clusters):
    points = np.random.default_rng(seed).normal(size=(n, 2))
    clusters = min(clusters, n)
    ours = compute_labels(compute_ward_merges(np.ones(n), points), clusters)
    direct = fcluster(linkage(points, "ward"), clusters, "maxclust")
    assert adjusted_rand_score(direct, ours) == 1.0


@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_a_weight_counts_as_that_many_points(seed, clusters):
    rng = np.random.default_rng(seed)
    points, weights = rng.normal(size=(12, 2)), rng.integers(1, 6, 12)
    weighted = compute_labels(compute_ward_merges(weights.astype(float), points), clusters)
    repeated = fcluster(linkage(np.repeat(points, weights, axis=0), "ward"), clusters, "maxclust")
    assert adjusted_rand_score(repeated, np.repeat(weighted, weights)) == 1.0


def test_equal_distances_do_not_run_in_circles():
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert len(compute_ward_merges(np.ones(4), square)) == 3
    assert len(compute_ward_merges(np.ones(5), np.zeros((5, 2)))) == 4


@given(st.integers(0, 2**32 - 1))
def test_silhouette_of_single_rows_is_the_usual_one(seed):
    rng = np.random.default_rng(seed)
    points, labels = rng.normal(size=(30, 2)), np.arange(30) % 3
    distance = compute_row_distances(points_as_cells(points))
    found = compute_silhouette(distance, np.ones(30, dtype=np.int64), labels)
    assert found == pytest.approx(silhouette_score(points, labels))


def test_separate_groups_are_found():
    rng = np.random.default_rng(2)
    groups = [rng.normal(centre, 0.4, (60, 2)) for centre in ((17, 10), (19.5, 7.5), (24, 6), (30, 0))]
    expected = np.array([group.mean(axis=0) for group in groups])
    assert cut(points_as_cells(np.vstack(groups)), RULE) == pytest.approx(expected, abs=0.3)


def test_one_group_stays_one():
    points = np.random.default_rng(3).normal(20, 1.2, (600, 2))
    assert len(cut(points_as_cells(points), RULE)) == 1


def test_nearly_equal_rows_stay_one_however_they_fall_apart():
    points = np.repeat([[17.0, 10.0], [17.2, 10.0]], 100, axis=0)
    assert len(cut(points_as_cells(points), RULE)) == 1


def test_a_handful_of_far_rows_gets_no_leaf_of_its_own():
    rng = np.random.default_rng(4)
    points = np.vstack([rng.normal(17, 0.3, (100, 2)), rng.normal(24, 0.3, (100, 2)), np.full((5, 2), 40.0)])
    centres = cut(points_as_cells(points), RULE)
    assert len(centres) == 2
    assert np.bincount(find_nearest_centre(points, centres)).min() >= RULE.min_rows


def test_groups_that_look_near_only_next_to_a_far_one_stay_separate():
    rng = np.random.default_rng(6)
    groups = [rng.normal(centre, 0.2, (60, 2)) for centre in ((12, 3), (12, 4.4), (33, 12), (33, 13.4))]
    expected = np.array([group.mean(axis=0) for group in groups])
    assert cut(points_as_cells(np.vstack(groups)), RULE) == pytest.approx(expected, abs=0.2)


def test_continuum_is_cut_only_until_one_surface_describes_a_piece():
    sizes = np.random.default_rng(7).uniform(10, 34, 600)
    points = np.column_stack([sizes, np.full(600, 5.0)])
    centres = cut(points_as_cells(points), RULE)
    assert 4 <= len(centres) <= 6
    nearest = centres[find_nearest_centre(points, centres)]
    assert np.median(np.abs(points - nearest)[:, 0]) <= RULE.max_median
