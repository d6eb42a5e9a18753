import pytest

from tradewind.mobile.io_request import MAX_IO_BLOCK_BYTES, advise_io_block_bytes


def test_no_block_size_is_advised_for_an_unknown_one():
    assert advise_io_block_bytes(None, 0.95) is None


@pytest.mark.parametrize("disk", [None, 0.0, 0.5, 0.84])
def test_no_block_is_advised_where_the_storage_is_not_the_bottleneck(disk):
    assert advise_io_block_bytes(1024, disk) is None


@pytest.mark.parametrize(
    ("used", "advised"),
    [(1024, 16384), (65536, 262144), (MAX_IO_BLOCK_BYTES // 2, MAX_IO_BLOCK_BYTES), (MAX_IO_BLOCK_BYTES, None)],
)
def test_busy_disk_gets_larger_blocks_up_to_a_bound(used, advised):
    assert advise_io_block_bytes(used, 0.95) == advised
