import random

import pytest

from tradewind_agent.engine.http.http1 import ContentRange, RequestHead, ResponseHead
from tradewind_agent.engine.http.response_reader import ResponseReader
from tradewind_agent.errors import FileFault, MalformedResponse


class Recorder:
    """Collects events as (status, body) pairs of complete responses."""

    def __init__(self, *, has_body: bool = True) -> None:
        self.complete: list[tuple[int, bytes]] = []
        self.heads: list[ResponseHead] = []
        self.body = b""
        self._has_body = has_body

    def on_head(self, head: ResponseHead) -> bool:
        self.heads.append(head)
        return self._has_body

    def on_data(self, data: memoryview) -> None:
        self.body += bytes(data)

    def on_end(self) -> None:
        self.complete.append((self.heads[-1].status, self.body))
        self.body = b""


PIPELINED = (
    b"HTTP/1.1 100 Continue\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"
    b"HTTP/1.1 206 Partial Content\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: 1\r\n\r\n"
    b"HTTP/1.1 204 No Content\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\nx"
)
ANSWERS = [(200, b"hello"), (304, b""), (206, b"abcde"), (204, b""), (200, b""), (404, b"x")]


@pytest.mark.parametrize("seed", range(20))
def test_pipelined_answers_are_separated_for_any_piece_sizes(seed: int):
    rng = random.Random(seed)
    sink = Recorder()
    reader = ResponseReader(sink)
    position = 0
    while position < len(PIPELINED):
        step = rng.choice([1, 2, 7, 40, 400])
        reader.feed(memoryview(PIPELINED)[position : position + step])
        position += step
    assert sink.complete == ANSWERS


def test_a_long_body_reaches_the_sink_as_slices_of_the_buffer():
    class Slices(Recorder):
        def on_data(self, data: memoryview) -> None:
            kinds.append(type(data))

    kinds: list[type] = []
    reader = ResponseReader(Slices())
    reader.feed(memoryview(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"))
    reader.feed(memoryview(b"def"))
    reader.feed(memoryview(b"ghi"))
    assert kinds == [memoryview] * 3


def test_an_answer_to_head_has_no_body_whatever_it_announces():
    sink = Recorder(has_body=False)
    reader = ResponseReader(sink)
    for _ in range(2):
        reader.feed(memoryview(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"))
    assert sink.complete == [(200, b""), (200, b"")]


def test_a_body_without_length_ends_with_the_connection():
    sink = Recorder()
    reader = ResponseReader(sink)
    reader.feed(memoryview(b"HTTP/1.0 200 OK\r\n\r\nsome"))
    reader.feed(memoryview(b"thing"))
    assert sink.complete == []
    assert not sink.heads[0].keep_alive
    reader.note_eof()
    assert sink.complete == [(200, b"something")]


def test_the_end_of_the_connection_does_not_complete_an_announced_body():
    sink = Recorder()
    reader = ResponseReader(sink)
    reader.feed(memoryview(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome"))
    reader.note_eof()
    assert sink.complete == []


@pytest.mark.parametrize(
    "garbage",
    [
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"\0\1\2\3\4\5\6\7",
    ],
)
def test_garbage_is_reported_as_not_http(garbage: bytes):
    with pytest.raises(MalformedResponse, match=r"not HTTP/1\.1"):
        ResponseReader(Recorder()).feed(memoryview(garbage))


def test_a_fault_of_the_sink_comes_through_unchanged():
    class Full(Recorder):
        def on_head(self, head: ResponseHead) -> bool:
            raise FileFault("no room")

    with pytest.raises(FileFault, match="no room"):
        ResponseReader(Full()).feed(memoryview(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"))


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nbody",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4, 4\r\n\r\nbody",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nContent-Length: 9\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 4\n\nbody",
        b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nTransfer-Encoding: Chunked\n\n4\nbody\n0\n\n",
        b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n4\nbody\n0\n\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0004 ;a=b\r\nbody\r\n00\r\nA: b\r\nC: d\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 4\r\n\r\nbody",
        b"\r\nHTTP/1.1 200\r\nContent-Length : 4\r\nX: one\r\n  two\r\nno header\r\n\r\nbody",
    ],
)
def test_answer_that_other_clients_take_is_taken_and_the_next_one_too(answer: bytes):
    sink = Recorder()
    reader = ResponseReader(sink)
    for byte in answer + answer:
        reader.feed(memoryview(bytes([byte])))
    reader.feed(memoryview(answer + answer))
    assert sink.complete == [(200, b"body")] * 4


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"Content-Length: 4\r\nContent-Length: 5", "several lengths, 4, 5"),
        (b"Content-Length: -4", "length is '-4'"),
        (b"Transfer-Encoding: gzip, chunked", "'gzip, chunked', which was not asked for"),
    ],
)
def test_head_that_leaves_the_length_in_doubt_is_refused(head: bytes, reason: str):
    with pytest.raises(MalformedResponse, match=reason):
        ResponseReader(Recorder()).feed(memoryview(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\nbody"))


@pytest.mark.parametrize(
    "garbage", [b"4\r\nbodyX\r\n", b"-4\r\nbody", b"4 4\r\nbody", b"\r\n", b"z" * 20_000, b"f" * 17 + b"\r\n"]
)
def test_chunks_that_are_none_are_refused(garbage: bytes):
    reader = ResponseReader(Recorder())
    reader.feed(memoryview(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"))
    with pytest.raises(MalformedResponse, match="chunk"):
        reader.feed(memoryview(garbage))


def test_head_that_does_not_end_is_refused():
    head = b"HTTP/1.1 200 OK\r\n" + (b"x" * 998 + b"\r\n") * 1_000
    reader = ResponseReader(Recorder())
    with pytest.raises(MalformedResponse, match="does not end"):
        reader.feed(memoryview(head))


def test_cookies_are_separate_from_other_headers():
    sink = Recorder()
    ResponseReader(sink).feed(
        memoryview(b"HTTP/1.1 204 No\r\nSet-Cookie: a=1; Expires=Thu, 1\r\nset-cookie: b\r\n\r\n")
    )
    assert sink.heads[0].set_cookies == ("a=1; Expires=Thu, 1", "b")


def test_repeated_headers_are_joined_and_names_are_in_lower_case():
    sink = Recorder()
    ResponseReader(sink).feed(memoryview(b"HTTP/1.1 204 No Content\r\nX-A: 1\r\nx-a:  2 \r\n\r\n"))
    assert sink.heads[0].headers == {"x-a": "1, 2"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bytes 0-4/10", ContentRange(0, 4, 10)),
        ("bytes */10", ContentRange(None, None, 10)),
        ("bytes 5-9/*", ContentRange(5, 9, None)),
        ("pages 1-2/3", None),
        ("", None),
    ],
)
def test_content_ranges(text: str, expected: ContentRange | None):
    assert ResponseHead(206, {"content-range": text}, keep_alive=True).content_range == expected


def test_a_request_on_the_wire():
    request = RequestHead("GET", "/a%20b?c", {"Host": "h", "Range": "bytes=0-1"})
    assert request.encode() == b"GET /a%20b?c HTTP/1.1\r\nHost: h\r\nRange: bytes=0-1\r\n\r\n"


def test_no_header_can_be_smuggled_in_by_a_value():
    with pytest.raises(MalformedResponse, match="line break"):
        RequestHead("GET", "/", {"If-Range": '"a"\r\nX: y'}).encode()


@pytest.mark.parametrize("length", ["9" * 19, "9" * 5000, "-1", "+5", "²"])
def test_length_that_no_body_can_have_is_refused(length: str):
    with pytest.raises(MalformedResponse, match="its length is"):
        ResponseHead.parse(f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n".encode("latin-1"))


def test_range_that_no_file_can_have_is_not_understood():
    assert ContentRange.parse("bytes 0-9/" + "9" * 5000) is None


def test_answer_of_several_parts_is_no_part():
    lines = "Content-Range: bytes 0-4/10\r\nContent-Type: Multipart/ByteRanges; boundary=x\r\nContent-Length: 5\r\n\r\n"
    assert ResponseHead.parse(f"HTTP/1.1 206 Partial Content\r\n{lines}".encode()).content_range is None


@pytest.mark.parametrize(
    ("stated", "codings"),
    [
        ("gzip", "gzip"),
        ("identity, GZIP", "gzip"),
        ("br, gzip", "br, gzip"),
        ("aws-chunked", ""),
        ("UTF-8", ""),
        ("", ""),
    ],
)
def test_codings_are_those_that_change_the_bytes(stated: str, codings: str):
    head = ResponseHead.parse(f"HTTP/1.1 200 OK\r\nContent-Encoding: {stated}\r\nContent-Length: 5\r\n\r\n".encode())
    assert head.codings == codings


@pytest.mark.parametrize("name", [b"d\xc3\xa9j\xc3\xa0", b"d\xe9j\xe0", b"deja"])
def test_location_keeps_the_bytes_of_the_server(name: bytes):
    head = ResponseHead.parse(b"HTTP/1.1 302 Found\r\nLocation: /" + name + b"\r\nContent-Length: 0\r\n\r\n")
    assert head.location.encode("utf-8", "surrogateescape") == b"/" + name


def test_interim_answers_without_end_are_refused():
    reader = ResponseReader(Recorder())
    with pytest.raises(MalformedResponse, match="102 Processing again and again"):
        reader.feed(memoryview(b"HTTP/1.1 102 Processing\r\n\r\n" * 1000))


def test_interim_answers_of_a_server_that_works_for_a_minute_are_none_without_end():
    seconds = iter(range(1000))
    recorder = Recorder()
    reader = ResponseReader(recorder, monotonic_s=lambda: float(next(seconds)))
    for _ in range(60):
        reader.feed(memoryview(b"HTTP/1.1 102 Processing\r\n\r\n"))
    reader.feed(memoryview(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"))
    assert reader.interim_answers == 0


def test_trailer_without_end_is_refused():
    reader = ResponseReader(Recorder())
    reader.feed(memoryview(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"))
    with pytest.raises(MalformedResponse, match="its trailer does not end"):
        reader.feed(memoryview(b"Name: value\r\n" * 100_000))
