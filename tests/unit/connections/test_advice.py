"""What is advised for a page's servers, with gains by hand."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.connections.hars import entry, har
from tradewind.connections.advice import (
    MAX_ORIGINS,
    MAX_REQUESTS,
    AdviceKind,
    PageAdvice,
    advise,
    classify_flow_lengths,
)
from tradewind.connections.analysis import analyse
from tradewind.connections.har import MAX_PAGES, build_page_loads, decode_har
from tradewind.connections.page_load import PageLoad
from tradewind.connections.replay import _Replay
from tradewind.connections.rounds import FLD_TCP, Sender
from tradewind.path import Path

SENDER = Sender(segment_bytes=1500)
WIDE = Path(rtt_s=0.1)


def load(*entries: object) -> PageLoad:
    (only,) = build_page_loads(decode_har(json.dumps(har(*entries)).encode()))
    return only


def advised(*entries: object, path: Path = WIDE, sender: Sender = SENDER) -> dict[AdviceKind, PageAdvice]:
    (found,) = advise([load(*entries)], path, sender)
    return {each.kind: each for each in found}


def test_a_connection_for_each_object_is_worth_keeping_open():
    entries = [entry(1000 * n, url="http://a.org/", connection=f"c{n}", size=1000) for n in range(3)]
    found = advised(*entries)[AdviceKind.KEEP_ALIVE]
    assert found.origin == "http://a.org:80"
    assert found.waiting_s == pytest.approx(0.6)  # of each a handshake and a round
    assert found.saved_s == pytest.approx(0.2)
    assert found.saved_rtts == pytest.approx(2)


def test_many_objects_in_turn_are_worth_http_2():
    entries = [entry(0, url="http://a.org/", connection=f"c{n % 2}", size=2000) for n in range(20)]
    found = advised(*entries)
    assert found[AdviceKind.HTTP_2].waiting_s == pytest.approx(1.1)  # a handshake and ten rounds
    assert found[AdviceKind.HTTP_2].saved_s == pytest.approx(1.1 - 0.4)  # 40 kB: handshakes of TCP, TLS; two flights
    assert "over TLS alone" in found[AdviceKind.HTTP_2].text
    more = found[AdviceKind.CONNECTIONS_PER_HOST]
    assert (more.proposed, more.saved_s) == (5, pytest.approx(0.6))  # four rounds; a sixth connection gains no round
    assert "5 connections" in more.text


@pytest.mark.parametrize(
    ("first", "others", "told", "untold"),
    [
        ("http/1.1", "h2", AdviceKind.HTTP_1, AdviceKind.HTTP_2),
        ("h2", "http/1.1", AdviceKind.HTTP_2, AdviceKind.HTTP_1),
    ],
)
def test_a_server_is_judged_by_the_version_of_most_of_its_objects(first, others, told, untold):
    alone = entry(0, url="http://a.org/", connection="1", version=first, size=2_000)
    rest = [entry(10, url="http://a.org/", connection="2", version=others, size=30_000) for _ in range(20)]
    kinds = advised(alone, *rest).keys()
    assert told in kinds
    assert untold not in kinds


def test_advice_states_how_many_connections_were_used():
    entries = [entry(300 * n, url="http://a.org/", connection=f"c{n % 8}", size=20_000) for n in range(12)]
    fewer = advised(*entries)[AdviceKind.CONNECTIONS_PER_HOST]
    assert fewer.text == "Let browsers have 1 connection to it; they used 8."


def test_a_larger_initial_window_is_the_smallest_that_gains_as_much():
    found = advised(entry(0, url="http://a.org/", version="h2", size=60_000))
    assert AdviceKind.HTTP_2 not in found
    window = found[AdviceKind.INITIAL_WINDOW]
    assert (window.proposed, window.saved_rtts) == (48, pytest.approx(2))  # 72 kB at once, where 15 + 30 + 15 were
    assert found[AdviceKind.FLD_TCP].saved_rtts == pytest.approx(1)  # 15 + 45


def test_no_window_is_advised_beyond_what_the_path_holds():
    narrow = Path(rtt_s=0.1, bandwidth_bps=2.4e6)  # 30 kB: 20 segments
    window = advised(entry(0, url="http://a.org/", version="h2", size=60_000), path=narrow)[AdviceKind.INITIAL_WINDOW]
    assert window.proposed == 16


def test_a_page_of_one_small_object_needs_no_advice():
    assert advised(entry(0, size=1000)) == {}


def test_sender_that_already_triples_its_window_gets_no_fld_tcp_advice():
    sender = Sender(segment_bytes=1500, growth=FLD_TCP)
    assert AdviceKind.FLD_TCP not in advised(entry(0, version="h2", size=500_000), sender=sender)


def test_round_trips_come_from_handshakes_where_none_is_given():
    entries = entry(0, connect=50, ssl=25, version="h2", size=60_000), entry(0, url="http://b.org/", size=60_000)
    (found,) = advise([load(*entries)], Path(), SENDER)
    assert {each.origin for each in found} == {"https://example.org:443", "http://b.org:80"}
    assert all(each.saved_s == pytest.approx(0.025 * each.saved_rtts) for each in found)
    assert advise([load(entry(0, size=60_000))], Path(), SENDER) == [[]]


def test_connections_are_classified_by_their_length():
    made = load(*(entry(0, connection=f"c{size}", size=size) for size in (15_000, 15_001, 2_000_000, 2_000_001)))
    lengths = classify_flow_lengths(analyse(made), WIDE, SENDER)
    assert (lengths.first_window, lengths.short, lengths.long) == (1, 2, 1)
    one_more, largest = lengths.short_flows
    assert (one_more.connection, one_more.wire_bytes, one_more.rounds) == (1, 15_001, 2)
    assert one_more.saved_rtts == pytest.approx(0)
    assert (largest.connection, largest.rounds) == (2, 8)  # 15 · (2⁸ - 1) kB are more than 2 MB, with 2⁷ they are not
    assert largest.saved_rtts == pytest.approx(2)  # tripling, 15 · (3⁵ - 1)/2 kB are 1815: a sixth round
    assert largest.saved_s == pytest.approx(0.2)


def test_without_a_round_trip_short_flows_have_rounds_but_no_gain():
    (flow,) = classify_flow_lengths(analyse(load(entry(0, size=60_000))), Path(), SENDER).short_flows
    assert (flow.rounds, flow.saved_s, flow.saved_rtts) == (3, None, None)


def test_several_connections_begin_with_more_windows_than_the_one_of_http_2():
    entries = [entry(0, url="http://a.org/", version="h2", connection="c", size=30_000) for _ in range(4)]
    found = advised(*entries)[AdviceKind.HTTP_1]
    assert found.waiting_s == pytest.approx(0.5)  # 120 kB: a handshake, then 15, 30, 60 and 15 kB
    assert (found.proposed, found.saved_rtts) == (4, pytest.approx(2))  # of each 15 and 15 kB
    assert "HTTP/1.1 over 4 connections" in found.text
    assert AdviceKind.HTTP_1 not in advised(*entries[:1])


def test_http_3_shakes_hands_once_and_has_no_window_of_the_kernel():
    entries = [entry(0, version="h3", connection="c", size=30_000) for _ in range(4)]
    found = advised(*entries)
    assert found[AdviceKind.HTTP_1].waiting_s == pytest.approx(0.5)  # 120 kB: one handshake, then 15, 30, 60 and 15 kB
    assert found.keys().isdisjoint({AdviceKind.INITIAL_WINDOW, AdviceKind.FLD_TCP})
    (flow,) = classify_flow_lengths(analyse(load(*entries)), WIDE, SENDER).short_flows
    assert (flow.rounds, flow.saved_s) == (4, None)


def test_first_requests_represent_all_of_a_busy_server():
    later = [entry(10 * n, url="http://a.org/", connection="1", size=100) for n in range(MAX_REQUESTS)]
    path = Path(rtt_s=0.1, bandwidth_bps=8e6)
    waited_s = []
    for size in (100, 5_000_000):
        early = entry(5, url="http://a.org/", connection="2", size=size)
        waited_s.append(max(advice.waiting_s for advice in advised(*later, early, path=path).values()))
    assert waited_s[1] > waited_s[0] + 1


def page_of_many_servers(size: int) -> PageLoad:
    return load(*(entry(0, url=f"http://{server}.org/", version="h2", size=size) for server in range(MAX_ORIGINS)))


def test_replayed_events_are_bounded_per_log(monkeypatch):
    played = 0
    happens = _Replay._schedule

    def counted(*arguments):
        nonlocal played
        played += 1
        happens(*arguments)

    monkeypatch.setattr(_Replay, "_schedule", counted)
    events = []
    for pages in (5, 6, MAX_PAGES):
        played = 0
        advise([page_of_many_servers(60_000)] * pages, WIDE, SENDER)
        events.append(played)
    assert events == [events[0]] * 3


def test_advice_covers_the_largest_servers_of_many_pages_and_all_of_few():
    small, large = page_of_many_servers(60_000), page_of_many_servers(61_000)
    ((alone,), (largest,)) = advise([small], WIDE, SENDER), advise([large], WIDE, SENDER)
    assert advise([small, large, small, small, small], WIDE, SENDER) == [alone, largest, alone, alone, alone]
    assert advise([small] * 5 + [large] * 5, WIDE, SENDER) == [[]] * 5 + [largest] * 5


def test_larger_window_without_gain_is_not_advised():
    """On this path each of them has a flight more wait behind another's."""
    entries = [
        entry(0, url="http://a.org/", connection="c1", size=500_000, connect=100),
        entry(243, url="http://a.org/", connection="c2", size=500_000, connect=100),
        entry(296, url="http://a.org/", connection="c1", size=1_000),
    ]
    assert advised(*entries, path=Path(rtt_s=0.1, bandwidth_bps=2_316_800)) == {}


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2000), st.integers(0, 900_000), st.integers(0, 4), st.sampled_from(["h2", "http/1.1"])
        ),
        min_size=1,
        max_size=12,
    ),
    st.floats(0.001, 0.5),
    st.one_of(st.none(), st.floats(1e5, 1e9)),
)
def test_advice_never_promises_more_than_what_is_waited_for(asked, rtt_s, bandwidth_bps):
    entries = [
        entry(at_ms, url="http://a.org/", connection=f"c{number}", size=size, version=version)
        for at_ms, size, number, version in asked
    ]
    (found,) = advise([load(*entries)], Path(rtt_s=rtt_s, bandwidth_bps=bandwidth_bps), SENDER)
    for each in found:
        assert 0 < each.saved_s < each.waiting_s


def test_requests_that_waited_for_a_connection_slot_indicate_missing_keep_alive():
    """Six at once, the browser's most, each on a connection of its own."""
    entries = [
        entry(0, url="http://a.org/", connection=f"c{n}", size=1000, blocked=300 * (n // 6), connect=100, wait=100)
        for n in range(18)
    ]
    assert AdviceKind.KEEP_ALIVE in advised(*entries)


def test_a_server_of_http_2_that_closes_its_connections_is_not_advised_to_speak_an_older_version():
    entries = [entry(2000 * n, url="http://a.org/", connection=f"c{n}", size=5000, version="h2") for n in range(4)]
    assert AdviceKind.HTTP_1 not in advised(*entries)


def test_connections_that_were_all_needed_at_once_do_not_indicate_missing_keep_alive():
    entries = [entry(0, url="http://a.org/", connection=f"c{n}", size=1000, wait=100, receive=10) for n in range(8)]
    assert AdviceKind.KEEP_ALIVE not in advised(*entries)
