"""Messages between two processes, and files that lie on disk between two of them."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from zlib import crc32

from benchmarks.api.cases import make_live_requests
from services.application.transfers.heartbeat_consumer import parse_entry as read_heartbeat_entry
from services.application.transfers.stream_consumer import StreamEntry
from tradewind.compression.codecs import Codec, CodecSetting
from tradewind.errors import TradewindError
from tradewind_agent.compression.codecs import pack
from tradewind_agent.compression.frames import Block, encode_block, encode_end
from tradewind_agent.compression.unpacking import Unpacker
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.http.response_reader import ResponseReader
from tradewind_agent.serve.body import RequestBody
from tradewind_agent.serve.messages import ReceivedRequest
from tradewind_agent.serve.reader import RequestReader
from tradewind_agent.serve.uploads.part_log import read_journal

PLAIN = b"the same again and again " * 8
HEARTBEAT = (
    b'{"sequence":1,"at":"2026-03-01T00:00:00Z","interval_s":5,"bytes_moved":1,"throughput_bps":8,'
    b'"remaining_bytes":1,"remaining_files":1,"parameters":{"concurrency":2}}'
)
ID = b"018f3b1e-7a53-7b6e-9f67-1f2a5d3c4b5a"
DECISION = json.dumps(
    {"changed": True, "kind": "hold", "reason": "", "chunks": [["large", 1, {"concurrency": 2}]]}
).encode()
ENTRY = {
    "tenant": ID,
    "transfer": ID,
    "decision": DECISION,
    "heartbeat": HEARTBEAT,
    "enquiry": json.dumps(make_live_requests()[0]).encode(),
}


def build_packed_stream() -> bytes:
    """Return a complete stream of a packed block and a plain one."""
    setting = CodecSetting(Codec.GZIP, 6)
    blocks = (
        Block(setting, len(PLAIN), crc32(PLAIN), pack(PLAIN, setting)),
        Block(None, len(PLAIN), crc32(PLAIN), PLAIN),
    )
    return b"".join(map(encode_block, blocks)) + encode_end(sha256(PLAIN + PLAIN).digest())


GOOD: Sequence[bytes] = (
    build_packed_stream(),
    (
        b"PUT /folder/a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Range: bytes 0-4/10\r\n\r\nhello"
        b"GET /b HTTP/1.1\r\nHost: h\r\nRange: bytes=0-4\r\nExpect: 100-continue\r\n\r\n"
    ),
    (
        b"HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\nContent-Range: bytes 0-4/10\r\n\r\nhello"
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    ),
    b"tradewind-parts 1 10 boot 7\ns 0 4\nw 5 9\nh 00ff\n",
    HEARTBEAT,
    DECISION,
)


def list_readers() -> Mapping[str, Callable[[bytes], object]]:
    """Return the readers by name."""
    return {
        "packed stream": unpack_stream,
        "request to serve-files": read_requests,
        "answer to the engine": read_answer,
        "journal of parts": lambda data: read_journal(data.decode(errors="replace"), boot="boot", inode=7),
        "entry of the heartbeats' stream": read_entries,
    }


def unpack_stream(data: bytes) -> None:
    """Unpack data that comes in two pieces."""
    unpacker = Unpacker()
    for piece in _split_in_half(data):
        for block in unpacker.feed(piece):
            unpacker.unpack_block(block)
    unpacker.end()


def read_requests(data: bytes) -> None:
    """Read data as requests to `serve-files`."""
    requests: list[ReceivedRequest] = []

    def build_body(declared_bytes: int | None, _invited: bool) -> RequestBody:
        return RequestBody(declared_bytes, pause=_do_nothing, resume=_do_nothing)

    reader = RequestReader(max_head_bytes=8192, deliver=requests.append, make_body=build_body, clock=lambda: 0.0)
    for piece in _split_in_half(data):
        reader.feed(piece)


class AnswerCollector:
    """Collects an answer."""

    def __init__(self) -> None:
        self.body_bytes = 0

    def on_head(self, head: ResponseHead) -> bool:
        assert head.status_line
        _ = head.content_range
        return True

    def on_data(self, data: memoryview | bytes) -> None:
        self.body_bytes += len(data)

    def on_end(self) -> None:
        pass


def read_answer(data: bytes) -> None:
    """Read data as an answer to the engine: in two pieces, then the connection ends."""
    reader = ResponseReader(AnswerCollector())
    for piece in _split_in_half(data):
        reader.feed(memoryview(piece))
    reader.note_eof()


def read_entries(data: bytes) -> None:
    """Replace each field of an entry in turn; the last refusal counts."""
    refused: Exception | None = None
    for field in ENTRY:
        try:
            read_heartbeat_entry(StreamEntry("1-1", datetime(2026, 3, 1, tzinfo=UTC), ENTRY | {field: data}))
        except TradewindError as refusal:
            refused = refusal
    if refused is not None:
        raise refused


def _split_in_half(data: bytes) -> tuple[bytes, bytes]:
    return data[: len(data) // 2], data[len(data) // 2 :]


def _do_nothing() -> None:
    pass
