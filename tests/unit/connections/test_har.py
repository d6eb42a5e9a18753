"""Logs of browsers and tools, sound and broken, as page loads."""

import json
import tracemalloc
from io import BytesIO
from itertools import repeat

import pytest

from tests.unit.connections.hars import BEGAN, entry, har
from tradewind.connections.har import MOST_ENTRIES, MOST_PAGES, Har, decode_har, page_loads
from tradewind.connections.page_load import HttpVersion, LeftOut, PageLoad, WebObject
from tradewind.errors import InvalidValue, TooLarge
from tradewind.units import MIB
from tradewind_agent.har_file import is_har, read_har


def decoded(document: object) -> Har:
    return decode_har(json.dumps(document).encode())


def load(*entries: object, **log: object) -> PageLoad:
    (only,) = page_loads(decoded(har(*entries, **log)))
    return only


def only_object(*entries: object) -> WebObject:
    (only,) = load(*entries).objects
    return only


def test_an_object_is_received_after_all_that_came_before():
    read = only_object(entry(100, blocked=50, connect=30, ssl=20, wait=40, receive=5, size=700))
    assert read.started_s == pytest.approx(0.1)
    assert read.sent_s == pytest.approx(0.18)
    assert read.receive == pytest.approx((0.22, 0.225))
    assert (read.wire_bytes, read.opens, read.encrypted) == (700, True, True)
    assert read.handshake_s == pytest.approx(0.010)  # ssl is part of connect


def test_an_address_is_known_by_its_origin_alone():
    made = load(entry(url="https://Example.org/secret?key=1"))
    assert made.objects[0].origin == "https://example.org:443"
    assert made.name == "https://example.org:443"
    assert "secret" not in json.dumps(decoded(har(entry(url="https://example.org/secret"))).slim())


@pytest.mark.parametrize(
    "private",
    [
        "My page at https://x.example/secret",
        "view-source:https://x.example/secret",
        "x.example/secret?token=1",
        "file:///home/me/secret",
        "secret",
    ],
)
@pytest.mark.parametrize("read", [decode_har, lambda content: read_har(BytesIO(content))])
def test_a_page_has_neither_its_title_nor_its_id_with_it(private, read):
    page = har()["log"]["pages"][0] | {"id": private, "title": private, "comment": private}
    page["pageTimings"] |= {"comment": private}
    document = har(
        entry(pageref=private), entry(10, pageref=f"{private} of none"), entry(10, pageref=None), pages=[page]
    )
    kept = read(json.dumps(document).encode())
    assert "secret" not in json.dumps(kept.slim())
    (made,) = page_loads(kept)
    assert (made.name, len(made.objects), made.load_s) == ("https://example.org:443", 3, 1)


def test_a_page_of_no_address_has_a_name_too():
    assert load(entry(url="data:text/plain,secret")).name == "page"
    assert load(entry(url="data:text/plain,secret"), entry(url="http://b.org/")).name == "http://b.org:80"


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (entry(url="data:image/png;base64,AAAA"), LeftOut.NOT_HTTP),
        (entry(url="https://[broken/"), LeftOut.NOT_HTTP),
        (entry(url="wss://example.org/feed"), LeftOut.NOT_HTTP),
        (entry() | {"response": {"status": 0}}, LeftOut.FAILED),
        (entry() | {"response": {"status": 101}}, LeftOut.UPGRADED),
        (entry(_fromCache="disk"), LeftOut.CACHED),
        (entry() | {"response": {"status": 200, "_transferSize": 0}}, LeftOut.CACHED),
        (entry() | {"startedDateTime": "yesterday"}, LeftOut.NO_START),
        ("text", LeftOut.MALFORMED),
        ({"startedDateTime": BEGAN.isoformat()}, LeftOut.MALFORMED),
    ],
)
def test_what_is_no_object_is_counted_by_reason(told, reason):
    made = load(entry(), told)
    assert len(made.objects) == 1
    assert made.left_out == {reason: 1}


@pytest.mark.parametrize("timings", [{}, {"wait": -1, "receive": -1}, None, {"wait": 5, "receive": 1e300}])
def test_an_object_without_times_counts_for_volume_alone(timings):
    read = only_object(entry(size=500) | {"timings": timings})
    assert (read.receive, read.wire_bytes, read.opens) == (None, 500, False)


def test_a_size_is_the_most_that_is_told():
    late = entry(size=20_000, headers={"Content-Length": "20000"})
    late["response"] |= {"_transferSize": 3830, "bodySize": 3564, "headersSize": 266}
    assert only_object(late).wire_bytes == 20_266
    packed = entry(size=100, headers={"Content-Encoding": "br"})
    packed["response"]["content"] = {"size": 900}
    assert only_object(packed).wire_bytes == 100
    unknown = entry(size=-1)
    assert only_object(unknown).wire_bytes is None
    empty = entry(size=-1) | {"response": {"status": 304, "content": {"size": 700}, "headersSize": 150, "bodySize": 0}}
    assert only_object(empty).wire_bytes == 150


def test_how_long_a_body_was_to_be_is_no_size_of_one_that_was_broken_off():
    broken = entry(size=20_000, headers={"Content-Length": "1000000000"})
    broken["response"] |= {"status": 206, "bodySize": 20_000, "headersSize": 300}
    assert only_object(broken).wire_bytes == 20_300
    broken["response"] |= {"content": {}, "_error": "net::ERR_ABORTED"}
    assert only_object(broken).wire_bytes == 20_300
    whole = entry(size=-1, headers={"Content-Length": "5000", "Content-Encoding": "br"})
    whole["response"] |= {"headersSize": 300}
    assert only_object(whole).wire_bytes == 5_300


@pytest.mark.parametrize(
    ("version", "url", "times", "handshake_s"),
    [
        ("h3", "https://a.org/", {"connect": 35.12, "ssl": 35.11}, 0.03512),  # QUIC has one for both
        ("h2", "https://a.org/", {"connect": 150}, None),  # and how much of it is TLS nobody tells
        ("h2", "https://a.org/", {"connect": 150, "ssl": -1}, None),
        ("http/1.1", "http://a.org/", {"connect": 30}, 0.03),
        ("http/1.1", "http://a.org/", {"connect": 1e9}, None),
        ("http/1.1", "http://a.org/", {"connect": 1e-7}, None),
        ("http/1.1", "https://a.org/", {"connect": 10.000000000000002, "ssl": 10}, None),
    ],
)
def test_a_round_trip_is_what_tcp_or_quic_takes_to_connect(version, url, times, handshake_s):
    told = entry(url=url, version=version) | {"timings": {"wait": 5, "receive": 1} | times}
    assert only_object(told).handshake_s == pytest.approx(handshake_s)


def test_chromes_connections_have_numbers_and_firefoxs_have_the_port_of_a_proxy():
    numbered = [entry(0, connection="443", connect=30, ssl=20), entry(5, connection="443")]
    chrome = load(*numbered, creator={"name": "WebInspector", "version": "1"})
    assert [each.connection_id for each in chrome.objects] == [each.connection_id for each in chrome.objects[:1]] * 2
    assert chrome.objects[0].connection_id is not None
    proxied = [entry(n, url=f"https://{n}.org/", connection="3128", connect=30, ssl=30) for n in range(3)]
    assert [each.connection_id for each in load(*proxied, **FIREFOX).objects] == [None] * 3


FIREFOX = {"creator": {"name": "Firefox", "version": "150"}, "browser": {"name": "Firefox", "version": "150"}}


def test_firefox_tells_tls_beside_the_handshake_and_sizes_with_their_headers():
    told = entry(100, blocked=3, connect=50, ssl=47, wait=40, receive=5, size=1_300, headers={"Content-Encoding": "br"})
    told["response"] |= {"headersSize": 300, "content": {"size": 9_000}}
    (read,) = load(told, **FIREFOX).objects
    assert read.handshake_s == pytest.approx(0.050)
    assert read.sent_s == pytest.approx(0.2)
    assert read.receive == pytest.approx((0.24, 0.245))
    assert read.wire_bytes == 1_300
    (elsewhere,) = load(told, browser={"name": "firefox"}).objects  # driven by a tool that keeps to the format
    assert (elsewhere.handshake_s, elsewhere.wire_bytes) == (pytest.approx(0.003), 1_600)


def test_what_firefox_had_in_its_cache_has_times_that_are_all_zero():
    nothing = dict.fromkeys(("blocked", "dns", "connect", "ssl", "send", "wait", "receive"), 0)
    made = load(entry(), entry() | {"timings": nothing}, **FIREFOX)
    assert (len(made.objects), made.left_out) == (1, {LeftOut.CACHED: 1})


@pytest.mark.parametrize(
    ("told", "version"),
    [("h2", HttpVersion.HTTP_2), ("HTTP/2.0", HttpVersion.HTTP_2), ("h3-29", HttpVersion.HTTP_3),
     ("http/1.1", HttpVersion.HTTP_1), ("HTTP/1.0", HttpVersion.OTHER), ("", HttpVersion.OTHER)],
)  # fmt: skip
def test_versions_are_known_by_all_their_names(told, version):
    assert only_object(entry(version=told)).version is version


@pytest.mark.parametrize("name", ["443", "0", "", "-1"])
def test_a_port_of_the_server_names_no_connection(name):
    assert only_object(entry(connection=name)).connection_id is None


def test_entries_belong_to_the_page_that_they_name_or_that_began_last():
    second = {"id": "page_2", "startedDateTime": "2026-05-01T12:00:10Z", "pageTimings": {}}
    first = har()["log"]["pages"][0]
    loads = page_loads(decoded(har(
        entry(0), entry(10_100, url="http://two.org/", pageref="page_2"), entry(10_200, pageref="gone"),
        pages=[second, first],
    )))  # fmt: skip
    assert [(each.name, len(each.objects)) for each in loads] == [
        ("https://example.org:443", 1),
        ("http://two.org:80", 2),
    ]
    assert loads[1].load_s is None
    assert loads[1].objects[0].started_s == pytest.approx(0.1)


def test_entries_of_a_page_without_times_are_left_out_of_the_last_and_refuse_no_other():
    pages = [{"id": "page_2"}, *har()["log"]["pages"]]
    untold = [entry(pageref="page_2") | {"startedDateTime": when} for when in ("yesterday", None)]
    (made,) = page_loads(decoded(har(*untold, entry(0), entry(10), pages=pages)))
    assert (len(made.objects), made.left_out) == (2, {LeftOut.NO_START: 2})
    with pytest.raises(InvalidValue, match="no entry with a start time"):
        page_loads(decoded(har(*untold, pages=pages)))


@pytest.mark.parametrize("same_id", [{"id": None}, {"id": "page_1"}, {}])
def test_pages_that_no_id_tells_apart_are_told_apart_by_their_begin(same_id):
    pages = [{"startedDateTime": f"2026-05-01T12:00:{second}Z"} | same_id for second in ("00", "05")]
    loads = page_loads(decoded(har(entry(0), entry(5_100), entry(5_200), pages=pages)))
    assert [len(each.objects) for each in loads] == [1, 2]
    assert loads[1].objects[0].started_s == pytest.approx(0.1)


def test_a_log_without_pages_is_the_load_of_one():
    made = load(entry(500), entry(700), pages=[])
    assert made.objects[0].started_s == 0
    assert made.objects[1].started_s == pytest.approx(0.2)


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
def test_what_is_no_har_is_refused_in_one_phrase(content, reason):
    for refuse in (decode_har, lambda content: read_har(BytesIO(content))):
        with pytest.raises(InvalidValue, match=reason) as refused:
            refuse(content)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("before", ["", r'"comment": "\ud800", '])
@pytest.mark.parametrize("read", [decode_har, lambda content: read_har(BytesIO(content))])
def test_what_is_no_number_in_json_is_refused_by_both_readers(read, before, number):
    content = f'{{"log": {{"entries": [{{{before}"time": {number}}}]}}}}'.encode()
    with pytest.raises(InvalidValue, match="is not JSON"):
        read(content)


def test_a_log_without_entries_says_so():
    with pytest.raises(InvalidValue, match="no entries"):
        page_loads(decoded(har()))


def test_a_log_of_too_many_entries_is_refused_by_both_readers():
    content = json.dumps(har(*repeat(1, MOST_ENTRIES + 1))).encode()
    for refuse in (decode_har, lambda content: read_har(BytesIO(content))):
        with pytest.raises(TooLarge, match="20000 entries"):
            refuse(content)


def test_a_log_of_too_many_pages_is_refused_by_both_readers():
    document = har()
    document["log"]["pages"] = [{"id": str(number)} for number in range(MOST_PAGES + 1)]
    for refuse in (decode_har, lambda content: read_har(BytesIO(content))):
        with pytest.raises(TooLarge, match=f"{MOST_PAGES} pages"):
            refuse(json.dumps(document).encode())


def test_members_that_are_not_analysed_may_not_be_nested_without_end_either():
    content = json.dumps(har(entry())).replace('{"log"', '{"x": ' + "[" * 200 + "]" * 200 + ', "log"', 1)
    with pytest.raises(InvalidValue, match="levels deep"):
        read_har(BytesIO(content.encode()))


def test_of_members_that_are_not_analysed_nothing_is_kept_in_memory():
    document = har(entry())
    document["log"] |= {"_more": [[[]] * 100_000], "comment": {"entries": [1]}}
    content = json.dumps({"before": {"log": [1]}, "_x": 5} | document | {"after": [{}] * 100_000}).encode()
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
        (made,) = page_loads(read_har(Stream(pieces())))
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(made.objects) == entries
    assert most_bytes < 16 * MIB


@pytest.mark.parametrize("read", [decode_har, lambda content: read_har(BytesIO(content))])
def test_what_no_column_holds_is_taken_for_unknown(read):
    document = har(entry(url="http://a\0b/"), entry(connect=1e-300, receive=1e300, wait=1e9, size=2**60), "\ud800")
    document["log"]["browser"] = {"name": "Fire\0fox \ud800"}
    document["log"]["entries"][1]["timings"]["dns"] = 10**18
    har_read = read(json.dumps(document).encode())
    (made,) = page_loads(har_read)
    assert har_read.tool.isprintable()
    assert made.name.isprintable()
    assert made.left_out == {LeftOut.NOT_HTTP: 1, LeftOut.MALFORMED: 1}
    assert (made.objects[0].receive, made.objects[0].wire_bytes) == (None, None)


@pytest.mark.parametrize("half", [r"\udc00", r"\uD83d", r"\ude00\ud83d", r"\\\ud800", r"\\ud800", "\\ud83d\\ude00"])
@pytest.mark.parametrize("piece_bytes", [1, 7, 1000])
def test_a_half_of_a_character_in_a_body_refuses_no_log(half, piece_bytes):
    document = har(entry(), entry(10))
    document["log"]["entries"][0]["response"]["content"]["text"] = "HERE"
    content = json.dumps(document).replace("HERE", half).encode()
    pieces = iter([content[at : at + piece_bytes] for at in range(0, len(content), piece_bytes)])
    for har_read in (decode_har(content), read_har(Stream(pieces))):
        (made,) = page_loads(har_read)
        assert len(made.objects) == 2


@pytest.mark.parametrize("read", [decode_har, lambda content: read_har(BytesIO(content))])
@pytest.mark.parametrize("bytes_of_no_text", [b"\xed\xb0\x80", b"\xff", b"\xc3"])
def test_bytes_that_are_no_text_are_refused_by_both_readers(bytes_of_no_text, read):
    content = json.dumps(har(entry(), comment="HERE")).encode().replace(b"HERE", bytes_of_no_text)
    with pytest.raises(InvalidValue, match="is not JSON"):
        read(content)


@pytest.mark.parametrize(
    ("beginning", "verdict"),
    [(b'\xef\xbb\xbf{\n "log" : {\n "pages": [', True), (b'{"log":{"version":"1.2"', True), (b'{"log":"text"}', False),
     (b'{"level":"info","msg":"x"}', False), (b"", False)],
)  # fmt: skip
def test_a_har_is_told_by_its_beginning(beginning, verdict):
    assert is_har(beginning) is verdict
