"""Feed readers of other programs' output with damaged logs, traces, messages and streams."""

import io
import json
import time
from collections.abc import Callable, Mapping, Sequence

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from benchmarks.api.cases import make_live_requests, make_log_lines
from benchmarks.fuzz import wire
from tradewind.connections.har import build_page_loads, decode_har
from tradewind.errors import TradewindError
from tradewind.wire.heartbeats import Completion, Heartbeat
from tradewind.wire.recommendations import RecommendRequest
from tradewind.wire.records import parse_row
from tradewind_agent.history.importers.detect import FORMATS
from tradewind_agent.importers import ImportContext, import_file
from tradewind_agent.meters.power_trace import read_power_trace
from tradewind_agent.serve.messages import RequestRefused

BATCH_SIZE = 200
REFUSALS = (TradewindError, ValidationError, RequestRefused)
"""The exceptions by which a reader refuses."""

Read = Callable[[bytes], object]

ENDS = ImportContext(source="alpha", destination="beta")

ENTRY = {
    "startedDateTime": "2026-05-01T12:00:00Z",
    "time": 30,
    "request": {"method": "GET", "url": "https://example.org/a", "headers": []},
    "response": {"status": 200, "bodySize": 10, "headers": []},
    "timings": {"send": 0, "wait": 20, "receive": 10},
}
GOOD: Sequence[bytes] = (
    next(iter(make_log_lines(1))),
    json.dumps({"log": {"version": "1.2", "pages": [], "entries": [ENTRY]}}).encode(),
    json.dumps(make_live_requests()[0]).encode(),
    *wire.GOOD,
    b"time,power_w\n0,10.0\n1,12.5\n2,11.0\n",
    b"Throughput,FileSize,P,CC,StartTime,TotalEnergy,Bandwidth,RTT\n9.1,100,2,4,1700000000,55,10,40\n",
    (
        b"DATE=20260301000000.000000 HOST=h PROG=globus-gridftp-server NL.EVNT=FTP_INFO START=20260301000000.000000 "
        b"USER=u FILE=/f BUFFER=0 BLOCK=262144 NBYTES=1000 VOLUME=/ STREAMS=4 DEST=[10.0.0.1] TYPE=RETR CODE=226\n"
    ),
    b'{"level":"info","msg":"Copied (new)","object":"a","size":10,"time":"2026-03-01T00:00:00Z"}\n',
    b"2026-03-01 00:00:00 NOTICE - Download complete: /f\n",
    b'Sun Mar  1 10:00:10 2026 [pid 3] [u] OK UPLOAD: Client "192.0.2.6", "/f", 81920000 bytes, 8000.00Kbyte/sec\n',
    (
        b'{"TPC":"https","Xeq":{"Beg":"2026-03-01T10:00:00.000Z","End":"2026-03-01T10:00:09.042Z","RC":0,"Strm":4,'
        b'"Type":"pull"},"Src":"https://a.example.org/a","Dst":"https://b.example.org/a","Size":1000}\n'
    ),
    (
        b'{"event_type":"transfer-done","payload":{"request-id":"r","bytes":10,"src-rse":"A","dst-rse":"B",'
        b'"started_at":"2026-03-01 10:00:00","transferred_at":"2026-03-01 10:00:10"}}\n'
    ),
    (
        b"_source.data.file_state,_source.data.source_surl,_source.data.dest_surl,_source.data.filesize,"
        b"_source.data.finish_time,_source.data.tx_duration\n"
        b'FINISHED,davs://a.example.org/a,davs://b.example.org/a,"1,234,567",2026-03-01T10:00:05,2.5\n'
    ),
    b'level=info msg="x" stats.bytes=10 stats.elapsedTime=2 stats.totalBytes=10 time=2026-03-01T10:00:00Z\n',
)
ODD = (
    b"",
    b"nan",
    b"-1",
    b"1e400",
    b"9" * 400,
    b"\x00",
    b"\xff",
    b'"',
    b"[" * 3000,
    b"\\ud800",
    b"null",
    b"0",
    b"-0.0",
    "²".encode(),
    "²".encode("latin-1"),
)
"""Among them digits that are no numbers."""


def list_readers() -> Mapping[str, Read]:
    """Return the readers by name; each reads its input to the end."""

    def build_importer(name: str) -> Read:
        return lambda data: list(import_file(io.BytesIO(data), format=name, context=ENDS))

    importers: dict[str, Read] = {f"importer {name}": build_importer(name) for name in ("auto", *FORMATS)}
    return {
        **importers,
        **wire.list_readers(),
        "power trace": lambda data: read_power_trace(data.decode(errors="replace")),
        "HAR": lambda data: build_page_loads(decode_har(data)),
        "record": parse_row,
        "recommendation": RecommendRequest.model_validate_json,
        "heartbeat": lambda data: Heartbeat.model_validate_json(data).to_sample(),
        "completion": Completion.model_validate_json,
    }


@st.composite
def draw_damaged(draw: st.DrawFn) -> bytes:
    """Draw random bytes, or good input with pieces of it replaced."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=500))
    data = draw(st.sampled_from(GOOD))
    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, len(data)))
        end = min(len(data), first + draw(st.integers(0, 12)))
        data = data[:first] + draw(st.sampled_from(ODD) | st.binary(max_size=8)) + data[end:]
    return data


def feed_reader(read: Read, for_s: float, first_seed: int, *, batch_size: int = BATCH_SIZE) -> tuple[int, list[str]]:
    """Feed a reader for so long; return the number of examples, and failures that were neither reads nor refusals."""
    examples, until_s = 0, time.monotonic() + for_s
    failures: list[str] = []
    while time.monotonic() < until_s and not failures:

        @seed(first_seed + examples)
        @settings(
            max_examples=batch_size,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @given(draw_damaged())
        def read_once(data: bytes) -> None:
            nonlocal examples
            examples += 1
            try:
                read(data)
            except REFUSALS:
                return

        try:
            read_once()
        except Exception as failure:  # noqa: BLE001 - the failures that are looked for
            failures.append(repr(failure)[:300])
    return examples, failures
