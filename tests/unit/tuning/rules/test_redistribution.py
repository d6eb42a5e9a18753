from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tuning.simulated_path import chunk_basis
from tradewind.dataset import ChunkKind, DataSet
from tradewind.parameters import NO_CAPS, Caps, Parameters
from tradewind.tuning.forecast import ActiveChunk
from tradewind.tuning.rules.redistribution import drop_slow_streams, redeal_streams, widen_chunks


def chunk(kind, concurrency, parallelism=1, *, rate=1e7, nbytes=10**8, files=10) -> ActiveChunk:
    parameters = Parameters(concurrency=concurrency, parallelism=parallelism, pipelining=1)
    basis = chunk_basis(DataSet(file_count=files, total_bytes=nbytes), parameters, kind=kind)
    return ActiveChunk(basis, parameters, rate, nbytes, files)


def test_channels_of_a_finished_chunk_go_to_the_one_with_most_bytes_a_channel():
    chunks = (chunk(ChunkKind.SMALL, 2, nbytes=10**7), chunk(ChunkKind.LARGE, 2, nbytes=10**9))
    assert [each.concurrency for each in redeal_streams(chunks, 8)] == [2, 6]


def test_no_chunk_gets_more_channels_than_files():
    chunks = (chunk(ChunkKind.SMALL, 2, nbytes=10**7), chunk(ChunkKind.LARGE, 2, nbytes=10**9, files=3))
    assert [each.concurrency for each in redeal_streams(chunks, 8)] == [5, 3]


@given(st.integers(1, 20), st.integers(1, 4), st.integers(1, 4), st.integers(1, 60), st.integers(1, 30))
def test_no_more_streams_are_dealt_than_there_are(concurrency, parallelism, other, streams, files):
    chunks = (chunk(ChunkKind.SMALL, concurrency, files=files), chunk(ChunkKind.LARGE, other, parallelism, files=files))
    before = sum(min(each.parameters.concurrency, files) * each.parameters.parallelism for each in chunks)
    assert sum(each.streams for each in redeal_streams(chunks, streams)) <= max(before, streams)


def widened_to(chunks, streams, caps=NO_CAPS, least_s=1.0):
    now = tuple(each.parameters for each in chunks)
    return [
        (each.concurrency, each.parallelism) for each in widen_chunks(chunks, now, streams, caps=caps, least_s=least_s)
    ]


def test_the_last_file_gets_the_streams_of_those_that_are_done():
    assert widened_to((chunk(ChunkKind.LARGE, 1, 3, files=1),), 6) == [(1, 6)]
    assert widened_to((chunk(ChunkKind.LARGE, 2, 3, files=2),), 9) == [(2, 4)], "every file gets as many"
    assert widened_to((chunk(ChunkKind.LARGE, 1, 3, files=1),), 60) == [(1, 16)]
    assert widened_to((chunk(ChunkKind.LARGE, 1, 3, files=1),), 6, Caps(parallelism=4)) == [(1, 4)]


def test_files_that_wait_for_a_channel_and_such_as_end_soon_get_no_more_streams():
    assert widened_to((chunk(ChunkKind.LARGE, 1, 3, files=2),), 6) == [(1, 3)]
    assert widened_to((chunk(ChunkKind.LARGE, 1, 3, files=1, nbytes=10**6),), 6) == [(1, 3)]


def test_streams_of_a_finished_chunk_go_where_most_is_left_for_each():
    chunks = (chunk(ChunkKind.MEDIUM, 2, 1, files=2, nbytes=10**8), chunk(ChunkKind.LARGE, 1, 2, files=1, nbytes=10**9))
    assert widened_to(chunks, 8) == [(2, 1), (1, 6)]


@given(st.integers(1, 20), st.integers(1, 4), st.integers(1, 4), st.integers(1, 60), st.integers(1, 30))
def test_no_more_streams_are_given_than_there_are(concurrency, parallelism, other, streams, files):
    chunks = (chunk(ChunkKind.SMALL, concurrency, files=files), chunk(ChunkKind.LARGE, other, parallelism, files=files))
    before = sum(each.parameters.streams for each in chunks)
    assert sum(cc * p for cc, p in widened_to(chunks, streams)) <= max(before, streams)


def test_streams_far_slower_than_their_siblings_are_retired_one_at_a_time():
    chunks = (chunk(ChunkKind.SMALL, 4, 3, rate=12e6), chunk(ChunkKind.LARGE, 2, 2, rate=80e6))
    assert [each.parallelism for each in drop_slow_streams(chunks)] == [2, 2]


def test_channels_of_slow_small_files_and_even_streams_stay():
    chunks = (chunk(ChunkKind.SMALL, 8, 1, rate=1e6), chunk(ChunkKind.LARGE, 2, 2, rate=80e6))
    assert drop_slow_streams(chunks) == tuple(each.parameters for each in chunks)
    even = (chunk(ChunkKind.SMALL, 4, 2, rate=40e6), chunk(ChunkKind.LARGE, 2, 2, rate=80e6))
    assert drop_slow_streams(even) == tuple(each.parameters for each in even)
    alone = (chunk(ChunkKind.WHOLE, 4, 2, rate=1.0),)
    assert drop_slow_streams(alone) == (alone[0].parameters,)
