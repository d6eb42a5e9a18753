from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tuning.simulated_path import chunk_basis
from tradewind.dataset import ChunkKind, DataSet
from tradewind.parameters import Parameters
from tradewind.tuning.forecast import ActiveChunk
from tradewind.tuning.redistribution import dealt, without_slow_streams


def chunk(kind, concurrency, parallelism=1, *, rate=1e7, nbytes=10**8, files=10) -> ActiveChunk:
    parameters = Parameters(concurrency=concurrency, parallelism=parallelism, pipelining=1)
    basis = chunk_basis(DataSet(file_count=files, total_bytes=nbytes), parameters, kind=kind)
    return ActiveChunk(basis, parameters, rate, nbytes, files)


def test_channels_of_a_finished_chunk_go_to_the_one_with_most_bytes_a_channel():
    chunks = (chunk(ChunkKind.SMALL, 2, nbytes=10**7), chunk(ChunkKind.LARGE, 2, nbytes=10**9))
    assert [each.concurrency for each in dealt(chunks, 8)] == [2, 6]


def test_no_chunk_gets_more_channels_than_files():
    chunks = (chunk(ChunkKind.SMALL, 2, nbytes=10**7), chunk(ChunkKind.LARGE, 2, nbytes=10**9, files=3))
    assert [each.concurrency for each in dealt(chunks, 8)] == [5, 3]


@given(st.integers(1, 20), st.integers(1, 4), st.integers(1, 4), st.integers(1, 60), st.integers(1, 30))
def test_no_more_streams_are_dealt_than_there_are(concurrency, parallelism, other, streams, files):
    chunks = (chunk(ChunkKind.SMALL, concurrency, files=files), chunk(ChunkKind.LARGE, other, parallelism, files=files))
    before = sum(min(each.parameters.concurrency, files) * each.parameters.parallelism for each in chunks)
    assert sum(each.streams for each in dealt(chunks, streams)) <= max(before, streams)


def test_streams_far_slower_than_their_siblings_are_retired_one_at_a_time():
    chunks = (chunk(ChunkKind.SMALL, 4, 3, rate=12e6), chunk(ChunkKind.LARGE, 2, 2, rate=80e6))
    assert [each.parallelism for each in without_slow_streams(chunks)] == [2, 2]


def test_channels_of_slow_small_files_and_even_streams_stay():
    chunks = (chunk(ChunkKind.SMALL, 8, 1, rate=1e6), chunk(ChunkKind.LARGE, 2, 2, rate=80e6))
    assert without_slow_streams(chunks) == tuple(each.parameters for each in chunks)
    even = (chunk(ChunkKind.SMALL, 4, 2, rate=40e6), chunk(ChunkKind.LARGE, 2, 2, rate=80e6))
    assert without_slow_streams(even) == tuple(each.parameters for each in even)
    alone = (chunk(ChunkKind.WHOLE, 4, 2, rate=1.0),)
    assert without_slow_streams(alone) == (alone[0].parameters,)
