"""What entries of logs tell of objects, as browsers and tools write them."""

import json
from io import BytesIO

import pytest

from tests.unit.connections.hars import BEGAN, entry, har
from tradewind.connections.har import Har, build_page_loads, decode_har
from tradewind.connections.page_load import HttpVersion, LeftOut, PageLoad, WebObject
from tradewind.errors import InvalidValue
from tradewind_agent.har.file import read_har


def decoded(document: object) -> Har:
    return decode_har(json.dumps(document).encode())


def load(*entries: object, **log: object) -> PageLoad:
    (only,) = build_page_loads(decoded(har(*entries, **log)))
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
    (made,) = build_page_loads(kept)
    assert (made.name, len(made.objects), made.load_s) == ("https://example.org:443", 3, 1)


def test_a_page_of_no_address_has_a_name_too():
    assert load(entry(url="data:text/plain,secret")).name == "page"
    assert load(entry(url="data:text/plain,secret"), entry(url="http://b.org/")).name == "http://b.org:80"


@pytest.mark.parametrize(
    ("invalid", "reason"),
    [
        (entry(url="data:image/png;base64,AAAA"), LeftOut.NOT_HTTP),
        (entry(url="https://[broken/"), LeftOut.NOT_HTTP),
        (entry(url="wss://example.org/feed"), LeftOut.NOT_HTTP),
        (entry() | {"response": {"status": 0}}, LeftOut.FAILED),
        (entry() | {"response": {"status": 101}}, LeftOut.UPGRADED),
        (entry(_fromCache="disk"), LeftOut.CACHED),
        (entry(_fetchType="Memory Cache"), LeftOut.CACHED),
        (entry(_fetchType="Disk Cache"), LeftOut.CACHED),
        (entry() | {"response": {"status": 200, "_transferSize": 0}}, LeftOut.CACHED),
        (
            entry()
            | {"response": {"status": 200, "_transferSize": 9, "_serviceWorkerResponseSource": "cache-storage"}},
            LeftOut.CACHED,
        ),
        (entry() | {"startedDateTime": "yesterday"}, LeftOut.NO_START),
        ("text", LeftOut.MALFORMED),
        ({"startedDateTime": BEGAN.isoformat()}, LeftOut.MALFORMED),
    ],
)
def test_entries_without_an_object_are_counted_by_reason(invalid, reason):
    made = load(entry(), invalid)
    assert len(made.objects) == 1
    assert made.left_out == {reason: 1}


def test_a_browsers_network_load_is_an_object_and_its_tool_numbers_connections():
    loaded = [entry(_fetchType="Network Load", connection=number) for number in ("443", "2")]
    document = har(*loaded)
    document["log"]["creator"] = {"name": "WebKit Web Inspector", "version": "1.0"}
    (made,) = build_page_loads(decoded(document))
    assert [each.connection_id for each in made.objects] == ["https://example.org:443 443", "https://example.org:443 2"]


@pytest.mark.parametrize("timings", [{}, {"wait": -1, "receive": -1}, None, {"wait": 5, "receive": 1e300}])
def test_an_object_without_times_counts_for_volume_alone(timings):
    read = only_object(entry(size=500) | {"timings": timings})
    assert (read.receive, read.wire_bytes, read.opens) == (None, 500, False)


def test_size_is_the_largest_of_the_recorded_ones():
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


def test_declared_length_is_not_the_size_of_an_interrupted_body():
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
        ("h2", "https://a.org/", {"connect": 150}, None),  # and how much of it is TLS is unknown
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


@pytest.mark.parametrize(
    ("tool", "connect", "ssl", "handshake_s", "sent_s"),
    [
        ("mitmproxy", 60, 50, 0.06, 0.21),
        ("mitmproxy har_dump", 60, 50, 0.06, 0.21),
        ("a tool", 60, 50, 0.01, 0.16),
        ("a tool", 30, 50, 0.03, 0.18),  # no part is longer than the whole
        ("a tool", 50, 50.0001, None, 0.15),  # but by what is rounded
    ],
)
def test_tls_is_separate_from_the_handshake_where_the_tool_or_its_times_say_so(tool, connect, ssl, handshake_s, sent_s):
    (read,) = load(entry(100, connect=connect, ssl=ssl, size=1_000), creator={"name": tool}).objects
    assert read.handshake_s == pytest.approx(handshake_s)
    assert read.sent_s == pytest.approx(sent_s)


def test_chromes_connections_have_numbers_and_firefoxs_have_the_port_of_a_proxy():
    numbered = [entry(0, connection="443", connect=30, ssl=20), entry(5, connection="443")]
    chrome = load(*numbered, creator={"name": "WebInspector", "version": "1"})
    assert [each.connection_id for each in chrome.objects] == [each.connection_id for each in chrome.objects[:1]] * 2
    assert chrome.objects[0].connection_id is not None
    proxied = [entry(n, url=f"https://{n}.org/", connection="3128", connect=30, ssl=30) for n in range(3)]
    assert [each.connection_id for each in load(*proxied, **FIREFOX).objects] == [None] * 3


FIREFOX = {"creator": {"name": "Firefox", "version": "150"}, "browser": {"name": "Firefox", "version": "150"}}


def test_firefox_records_tls_separately_from_the_handshake_and_sizes_with_headers():
    told = entry(100, blocked=3, connect=50, ssl=47, wait=40, receive=5, size=1_300, headers={"Content-Encoding": "br"})
    told["response"] |= {"headersSize": 300, "content": {"size": 9_000}}
    (read,) = load(told, **FIREFOX).objects
    assert read.handshake_s == pytest.approx(0.050)
    assert read.sent_s == pytest.approx(0.2)
    assert read.receive == pytest.approx((0.24, 0.245))
    assert read.wire_bytes == 1_300
    (elsewhere,) = load(told, browser={"name": "firefox"}).objects  # driven by a tool that keeps to the format
    assert (elsewhere.handshake_s, elsewhere.wire_bytes) == (pytest.approx(0.003), 1_600)


def test_firefox_entry_with_only_zero_times_was_cached():
    nothing = dict.fromkeys(("blocked", "dns", "connect", "ssl", "send", "wait", "receive"), 0)
    made = load(entry(), entry() | {"timings": nothing}, **FIREFOX)
    assert (len(made.objects), made.left_out) == (1, {LeftOut.CACHED: 1})


@pytest.mark.parametrize(
    ("told", "version"),
    [("h2", HttpVersion.HTTP_2), ("HTTP/2.0", HttpVersion.HTTP_2), ("h3-29", HttpVersion.HTTP_3),
     ("http/2+quic/43", HttpVersion.HTTP_3),
     ("http/1.1", HttpVersion.HTTP_1), ("HTTP/1.0", HttpVersion.OTHER), ("", HttpVersion.OTHER)],
)  # fmt: skip
def test_versions_are_known_by_all_their_names(told, version):
    assert only_object(entry(version=told)).version is version


@pytest.mark.parametrize("name", ["443", "0", "", "-1"])
def test_a_port_of_the_server_names_no_connection(name):
    assert only_object(entry(connection=name)).connection_id is None


def test_entries_belong_to_the_page_they_name_or_to_the_last_one_started():
    second = {"id": "page_2", "startedDateTime": "2026-05-01T12:00:10Z", "pageTimings": {}}
    first = har()["log"]["pages"][0]
    loads = build_page_loads(decoded(har(
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
    (made,) = build_page_loads(decoded(har(*untold, entry(0), entry(10), pages=pages)))
    assert (len(made.objects), made.left_out) == (2, {LeftOut.NO_START: 2})
    with pytest.raises(InvalidValue, match="no entry with a start time"):
        build_page_loads(decoded(har(*untold, pages=pages)))


@pytest.mark.parametrize("same_id", [{"id": None}, {"id": "page_1"}, {}])
def test_pages_with_the_same_id_are_distinguished_by_their_start(same_id):
    pages = [{"startedDateTime": f"2026-05-01T12:00:{second}Z"} | same_id for second in ("00", "05")]
    loads = build_page_loads(decoded(har(entry(0), entry(5_100), entry(5_200), pages=pages)))
    assert [len(each.objects) for each in loads] == [1, 2]
    assert loads[1].objects[0].started_s == pytest.approx(0.1)


def test_a_log_without_pages_is_the_load_of_one():
    made = load(entry(500), entry(700), pages=[])
    assert made.objects[0].started_s == 0
    assert made.objects[1].started_s == pytest.approx(0.2)
