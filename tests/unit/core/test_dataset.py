import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.dataset import ChunkKind, DataSet, SizeBin, bin_sizes, classify_file, split_by_bdp
from tradewind.errors import InvalidValue
from tradewind.path import Path

sizes_lists = st.lists(st.integers(min_value=0, max_value=10**10), min_size=1, max_size=200)


@given(sizes_lists)
def test_the_summary_of_sizes_agrees_with_statistics(sizes):
    summary = DataSet.of_sizes(sizes)
    assert summary.file_count == len(sizes)
    assert summary.total_bytes == sum(sizes)
    assert (summary.min_file_bytes, summary.max_file_bytes) == (min(sizes), max(sizes))
    assert summary.sd_file_bytes == pytest.approx(statistics.pstdev(sizes), rel=1e-6, abs=1e-3)


@given(sizes_lists, st.floats(min_value=1e3, max_value=1e9))
def test_chunks_lose_no_file_and_no_byte(sizes, bdp_bytes):
    chunks = split_by_bdp(bin_sizes(sizes), bdp_bytes)
    assert sum(chunk.dataset.file_count for chunk in chunks) == len(sizes)
    assert sum(chunk.dataset.total_bytes for chunk in chunks) == sum(sizes)
    assert chunks[-1].max_file_bytes is None
    assert all(chunk.max_file_bytes is not None for chunk in chunks[:-1])


def test_files_are_small_up_to_one_bdp_and_large_beyond_twenty():
    bdp = Path(bandwidth_bps=1e8, rtt_s=0.08).bdp_bytes
    assert bdp == 1e6
    assert [classify_file(size, bdp) for size in (1e6, 1e6 + 1, 2e7, 2e7 + 1)] == [
        ChunkKind.SMALL,
        ChunkKind.MEDIUM,
        ChunkKind.MEDIUM,
        ChunkKind.LARGE,
    ]


def test_a_mixed_data_set_has_one_chunk_a_size_class():
    bins = (SizeBin(131_072, 300, 30_000_000), SizeBin(4_194_304, 10, 30_000_000), SizeBin(2**27, 1, 100_000_000))
    chunks = split_by_bdp(bins, 1e6)
    assert [(c.kind, c.dataset.file_count, c.max_file_bytes) for c in chunks] == [
        (ChunkKind.SMALL, 300, 1_000_000),
        (ChunkKind.MEDIUM, 10, 20_000_000),
        (ChunkKind.LARGE, 1, None),
    ]


def test_more_size_classes_than_may_run_together_become_one_chunk():
    bins = (SizeBin(131_072, 300, 30_000_000), SizeBin(2**27, 1, 100_000_000))
    assert len(split_by_bdp(bins, 1e6, 2)) == 2
    (whole,) = split_by_bdp(bins, 1e6, 1)
    assert (whole.kind, whole.max_file_bytes) == (ChunkKind.WHOLE, None)
    assert (whole.dataset.file_count, whole.dataset.total_bytes) == (301, 130_000_000)


def test_an_empty_data_set_is_refused():
    with pytest.raises(InvalidValue, match="file_count"):
        DataSet(file_count=0, total_bytes=0)
    with pytest.raises(InvalidValue, match="no files"):
        split_by_bdp((), 1e6)


@pytest.mark.parametrize("wrong", [{"bandwidth_bps": 0}, {"rtt_s": -1}, {"loss_rate": 1.5}, {"rtt_s": float("nan")}])
def test_a_path_that_cannot_be_is_refused(wrong):
    with pytest.raises(InvalidValue, match=f"path.{next(iter(wrong))}"):
        Path(**wrong)
