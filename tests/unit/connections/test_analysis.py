"""Figures of a page, by hand."""

import json

import pytest

from tests.unit.connections.hars import entry, har
from tradewind.connections.analysis import (
    EncryptionClass,
    PageAnalysis,
    analyse,
    classify_encryption,
    compute_effective_concurrency,
    compute_idle_s,
    compute_rtt_bin,
)
from tradewind.connections.caching import CacheClass, classify_cache
from tradewind.connections.har import build_page_loads, decode_har


def analysed(*entries: object, load_ms: float = 1000, **asked: object) -> PageAnalysis:
    (load,) = build_page_loads(decode_har(json.dumps(har(*entries, load_ms=load_ms)).encode()))
    return analyse(load, **asked)


def test_idle_time_is_the_load_without_what_is_received():
    assert compute_idle_s(10, [(1, 3), (2, 4), (6, 7)]) == 6
    assert compute_idle_s(5, [(-1, 1), (4, 9)]) == 3  # what comes before or after the load is none of it
    assert compute_idle_s(5, []) == 5


def test_effective_concurrency_sums_connections_over_their_union():
    assert compute_effective_concurrency([[(0, 2)], [(1, 3)]]) == pytest.approx(4 / 3)
    assert compute_effective_concurrency([[(0, 2), (1, 3)]]) == 1  # objects on one connection count once at a time
    assert compute_effective_concurrency([[(0, 1)], [(5, 6)]]) == 1
    assert compute_effective_concurrency([[(0, 4)], [(0, 4)], [(0, 1)]]) == pytest.approx(9 / 4)
    assert compute_effective_concurrency([[(1, 1)], []]) is None


@pytest.mark.parametrize(
    ("encrypted", "connections", "kind"),
    [(10, 10, EncryptionClass.ENCRYPTED), (9, 10, EncryptionClass.MIXED), (1, 10, EncryptionClass.MIXED),
     (0, 3, EncryptionClass.PLAIN), (19, 20, EncryptionClass.ENCRYPTED), (0, 0, None)],
)  # fmt: skip
def test_a_page_is_of_a_class_above_nine_tenths(encrypted, connections, kind):
    assert classify_encryption(encrypted, connections) is kind


def test_an_object_is_complete_in_the_round_trip_in_which_its_last_byte_comes():
    assert [compute_rtt_bin(receive_s, 0.1) for receive_s in (0, 0.09, 0.11, 0.25)] == [1, 1, 2, 3]


@pytest.mark.parametrize(
    ("header", "proxy", "kind"),
    [("", None, CacheClass.NONE), ("HIT from squid", None, CacheClass.HIT), ("MISS, HIT", None, CacheClass.HIT),
     ("Hit from cloudfront", None, CacheClass.HIT), ("TCP_REFRESH_MISS", None, CacheClass.MISS),
     ("HIT from other", "squid", CacheClass.ELSEWHERE), ("HIT from other, MISS from squid", "squid", CacheClass.MISS),
     ("HIT from proxy10:3128", "proxy1", CacheClass.ELSEWHERE), ("HIT from other", "hit", CacheClass.ELSEWHERE),
     ("HIT from Proxy1:3128", "proxy1", CacheClass.HIT), ("HIT from proxy1:3128", "proxy1:3128", CacheClass.HIT),
     ("Miss from edge (of a network)", "edge", CacheClass.MISS), ("edge: HIT", "edge", CacheClass.HIT),
     ("MISS from proxy.architects.example", None, CacheClass.MISS), ("MISS from whitney", None, CacheClass.MISS),
     ("CACHEHIT", None, CacheClass.HIT),
     ("RefreshHit from cloudfront", None, CacheClass.HIT), ("TCP_MEM_HIT from white-1", None, CacheClass.HIT),
     ("CONFIG_NOCACHE", None, CacheClass.ELSEWHERE)],
)  # fmt: skip
def test_a_cache_is_known_by_its_header(header, proxy, kind):
    assert classify_cache(header, proxy) is kind


def test_a_page_over_two_named_connections():
    page = analysed(
        entry(0, connection="7", connect=40, ssl=20, wait=60, receive=100, size=30_000),  # received 100 to 200
        entry(200, connection="7", wait=50, receive=50, size=1_000),  # 250 to 300
        entry(0, connection="9", connect=40, ssl=20, wait=60, receive=50, size=5_000),  # 100 to 150
        load_ms=500,
    )
    assert (page.objects, len(page.connections), page.reused, page.wire_bytes) == (3, 2, 1, 36_000)
    assert page.idle_s == pytest.approx(0.35)
    assert page.net_transfer_s == pytest.approx(0.15)
    assert page.idle_share == pytest.approx(0.7)
    assert page.effective_concurrency == pytest.approx(0.2 / 0.15)
    assert page.encryption is EncryptionClass.ENCRYPTED
    first = page.connections[0]
    assert (first.objects, first.wire_bytes, first.inferred) == (2, 31_000, False)
    assert first.duration_s == pytest.approx(0.3)
    assert first.rtt_s == pytest.approx(0.02)
    assert (first.first_object_bytes, first.first_object_rtts) == (30_000, 6)


def test_without_names_a_request_takes_the_connection_idle_last():
    page = analysed(
        entry(0, connect=10, wait=10, receive=10),  # to 30
        entry(0, connect=10, wait=10, receive=80),  # to 100
        entry(50, wait=10, receive=10),  # the first is idle
        entry(60, wait=5, receive=90),  # none is idle: openings are recorded, so it waited
        entry(120, wait=5, receive=5),  # the second is
    )
    assert sorted(each.objects for each in page.connections) == [2, 3]
    assert all(each.inferred for each in page.connections)


def test_busy_connection_implies_another_where_no_openings_are_recorded():
    page = analysed(entry(0, wait=0, receive=50), entry(10, wait=0, receive=50), entry(100, wait=0, receive=50))
    assert [each.objects for each in page.connections] == [1, 2]


def test_http_2_shares_one_connection():
    page = analysed(*(entry(10 * n, version="h2", connect=5 if n == 0 else -1) for n in range(5)))
    (only,) = page.connections
    assert (only.objects, page.effective_concurrency) == (5, 1)


def test_a_load_without_its_event_ends_with_the_last_byte():
    page = analysed(entry(0, wait=100, receive=100), load_ms=-1)
    assert (page.load_told, page.load_s) == (False, pytest.approx(0.2))
    assert page.idle_s == pytest.approx(0.1)


def test_a_load_whose_objects_have_no_times_lasts_until_the_last_request_at_least():
    untimed = entry(700) | {"time": -1, "timings": {}}
    page = analysed(entry(0, wait=100, receive=100), untimed, load_ms=-1)
    assert (page.load_told, page.load_s, page.untimed) == (False, pytest.approx(0.7), 1)
    assert analysed(untimed, load_ms=-1).idle_s is None


def test_given_round_trip_time_replaces_missing_handshakes():
    page = analysed(entry(0), entry(0, url="http://other.org/", connect=30), rtt_s=0.1)
    assert {each.origin: each.rtt_s for each in page.connections} == {
        "https://example.org:443": 0.1,
        "http://other.org:80": pytest.approx(0.03),
    }


def test_a_page_of_nothing_but_failures_has_figures_too():
    page = analysed(entry() | {"response": {"status": 0}})
    assert (page.objects, page.connections, page.effective_concurrency, page.encryption) == (0, [], None, None)
    assert (page.idle_share, page.net_transfer_s) == (None, None)


def test_idle_time_of_a_page_without_times_is_unknown():
    told = entry() | {"timings": {}}
    untimed = analysed(told, load_ms=2000)
    assert (untimed.load_s, untimed.idle_s, untimed.idle_share, untimed.net_transfer_s) == (2.0, None, None, None)
    assert untimed.untimed == 1
    failed = entry()
    failed["response"]["status"] = 0
    assert analysed(failed, load_ms=2000).idle_s is None  # of a page from its cache it would say nothing of a path
