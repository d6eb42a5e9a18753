"""How much a stream requests at once, by the rate that it has shown."""

import math

import pytest

from tradewind_agent.engine.dealing.stream_rate import RecentRate, StreamRate

KB, MB = 1000, 1000**2
ROUND_TRIP_S = 0.2


def make_stream(bytes_per_s: float, *, lasted_s: float = 4.0) -> StreamRate:
    """Return a stream that has answered every 50 ms for so long."""
    stream = StreamRate()
    stream.round_trip_s = ROUND_TRIP_S
    for _ in range(round(lasted_s / 0.05)):
        stream.measure(round(bytes_per_s * 0.05), 0.05)
    return stream


def test_slow_stream_is_as_busy_as_a_fast_one():
    fast, slow = make_stream(2 * MB), make_stream(100 * KB)
    for time_left_s in (math.inf, 1.0, 0.1):
        fast_bytes = fast.compute_requested_bytes(time_left_s, MB, is_divisible=False)
        slow_bytes = slow.compute_requested_bytes(time_left_s, MB, is_divisible=False)
        assert fast_bytes == pytest.approx(20 * slow_bytes)


@pytest.mark.parametrize(("time_left_s", "busy_s"), [(math.inf, 1.0), (1.5, 0.75), (0.2, 2 * ROUND_TRIP_S)])
def test_requests_last_for_half_of_the_time_left_within_bounds(time_left_s: float, busy_s: float):
    requested = make_stream(100 * KB).compute_requested_bytes(time_left_s, MB, is_divisible=False)
    assert requested == pytest.approx(100 * KB * busy_s)


def test_long_path_has_requests_for_several_round_trips():
    stream = StreamRate()
    stream.round_trip_s = 1.0
    for _ in range(100):
        stream.measure(100 * KB, 0.1)
    assert stream.compute_requested_bytes(math.inf, MB, is_divisible=False) == pytest.approx(4 * MB)


def test_young_stream_requests_few_files_but_many_bytes_of_ranges():
    """Ranges can be dealt to other streams again, files that are requested cannot."""
    young = make_stream(10 * MB, lasted_s=0.1)
    assert young.compute_requested_bytes(math.inf, 100 * MB, is_divisible=False) == 1024 * 1024
    assert young.compute_requested_bytes(math.inf, 100 * MB, is_divisible=True) == 8 * 1024 * 1024
    assert young.compute_requested_bytes(math.inf, 0, is_divisible=False) == 256 * 1024


def test_recent_rate_follows_a_change_within_a_few_spans():
    rate = RecentRate()
    for _ in range(100):
        rate.note(100, 0.1, 1.0)
    for _ in range(40):
        rate.note(10, 0.1, 1.0)
    assert rate.compute_bytes_per_s(0.5) == pytest.approx(100, rel=0.05)


def test_rate_is_unknown_before_enough_was_noted():
    rate = RecentRate()
    assert rate.compute_bytes_per_s(0.1) is None
    rate.note(100, 0.1, 1.0)
    assert rate.compute_bytes_per_s(0.2) is None
    assert rate.compute_bytes_per_s(0.1) == pytest.approx(1000)
