"""How far a cut goes where others suffer."""

from dataclasses import replace

import pytest

from tests.unit.tuning.simulated_path import BASE_W, MAX_THROUGHPUT, chunk_basis
from tests.unit.tuning.transfers import BIG, P
from tradewind.dataset import ChunkKind, DataSet
from tradewind.parameters import NO_CAPS, Parameters
from tradewind.tuning import Basis, ChunkProgress, DecisionKind, Sample, begin, step
from tradewind.tuning.congestion import FEW_STREAMS

LARGE = DataSet(file_count=400, total_bytes=BIG.total_bytes)
RATE_BPS = 90e6


def crowding(*datasets: DataSet) -> Basis:
    """Many more streams than are enough, some for each chunk."""
    kinds = (ChunkKind.WHOLE,) if len(datasets) == 1 else (ChunkKind.MEDIUM, ChunkKind.LARGE)
    start = Parameters(concurrency=48 // len(datasets), parallelism=1, pipelining=4)
    chunks = tuple(
        chunk_basis(dataset, start, P.table(dataset.mean_file_bytes), kind)
        for dataset, kind in zip(datasets, kinds, strict=True)
    )
    return Basis(MAX_THROUGHPUT, chunks, P.path, NO_CAPS, BASE_W)


def tick(basis: Basis, sequence: int) -> Sample:
    """One of a transfer that fills its pipe, and the queue before it."""
    return Sample(
        sequence=sequence,
        at_s=5.0 * sequence,
        interval_s=5.0,
        bytes_moved=sequence * 10**8,
        throughput_bps=RATE_BPS,
        remaining_bytes=sum(chunk.total_bytes for chunk in basis.chunks),
        remaining_files=sum(chunk.file_count for chunk in basis.chunks),
        rtt_s=0.12,
        min_rtt_s=0.06,
        sent_bytes=sequence * 10**8,
        retransmitted_bytes=0,
        chunks=tuple(
            ChunkProgress(
                kind=chunk.kind,
                parameters=chunk.plan.parameters,
                throughput_bps=RATE_BPS / len(basis.chunks),
                remaining_bytes=chunk.total_bytes,
            )
            for chunk in basis.chunks
        ),
    )


@pytest.mark.parametrize(("datasets", "enough"), [((BIG,), 12), ((BIG, LARGE), FEW_STREAMS)])
def test_of_many_streams_no_more_are_kept_than_the_tables_say_are_enough(datasets, enough):
    basis = crowding(*datasets)
    state, _ = step(basis, begin(basis), tick(basis, 1))
    _, decision = step(basis, state, replace(tick(basis, 2), retransmitted_bytes=2 * 10**6))
    assert decision.kind is DecisionKind.CONGESTION
    assert decision.streams == enough
