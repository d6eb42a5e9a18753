import tracemalloc

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

from tradewind.cluster import find_nearest_leaf
from tradewind.errors import CannotFit
from tradewind.learning.clustering.micro_clusters import MicroClusters, compute_coordinates
from tradewind.learning.clustering.tiered import ClusterRows, Digest, find_tiers
from tradewind.learning.setting_rows import ROWS_AT_MOST, hash_rows

DATA_SETS = ((17.0, 10.5), (19.3, 7.6), (24.0, 6.0), (30.0, 0.5))
"""log2 of mean file size and count: pages, images, videos, archives."""


def some_rows(n, *, seed=1, first_id=0, load_of=lambda rng, n: rng.uniform(0.1, 0.2, n)):
    """Rows of four kinds of data set, with the kind of each."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, len(DATA_SETS), n)
    points = np.array(DATA_SETS)[kind] + rng.normal(0, 0.3, (n, 2))
    settings = np.column_stack([2.0 ** rng.integers(0, 4, n), 2.0 ** rng.integers(0, 3, n)])
    ids = np.arange(first_id, first_id + n)
    rows = ClusterRows(
        mean_file_bytes=2.0 ** points[:, 0],
        file_count=2.0 ** points[:, 1],
        load=load_of(rng, n),
        settings=settings,
        row_hash=hash_rows(ids),
        values=np.column_stack([kind, rng.normal(size=n)]),
    )
    return rows, kind


def two_loads(rng, n):
    return np.clip(np.where(rng.random(n) < 0.5, 0.1, 0.7) + rng.normal(0, 0.03, n), 0, 0.95)


def where(rows):
    return compute_coordinates(rows.mean_file_bytes, rows.file_count, rows.load)


def test_leaves_agree_with_direct_ward_on_every_row():
    rows, _ = some_rows(5000)
    tiers = find_tiers(Digest.of_rows(rows).cells)
    direct = fcluster(linkage(where(rows)[:, :2], "ward"), len(tiers.leaves), "maxclust")
    assert len(tiers.leaves) == len(DATA_SETS)
    assert adjusted_rand_score(direct, tiers.assign(where(rows))) >= 0.95


@pytest.mark.parametrize("seed", [0, 1])
def test_leaves_agree_with_direct_ward_where_some_groups_are_near_and_others_far(seed):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 6, 5000)
    centres = np.array([(14, 8), (15.5, 8), (14, 9.8), (28, 2), (31, 2), (33, 9)])
    points = np.column_stack([centres[kind] + rng.normal(0, 0.2, (5000, 2)), np.full(5000, 0.1)])
    tiers = find_tiers(MicroClusters.of_points(points))
    direct = fcluster(linkage(points[:, :2], "ward"), 6, "maxclust")
    assert adjusted_rand_score(direct, tiers.assign(points)) >= 0.95


def test_tiers_nest():
    rows, kind = some_rows(6000, load_of=two_loads)
    tiers = find_tiers(Digest.of_rows(rows).cells)
    assert [(leaf.dataset_tier, leaf.load_tier) for leaf in tiers.leaves] == [(d, i) for d in range(4) for i in (0, 1)]
    dataset_tier = np.array([leaf.dataset_tier for leaf in tiers.leaves])[tiers.assign(where(rows))]
    assert np.array_equal(dataset_tier, kind)
    for one, other in zip(tiers.leaves[::2], tiers.leaves[1::2], strict=True):
        assert one.compute_doublings_from(2.0**other.log2_mean_file_bytes, 2.0**other.log2_file_count) == 0
        assert one.load < other.load


def test_the_order_of_the_rows_changes_nothing():
    rows, _ = some_rows(3000, load_of=two_loads)
    order = np.random.default_rng(5).permutation(3000)
    batches = (
        ClusterRows(*(getattr(rows, name)[chosen] for name in ClusterRows.__slots__))
        for chosen in np.array_split(order, 11)
    )
    whole, streamed = Digest.of_rows(rows), Digest.of_batches(batches)
    assert find_tiers(whole.cells) == find_tiers(streamed.cells)
    for one, other in zip(
        find_tiers(whole.cells).group_rows(whole), find_tiers(streamed.cells).group_rows(streamed), strict=True
    ):
        assert np.array_equal(one.values, other.values)
        assert np.array_equal(one.counts, other.counts)


def test_a_new_row_goes_where_a_service_without_numpy_would_put_it():
    rows, _ = some_rows(3000, load_of=two_loads)
    tiers = find_tiers(Digest.of_rows(rows).cells)
    rng = np.random.default_rng(6)
    new = 2.0 ** rng.uniform(0, 40, 500), 2.0 ** rng.uniform(0, 20, 500), rng.uniform(0, 0.95, 500)
    for leaf, size, count, load in zip(tiers.assign(compute_coordinates(*new)), *new, strict=True):
        assert find_nearest_leaf(tiers.leaves, mean_file_bytes=size, file_count=count, load=load)[0] == leaf


def test_each_leaf_gets_rows_of_its_own_kind_and_all_are_counted():
    rows, _ = some_rows(4000)
    digest = Digest.of_rows(rows)
    tiers = find_tiers(digest.cells)
    leaf_rows = tiers.group_rows(digest)
    assert sum(int(each.counts.sum()) for each in leaf_rows) == 4000
    assert [int(each.counts.sum()) for each in leaf_rows] == [leaf.row_count for leaf in tiers.leaves]
    assert all(len(set(each.values[:, 0])) == 1 for each in leaf_rows)


def test_too_few_rows_are_one_leaf():
    rows, _ = some_rows(60)
    assert len(find_tiers(Digest.of_rows(rows).cells).leaves) == 1


def test_every_leaf_has_the_rows_it_needs():
    rows, _ = some_rows(1000, load_of=two_loads)
    tiers = find_tiers(Digest.of_rows(rows).cells, min_rows=110)
    assert all(leaf.row_count >= 110 for leaf in tiers.leaves)


def test_a_link_without_rows_has_no_clusters():
    with pytest.raises(CannotFit):
        find_tiers(MicroClusters.empty())
    with pytest.raises(CannotFit):
        Digest.of_batches([])


def test_a_million_rows_stream_in_bounded_memory():
    batches = (some_rows(50_000, seed=i, first_id=50_000 * i, load_of=two_loads)[0] for i in range(20))
    tracemalloc.start()
    try:
        digest = Digest.of_batches(batches)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert digest.cells.counts.sum() == 1_000_000
    assert len(digest.rows.row_hash) <= ROWS_AT_MOST
    assert peak_bytes < 100e6, "the rows themselves take 64 bytes each and more"
