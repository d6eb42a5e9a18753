"""When starting a tool anew pays."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind_agent.movers.wrap.restarts import (
    RestartCase,
    estimate_slow_start_s,
    is_restart_worthwhile,
    predict_rate_bps,
)

HUNDRED_SECONDS = RestartCase(
    now_bps=8e6,
    then_bps=16e6,
    remaining_bytes=100_000_000,
    boundary_bytes=100_000_000,
    lost_bytes=2_000_000,
    startup_s=0.5,
    slow_start_s=0.5,
    since_s=60.0,
    tick_s=5.0,
)
"""A hundred seconds left that could be fifty, for two seconds lost."""

RATES = st.floats(1e3, 1e11)
BYTES = st.integers(0, 10**13)


def test_half_the_time_is_worth_two_seconds():
    assert HUNDRED_SECONDS.gain_s == pytest.approx(50)
    assert HUNDRED_SECONDS.cost_s == pytest.approx(2)
    assert is_restart_worthwhile(HUNDRED_SECONDS)


@pytest.mark.parametrize(
    "change",
    [
        {"then_bps": 8e6},
        {"then_bps": 4e6},
        {"lost_bytes": 80_000_000},
        {"boundary_bytes": 4_000_000},
        {"startup_s": 40.0},
        {"since_s": 14.0},
        {"remaining_bytes": 9_000_000},
        {"now_bps": 0.0},
    ],
    ids=["no faster", "slower", "much is lost", "boundary near", "slow to start", "just started", "end near", "unseen"],
)
def test_restart_that_costs_more_than_it_gains_is_rejected(change):
    assert not is_restart_worthwhile(replace(HUNDRED_SECONDS, **change))


def test_a_gain_within_the_hysteresis_is_no_gain():
    """2.5 s are gained for 2 s."""
    assert not is_restart_worthwhile(replace(HUNDRED_SECONDS, boundary_bytes=5_000_000))
    assert is_restart_worthwhile(replace(HUNDRED_SECONDS, boundary_bytes=6_500_000))


@given(now=RATES, then=RATES, left=BYTES, part=BYTES, lost=BYTES, since=st.floats(0, 1e4))
def test_restart_never_pays_if_it_loses_time(now, then, left, part, lost, since):
    case = replace(
        HUNDRED_SECONDS,
        now_bps=now,
        then_bps=then,
        remaining_bytes=left,
        boundary_bytes=part,
        lost_bytes=lost,
        since_s=since,
    )
    if is_restart_worthwhile(case):
        assert then > now
        assert case.gain_s > case.cost_s
        assert since >= 15


def test_more_streams_regain_what_is_missed_but_only_in_proportion():
    missing = {"expected_now_bps": 9e7, "expected_then_bps": 1e8}
    assert predict_rate_bps(1e7, **missing, streams_ratio=4) == pytest.approx(4e7)
    assert predict_rate_bps(5e7, **missing, streams_ratio=4) == pytest.approx(1e8)
    assert predict_rate_bps(2e8, **missing, streams_ratio=4) == pytest.approx(2e8 / 0.9)


def test_fewer_streams_change_the_rate_as_they_are_expected_to():
    assert predict_rate_bps(1e7, expected_now_bps=1e8, expected_then_bps=8e7, streams_ratio=0.5) == pytest.approx(8e6)
    assert predict_rate_bps(1e7, expected_now_bps=0.0, expected_then_bps=8e7, streams_ratio=0.5) == pytest.approx(1e7)


def test_slow_start_takes_a_round_trip_for_each_doubling():
    assert estimate_slow_start_s(1e5, 8, 0.1) == pytest.approx(0.1)
    one, four = (estimate_slow_start_s(1e9, streams, 0.1) for streams in (1, 4))
    assert one - four == pytest.approx(0.2)
