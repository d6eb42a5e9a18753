"""Files of queries: complete, or not there."""

from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tradewind.errors import TradewindError
from tradewind_agent.service.client import Client


def stream_of(batches: int) -> bytes:
    sink = pa.BufferOutputStream()
    schema = pa.schema([("n", pa.int64())])
    with pa.ipc.new_stream(sink, schema) as writer:
        for number in range(batches):
            writer.write_batch(pa.record_batch([pa.array(range(1000 * number, 1000 * (number + 1)))], schema=schema))
    return sink.getvalue().to_pybytes()


def client(content: bytes) -> Client:
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    answer = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, content=content))
    return Client("http://service.test", "key", transport=answer)


@pytest.mark.parametrize("form", ["parquet", "arrow_file"])
def test_an_answer_that_breaks_off_leaves_the_file_of_before(tmp_path: Path, form: str) -> None:
    (tmp_path / "rows").write_bytes(b"of before")
    with client(stream_of(8)[:-3000]) as cut, pytest.raises((TradewindError, OSError, pa.ArrowInvalid)):
        getattr(cut.warehouse.query("SELECT 1"), form)(str(tmp_path / "rows"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"rows": b"of before"}


def test_a_complete_answer_takes_the_place_and_the_mode_of_the_file_of_before(tmp_path: Path) -> None:
    target = tmp_path / "rows.parquet"
    target.write_bytes(b"of before")
    target.chmod(0o600)
    (tmp_path / "link").symlink_to(target)
    with client(stream_of(3)) as complete:
        assert complete.warehouse.query("SELECT 1").parquet(str(tmp_path / "link")) == 3000
    assert pq.read_metadata(target).num_rows == 3000
    assert target.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "rows.parquet"]
