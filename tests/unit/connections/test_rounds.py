"""The round model against the paper's figures and by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.connections.replay import ConnectionPlan, ReplayedRequest, simulate_waiting_s
from tradewind.connections.rounds import FLD_TCP, Sender, Window, count_rounds, send
from tradewind.path import Path

PAPER = Sender(segment_bytes=1500)
PAPER_FLD = Sender(segment_bytes=1500, growth=FLD_TCP)
WIDE = Path(rtt_s=0.1)


@pytest.mark.parametrize(
    ("size_bytes", "reno", "fld"),
    [
        (15_000, 1, 1),
        (45_000, 2, 2),
        (60_000, 3, 2),
        (50_000, 3, 2),
        (500_000, 6, 4),
        (1_000_000, 7, 5),
        (2_000_000, 8, 6),
    ],
)
def test_rounds_are_those_of_the_paper(size_bytes, reno, fld):
    assert (count_rounds(size_bytes, PAPER), count_rounds(size_bytes, PAPER_FLD)) == (reno, fld)


def test_beyond_the_threshold_windows_double_again():
    flights = [15_000 * 3**n for n in range(5)]
    window = Window.of(PAPER_FLD)
    for flight in flights:  # 1.815 MB so far
        assert window.window_bytes == flight
        window = window.acknowledge_flight(flight, PAPER_FLD)
    tripled = window.acknowledge_flight(window.window_bytes, PAPER_FLD)
    assert tripled.window_bytes == 2 * window.window_bytes  # 5.46 MB sent by now


def test_a_transfer_takes_its_rounds_where_the_path_never_fills():
    assert send(500_000, PAPER, WIDE).duration_s == pytest.approx(0.6)
    assert send(500_000, PAPER_FLD, WIDE).duration_s == pytest.approx(0.4)
    assert send(0, PAPER, WIDE).duration_s == pytest.approx(0.1)


def test_a_full_path_sends_at_its_rate():
    lte = Path(rtt_s=0.026, bandwidth_bps=25e6)  # the paper's: 81 kB are under way, so that tripling gains little
    for sender in (PAPER, PAPER_FLD):
        sent = send(500_000, sender, lte)
        assert sent.duration_s > 8 * 500_000 / 25e6
    assert send(10_000_000, PAPER, lte).duration_s == pytest.approx(3.2, rel=0.05)
    saved_s = send(500_000, PAPER, lte).duration_s - send(500_000, PAPER_FLD, lte).duration_s
    assert 0 < saved_s < 2 * 0.026


def test_a_window_goes_on_from_where_it_was():
    grown = send(60_000, PAPER, WIDE).window
    assert send(60_000, PAPER, WIDE, grown).rounds == 1
    assert send(60_000, PAPER, WIDE, grown.reset_after_pause(PAPER)).rounds == 3


def test_after_a_rest_a_new_flow_is_counted_and_tripled_again():
    rested = send(26_000_000, PAPER_FLD, WIDE).window.reset_after_pause(PAPER_FLD)
    assert rested == Window.of(PAPER_FLD)
    assert send(500_000, PAPER_FLD, WIDE, rested).rounds == 4
    assert send(500_000, PAPER, WIDE, send(26_000_000, PAPER, WIDE).window.reset_after_pause(PAPER)).rounds == 6


def plan(sender: Sender = PAPER, **more: object) -> ConnectionPlan:
    return ConnectionPlan(**{"multiplexed": False, "encrypted": False, "sender": sender} | more)


TWO = [ReplayedRequest(0, 15_000), ReplayedRequest(0, 15_000)]


def test_page_waits_for_handshakes_and_earlier_requests():
    assert simulate_waiting_s(TWO, plan(connections=1), WIDE) == pytest.approx(0.3)  # handshake, two objects in turn
    assert simulate_waiting_s(TWO, plan(connections=2), WIDE) == pytest.approx(0.2)
    assert simulate_waiting_s(TWO, plan(connections=1, keep_alive=False), WIDE) == pytest.approx(0.4)
    assert simulate_waiting_s(TWO, plan(connections=2, encrypted=True), WIDE) == pytest.approx(0.3)
    assert simulate_waiting_s(TWO, plan(multiplexed=True), WIDE) == pytest.approx(0.3)  # 30 kB: a second flight
    assert simulate_waiting_s([], plan(multiplexed=True), WIDE) == 0


def test_time_without_outstanding_requests_is_not_waited():
    requests = [ReplayedRequest(0, 1_000), ReplayedRequest(10, 1_000)]
    for kind in (plan(), plan(multiplexed=True)):
        assert simulate_waiting_s(requests, kind, WIDE) == pytest.approx(0.3)


def test_many_small_objects_are_sooner_there_by_http_2():
    requests = [ReplayedRequest(0, 2_000) for _ in range(60)]
    in_turns, at_once = plan(connections=6), plan(multiplexed=True)
    assert simulate_waiting_s(requests, in_turns, WIDE) == pytest.approx(
        1.1
    )  # ten objects a connection, each a round trip
    assert simulate_waiting_s(requests, at_once, WIDE) == pytest.approx(0.1 + 0.4)  # 120 kB: four flights


def test_connections_share_the_rate_of_the_path():
    path = Path(rtt_s=0.01, bandwidth_bps=8e6)
    requests = [ReplayedRequest(0, 1_000_000), ReplayedRequest(0, 1_000_000)]
    for each in (plan(connections=2), plan(multiplexed=True)):
        assert simulate_waiting_s(requests, each, path) == pytest.approx(2, rel=0.05)


def test_a_page_of_unequal_objects_takes_what_the_path_needs_for_all_of_them():
    path, sizes = Path(rtt_s=0.05, bandwidth_bps=10e6), [1_000_000 * each for each in (60, 50, 40, 30, 20, 10)]
    for ordered in (sizes, sizes[::-1]):
        requests = [ReplayedRequest(0, size) for size in ordered]
        for each in (plan(connections=6), plan(connections=5), plan(connections=1), plan(multiplexed=True)):
            assert simulate_waiting_s(requests, each, path) == pytest.approx(168, rel=0.02)


@given(
    st.lists(st.tuples(st.floats(0, 3), st.integers(0, 3_000_000)), min_size=1, max_size=30),
    st.floats(0.001, 0.3),
    st.floats(1e5, 1e9),
    st.integers(1, 6),
    st.booleans(),
)
def test_nothing_comes_faster_than_the_path_carries_it(asked, rtt_s, bandwidth_bps, connections, keep_alive):
    path, requests = Path(rtt_s=rtt_s, bandwidth_bps=bandwidth_bps), [ReplayedRequest(*each) for each in asked]
    at_once = [ReplayedRequest(0, each.size_bytes) for each in requests]
    for kind in (plan(multiplexed=True), plan(connections=connections, keep_alive=keep_alive)):
        least_s = rtt_s + sum(8 * each.size_bytes for each in requests) / bandwidth_bps
        assert simulate_waiting_s(at_once, kind, path) >= least_s * (1 - 1e-9)
        assert simulate_waiting_s(requests, kind, path) > 0


@given(st.integers(0, 5_000_000), st.floats(0.001, 0.3), st.one_of(st.none(), st.floats(1e6, 1e9)))
def test_an_object_alone_takes_its_handshake_and_its_rounds(size_bytes, rtt_s, bandwidth_bps):
    path = Path(rtt_s=rtt_s, bandwidth_bps=bandwidth_bps)
    alone_s = send(size_bytes, PAPER_FLD, path).duration_s
    for kind in (plan(PAPER_FLD), plan(PAPER_FLD, multiplexed=True)):
        assert simulate_waiting_s([ReplayedRequest(1.0, size_bytes)], kind, path) == pytest.approx(
            rtt_s + alone_s, rel=0.01
        )


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 60_000)), max_size=60), st.floats(0.01, 0.1))
def test_window_restarts_after_a_pause_whatever_came_before(asked, rtt_s):
    path, last = Path(rtt_s=rtt_s, bandwidth_bps=7.7e6), ReplayedRequest(100.0, 200_000)
    before = [ReplayedRequest(*each) for each in asked]
    for kind in (plan(multiplexed=True), plan()):
        rested_s = simulate_waiting_s([*before, last], kind, path) - (
            simulate_waiting_s(before, kind, path) if before else 0.0
        )
        alone_s = simulate_waiting_s([last], kind, path) - (rtt_s if before else 0.0)  # no handshake
        assert rested_s == pytest.approx(alone_s, rel=1e-6)


def test_requests_one_after_the_other_do_not_pass_by_slow_start():
    first, then = ReplayedRequest(0, 1_000), [ReplayedRequest(0.3 + 0.001 * each, 14_000) for each in range(20)]
    together = [ReplayedRequest(0.3, 14_000) for _ in then]
    apart_s, together_s = (
        simulate_waiting_s([first, *rest], plan(multiplexed=True), WIDE) for rest in (then, together)
    )
    assert apart_s == pytest.approx(together_s, rel=0.05)
