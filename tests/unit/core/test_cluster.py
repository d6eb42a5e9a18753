import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.cluster import Leaf, compute_load_share, find_nearest_leaf
from tradewind.errors import InvalidValue


def leaf(dataset_tier, load_tier, size, count, load):
    return Leaf(
        dataset_tier=dataset_tier,
        load_tier=load_tier,
        log2_mean_file_bytes=size,
        log2_file_count=count,
        load=load,
        row_count=100,
    )


LEAVES = (leaf(0, 0, 17, 10, 0.1), leaf(0, 1, 17, 10, 0.6), leaf(1, 0, 30, 2, 0.5))


def test_the_data_set_decides_before_the_load():
    assert find_nearest_leaf(LEAVES, mean_file_bytes=2.0**29, file_count=4, load=0.1) == (2, 1)
    assert find_nearest_leaf(LEAVES, mean_file_bytes=2.0**16, file_count=2**10, load=0.5) == (1, 1)


@given(st.permutations(LEAVES), st.floats(1, 1e12), st.floats(1, 1e6), st.floats(0, 0.95))
def test_the_order_of_the_leaves_does_not_matter(leaves, size, count, load):
    found, octaves = find_nearest_leaf(leaves, mean_file_bytes=size, file_count=count, load=load)
    expected, away = find_nearest_leaf(LEAVES, mean_file_bytes=size, file_count=count, load=load)
    assert leaves[found] is LEAVES[expected]
    assert octaves == away == leaves[found].compute_doublings_from(size, count)


def test_an_empty_file_is_looked_up_as_one_byte():
    assert find_nearest_leaf(LEAVES, mean_file_bytes=0, file_count=2**10, load=0.1) == (0, 17)


def test_without_leaves_nothing_is_nearest():
    with pytest.raises(InvalidValue):
        find_nearest_leaf((), mean_file_bytes=1, file_count=1, load=0)


def test_load_leaves_something_for_a_new_transfer():
    assert compute_load_share(known_bps=2e8, unknown_bps=3e8, bandwidth_bps=1e9) == pytest.approx(0.5)
    assert compute_load_share(known_bps=2e9, unknown_bps=3e8, bandwidth_bps=1e9) == 0.95
