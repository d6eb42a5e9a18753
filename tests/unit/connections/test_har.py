"""Logs of browsers and tools, sound and broken, as page loads."""

import json
import tracemalloc
from io import BytesIO
from itertools import chain, repeat

import pytest

from tests.unit.connections.hars import entry, har
from tradewind.connections.har import (
    MAX_ENTRIES,
    MAX_PAGES,
    NO_ENTRIES,
    NO_LOG,
    NO_PAGES,
    Har,
    build_page_loads,
    decode_har,
)
from tradewind.connections.page_load import LeftOut
from tradewind.errors import InvalidValue, TooLarge
from tradewind.units import MIB
from tradewind_agent.har.file import is_har, read_har


def decoded(document: object) -> Har:
    return decode_har(json.dumps(document).encode())


BROKEN = [
    (b"", "is empty"),
    (b"  \n", "is empty"),
    (b"\xef\xbb\xbf", "is empty"),
    (json.dumps(har(entry())).encode()[:-40], "is cut off"),
    (b"not json", "is not JSON"),
    (b"\xff\xfe\x00", "is not JSON"),
    (b"[1]", "no object called log"),
    (b'{"log": {}}', "no list called log.entries"),
    (b'{"log": {"entries": {}}}', "no list called log.entries"),
    (b'{"log": {"entries": ' + b"[" * 100_000, "nested more than|recursion limit"),
]


@pytest.mark.parametrize(("content", "reason"), BROKEN)
def test_file_that_is_no_har_is_refused_in_one_phrase(content, reason):
    for refuse in (decode_har, lambda content: read_har(BytesIO(content))):
        with pytest.raises(InvalidValue, match=reason) as refused:
            refuse(content)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("before", ["", r'"comment": "\ud800", '])
@pytest.mark.parametrize("read", [decode_har, lambda content: read_har(BytesIO(content))])
def test_invalid_number_in_json_is_refused_by_both_readers(read, before, number):
    content = f'{{"log": {{"entries": [{{{before}"time": {number}}}]}}}}'.encode()
    with pytest.raises(InvalidValue, match="is not JSON"):
        read(content)


def test_a_log_without_entries_says_so():
    with pytest.raises(InvalidValue, match="no entries"):
        build_page_loads(decoded(har()))


def test_a_log_of_too_many_entries_is_refused_by_both_readers():
    content = json.dumps(har(*repeat(1, MAX_ENTRIES + 1))).encode()
    for refuse in (decode_har, lambda content: read_har(BytesIO(content))):
        with pytest.raises(TooLarge, match="20000 entries"):
            refuse(content)


def test_a_log_of_too_many_pages_is_refused_by_both_readers():
    document = har()
    document["log"]["pages"] = [{"id": str(number)} for number in range(MAX_PAGES + 1)]
    for refuse in (decode_har, lambda content: read_har(BytesIO(content))):
        with pytest.raises(TooLarge, match=f"{MAX_PAGES} pages"):
            refuse(json.dumps(document).encode())


def test_members_that_are_not_analysed_may_not_be_nested_without_end_either():
    content = json.dumps(har(entry())).replace('{"log"', '{"x": ' + "[" * 200 + "]" * 200 + ', "log"', 1)
    with pytest.raises(InvalidValue, match="levels deep"):
        read_har(BytesIO(content.encode()))


def test_members_that_are_not_analysed_take_no_memory():
    document = har(entry())
    document["log"] |= {"_more": [[[]] * 100_000], "comment": {"entries": [1]}}
    content = json.dumps(
        {"before": {"log": [1]}, "": [{}] * 100_000, "_x": 5} | document | {"after": [{}] * 100_000}
    ).encode()
    tracemalloc.start()
    assert read_har(BytesIO(content)) == decode_har(content)
    tracemalloc.reset_peak()
    read_har(BytesIO(content))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 2 * len(content)


def test_a_log_on_disk_is_read_as_one_in_memory(tmp_path):
    document = har(entry(connect=5, headers={"X-Cache": "HIT", "Cookie": "secret"}), "text", load_ms=12.5)
    document["log"]["browser"] = {"name": "Firefox", "version": "150"}
    content = b"\xef\xbb\xbf" + json.dumps(document, indent=1).encode()
    (tmp_path / "page.har").write_bytes(content)
    streamed = read_har(tmp_path / "page.har")
    assert streamed == decode_har(content)
    assert streamed == decode_har(json.dumps(streamed.slim()).encode())
    assert streamed.tool == "Firefox"
    assert "secret" not in json.dumps(streamed.slim())


class Stream:
    """The bytes of ``pieces`` as a file that has them nowhere at once."""

    def __init__(self, pieces):
        self._pieces = pieces

    def read(self, _most_bytes):
        return next(self._pieces, b"")


@pytest.mark.parametrize(
    ("beginning", "reason"),
    [('[{"a": 1},', NO_LOG), ('{"log": [{"a": 1},', NO_LOG), ('{"log": {"entries": {"a": 1,', NO_ENTRIES),
     ('{"log": {"pages": {"a": 1,', NO_PAGES)],
)  # fmt: skip
def test_content_that_is_no_har_is_refused_by_its_beginning_and_read_no_further(beginning, reason):
    rest = (pytest.fail("it is read on") for _ in range(1))
    with pytest.raises(InvalidValue, match=reason):
        read_har(Stream(chain([beginning.encode()], rest)))


def test_a_log_of_200_mb_is_read_in_the_memory_of_one_response():
    body_bytes, entries = MIB, 200
    one = json.dumps(entry(size=body_bytes)).encode()
    head, tail = json.dumps(har(entry())).encode().split(json.dumps([entry()]).encode())
    begun, ended = one.split(b'"content": {', 1)
    text = b"x" * (MIB // 4)

    def pieces():
        yield head + b"["
        for number in range(entries):
            yield (b"," if number else b"") + begun + b'"content": {"text": "'
            yield from repeat(text, 4)
            yield b'", ' + ended
        yield b"]" + tail

    tracemalloc.start()
    try:
        (made,) = build_page_loads(read_har(Stream(pieces())))
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(made.objects) == entries
    assert most_bytes < 16 * MIB


@pytest.mark.parametrize("read", [decode_har, lambda content: read_har(BytesIO(content))])
def test_value_that_no_column_holds_is_unknown(read):
    document = har(entry(url="http://a\0b/"), entry(connect=1e-300, receive=1e300, wait=1e9, size=2**60), "\ud800")
    document["log"]["browser"] = {"name": "Fire\0fox \ud800"}
    document["log"]["entries"][1]["timings"] |= {"dns": 10**18, "blocked": 10**30, "send": "HERE"}
    har_read = read(json.dumps(document | {"_beside": [10**30, "HERE"]}).replace('"HERE"', "1e400").encode())
    (made,) = build_page_loads(har_read)
    assert har_read.tool.isprintable()
    assert made.name.isprintable()
    assert made.left_out == {LeftOut.NOT_HTTP: 1, LeftOut.MALFORMED: 1}
    assert (made.objects[0].receive, made.objects[0].wire_bytes) == (None, None)


@pytest.mark.parametrize("number", ["9" * 5_000, f"-{'9' * 5_000}.5", f"1e{'9' * 30}", f"1e-{'9' * 30}"])
@pytest.mark.parametrize("piece_bytes", [1, 700, 10_000])
def test_a_number_beyond_what_python_reads_is_unknown_too(number, piece_bytes):
    document = har(entry(receive="HERE", blocked=5), entry(10, receive=1234.5)) | {"_beside": ["HERE"]}
    content = json.dumps(document).replace('"HERE"', number).encode()
    pieces = iter([content[at : at + piece_bytes] for at in range(0, len(content), piece_bytes)])
    (made,) = build_page_loads(read_har(Stream(pieces)))
    assert [each.receive for each in made.objects] == [None, pytest.approx((0.03, 1.2645))]


@pytest.mark.parametrize("read", [decode_har, lambda content: read_har(BytesIO(content))])
def test_har_with_infinite_numbers_can_be_serialized(read):
    document = har(entry(connect="HERE", connection={"of": ["HERE"]}, headers={"X-Cache": "HERE"}), load_ms="HERE")
    document["log"]["pages"][0]["startedDateTime"] = "HERE"
    document["log"]["entries"][0]["response"]["_transferSize"] = "HERE"
    har_read = read(json.dumps(document).replace('"HERE"', "1e400").encode())
    assert decode_har(json.dumps(har_read.slim(), allow_nan=False).encode()) == har_read


@pytest.mark.parametrize("half", [r"\udc00", r"\uD83d", r"\ude00\ud83d", r"\\\ud800", r"\\ud800", "\\ud83d\\ude00"])
@pytest.mark.parametrize("piece_bytes", [1, 7, 1000])
def test_a_half_of_a_character_in_a_body_refuses_no_log(half, piece_bytes):
    document = har(entry(), entry(10))
    document["log"]["entries"][0]["response"]["content"]["text"] = "HERE"
    content = json.dumps(document).replace("HERE", half).encode()
    pieces = iter([content[at : at + piece_bytes] for at in range(0, len(content), piece_bytes)])
    for har_read in (decode_har(content), read_har(Stream(pieces))):
        (made,) = build_page_loads(har_read)
        assert len(made.objects) == 2


@pytest.mark.parametrize("read", [decode_har, lambda content: read_har(BytesIO(content))])
@pytest.mark.parametrize("bytes_of_no_text", [b"\xed\xb0\x80", b"\xff", b"\xc3"])
def test_bytes_that_are_no_text_are_refused_by_both_readers(bytes_of_no_text, read):
    content = json.dumps(har(entry(), comment="HERE")).encode().replace(b"HERE", bytes_of_no_text)
    with pytest.raises(InvalidValue, match="is not JSON in UTF-8; save it as UTF-8"):
        read(content)


@pytest.mark.parametrize(
    ("beginning", "verdict"),
    [(b'\xef\xbb\xbf{\n "log" : {\n "pages": [', True), (b'{"log":{"version":"1.2"', True), (b'{"log":"text"}', False),
     (b'{"level":"info","msg":"x"}', False), (b"", False)],
)  # fmt: skip
def test_har_is_detected_by_its_beginning(beginning, verdict):
    assert is_har(beginning) is verdict
