import hashlib

import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.agent.records import lines, records
from tradewind_agent.service.batches import LogBatch, split_into_batches


def content_of(batch: LogBatch) -> bytes:
    return zstandard.ZstdDecompressor().stream_reader(batch.compressed).read()


@given(
    st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line and b"\r" not in line), max_size=50),
    st.integers(1, 7),
    st.integers(1, 60),
)
def test_batches_hold_every_line_once_in_order_within_both_bounds(rows, max_rows, max_bytes):
    batches = list(split_into_batches(rows, max_rows=max_rows, max_bytes=max_bytes))
    assert b"".join(content_of(batch) for batch in batches) == b"".join(row + b"\n" for row in rows)
    for batch in batches:
        content = content_of(batch)
        assert batch.rows == content.count(b"\n") <= max_rows
        assert len(content) <= max_bytes or batch.rows == 1
        assert batch.sha256 == hashlib.sha256(content).hexdigest()


def test_records_and_their_lines_make_the_same_batch():
    (of_records,), (of_lines,) = split_into_batches(records(5)), split_into_batches(lines(5))
    assert of_records.sha256 == of_lines.sha256 == LogBatch.of_ndjson(b"".join(lines(5))).sha256
