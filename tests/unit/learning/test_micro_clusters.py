import numpy as np
import pytest

from tradewind.learning.clustering.micro_clusters import MicroClusters, compute_cell_keys, compute_coordinates


def some_points(n, seed=1):
    rng = np.random.default_rng(seed)
    return compute_coordinates(
        2.0 ** rng.uniform(0, 40, n), np.floor(2.0 ** rng.uniform(0, 20, n)), rng.uniform(0, 0.95, n)
    )


def assert_equal(one, other):
    assert np.array_equal(one.keys, other.keys)
    assert np.array_equal(one.sums, other.sums)


def test_neither_order_nor_batches_change_a_single_bit():
    points = some_points(5000)
    whole = MicroClusters.of_points(points)
    shuffled = points[np.random.default_rng(2).permutation(len(points))]
    assert_equal(whole, MicroClusters.of_points(shuffled))
    in_parts = MicroClusters.empty()
    for part in np.array_split(shuffled, 7):
        in_parts = MicroClusters.of_points(part).merge(in_parts)
    assert_equal(whole, in_parts)


def test_a_cell_knows_count_mean_and_scatter_of_its_rows():
    points = some_points(300) * [0.05, 0.05, 1.0]  # few cells, many rows each
    cells = MicroClusters.of_points(points)
    data_sets = cells.build_dataset_cells()
    keys = compute_cell_keys(points * [1, 1, 0])
    for i, key in enumerate(np.unique(keys)):
        own = points[keys == key, :2]
        assert data_sets.count[i] == len(own)
        assert data_sets.mean[i] == pytest.approx(own.mean(axis=0), abs=1e-4)
        assert data_sets.scatter[i] == pytest.approx(((own - own.mean(axis=0)) ** 2).sum(), abs=1e-2)


def test_loads_are_summed_over_data_sets():
    points = some_points(2000)
    cells = MicroClusters.of_points(points)
    loads = cells.build_load_cells(np.ones(len(cells.keys), dtype=bool))
    assert loads.count.sum() == 2000
    assert np.average(loads.mean[:, 0], weights=loads.count) == pytest.approx(points[:, 2].mean(), abs=1e-4)
    assert loads.scatter.sum() < 2000 * 0.05**2


def test_cells_of_one_data_set_stand_at_one_place_whatever_their_load():
    points = np.array([[17.1, 10.1, 0.1], [17.2, 10.2, 0.8]])
    where = MicroClusters.of_points(points).locate_cells()
    assert where[0, :2] == pytest.approx(where[1, :2])
    assert where[:, 2] == pytest.approx([0.1, 0.8], abs=1e-4)


def test_joined_cells_keep_rows_mean_and_scatter():
    fine = MicroClusters.of_points(some_points(3000)).build_dataset_cells()
    coarse = fine.join_on_grid(4.0)
    assert len(coarse) < len(fine) / 10
    assert coarse.count.sum() == fine.count.sum()
    whole = np.average(fine.mean, axis=0, weights=fine.count)
    for cells in (fine, coarse):
        assert np.average(cells.mean, axis=0, weights=cells.count) == pytest.approx(whole)
        spread = (cells.count * ((cells.mean - whole) ** 2).sum(axis=1)).sum() + cells.scatter.sum()
        assert spread == pytest.approx((fine.count * ((fine.mean - whole) ** 2).sum(axis=1)).sum() + fine.scatter.sum())


def test_empty_and_huge_files_have_a_cell():
    edges = compute_coordinates(np.array([0.0, 1e18]), np.array([0.0, 1e12]), np.array([0.0, 0.95]))
    assert MicroClusters.of_points(edges).counts.tolist() == [1, 1]
