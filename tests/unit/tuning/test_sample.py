import math

import pytest

from tradewind.dataset import ChunkKind
from tradewind.errors import InvalidValue
from tradewind.parameters import UNTUNED, Parameters
from tradewind.tuning import ChunkProgress, TickSample
from tradewind.tuning.sample import MAX_STREAMS

GOOD = {
    "sequence": 3,
    "at_s": 15.0,
    "interval_s": 5.0,
    "bytes_moved": 10,
    "throughput_bps": 16.0,
    "remaining_bytes": 5,
    "remaining_files": 1,
}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sequence", -1),
        ("interval_s", -0.1),
        ("interval_s", math.inf),
        ("bytes_moved", -1),
        ("throughput_bps", -1.0),
        ("throughput_bps", math.nan),
        ("throughput_bps", 1e17),
        ("remaining_bytes", -1),
        ("remaining_files", -1),
        ("rtt_s", -0.01),
        ("min_rtt_s", math.nan),
        ("sent_bytes", -5),
        ("power_w", -1.0),
        ("power_w", math.inf),
    ],
)
def test_an_impossible_value_is_refused_by_its_name(field, value):
    with pytest.raises(InvalidValue) as refused:
        TickSample(**{**GOOD, field: value})
    assert refused.value.field == field


def test_a_time_that_is_none_is_refused():
    with pytest.raises(InvalidValue, match="at: must be a time"):
        TickSample(**{**GOOD, "at_s": math.nan})


def test_more_bytes_sent_again_than_sent_are_refused():
    with pytest.raises(InvalidValue, match="retransmitted_bytes"):
        TickSample(**GOOD, sent_bytes=10, retransmitted_bytes=11)


@pytest.mark.parametrize(
    ("rate", "left", "field"),
    [
        (-1.0, 1, "chunks.1.throughput_bps"),
        (math.nan, 1, "chunks.1.throughput_bps"),
        (1.0, -1, "chunks.1.remaining_bytes"),
    ],
)
def test_an_impossible_value_of_a_chunk_is_refused_by_its_place(rate, left, field):
    chunks = (
        ChunkProgress(kind=ChunkKind.SMALL, parameters=UNTUNED, throughput_bps=1.0, remaining_bytes=1),
        ChunkProgress(kind=ChunkKind.LARGE, parameters=UNTUNED, throughput_bps=rate, remaining_bytes=left),
    )
    with pytest.raises(InvalidValue) as refused:
        TickSample(**GOOD, chunks=chunks)
    assert refused.value.field == field


def test_the_same_chunk_twice_is_refused():
    chunk = ChunkProgress(kind=ChunkKind.SMALL, parameters=UNTUNED, throughput_bps=1.0, remaining_bytes=1)
    with pytest.raises(InvalidValue, match=r"chunks\.1\.chunk: small is there twice"):
        TickSample(**GOOD, chunks=(chunk, chunk))


def test_more_streams_than_any_transfer_has_are_refused():
    kinds = (ChunkKind.SMALL, ChunkKind.LARGE)
    chunks = [ChunkProgress(kind, Parameters(concurrency=MAX_STREAMS // 2), 1.0, 1) for kind in kinds]
    TickSample(**GOOD, chunks=tuple(chunks))
    more = chunks[1]._replace(parameters=Parameters(concurrency=MAX_STREAMS // 2, parallelism=2))
    with pytest.raises(InvalidValue, match="6144 streams"):
        TickSample(**GOOD, chunks=(chunks[0], more))


def test_queueing_delay_is_never_negative_and_unknown_without_both_round_trips():
    assert TickSample(**GOOD, rtt_s=0.05, min_rtt_s=0.06).queueing_delay_s == 0
    assert TickSample(**GOOD, rtt_s=0.08, min_rtt_s=0.06).queueing_delay_s == pytest.approx(0.02)
    assert TickSample(**GOOD, rtt_s=0.08).queueing_delay_s is None
