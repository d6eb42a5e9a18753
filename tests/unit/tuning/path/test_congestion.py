import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.recommendation import CompactTable
from tradewind.tiers.setting_table import SettingTable
from tradewind.tuning.path.congestion import (
    SEGMENT_BYTES,
    Loss,
    Signal,
    StreamLimit,
    classify_signal,
    compute_dead_band_s,
    compute_expected_delay_s,
    compute_tolerated_loss,
    has_room,
)


def history(**delays: float) -> CompactTable:
    return CompactTable(
        predicted=SettingTable(()), queueing_delay_p90_s={int(k[1:]): delay for k, delay in delays.items()}
    )


def signal(delay_s=None, loss=None, *, expected_s=0.06, baseline=0.0, limit=None, sent_bytes=math.inf, lasting=None):
    limit = limit or StreamLimit()
    return classify_signal(
        delay_s=delay_s,
        expected_s=expected_s,
        loss=None if loss is None else Loss(loss, sent_bytes),
        lasting=lasting,
        tolerated_loss=compute_tolerated_loss(baseline, limit),
        limit=limit,
    )


@pytest.mark.parametrize(("streams", "delay_s"), [(1, 0.1), (2, 0.1), (4, 0.2), (6, 0.3), (8, 0.4), (100, 0.4)])
def test_expected_delay_is_interpolated_between_logged_stream_counts(streams, delay_s):
    table = history(s2=0.1, s4=0.2, s8=0.4)
    assert compute_expected_delay_s([table], streams, min_rtt_s=0.03) == pytest.approx(delay_s)


def test_history_of_transfers_that_left_the_path_half_empty_makes_no_own_queue_congestion():
    assert compute_expected_delay_s([history(s2=0.0002, s32=0.0003)], 16, min_rtt_s=0.06) == 0.06


def test_without_history_one_round_trip_of_queue_is_expected_and_50_ms_on_short_paths():
    assert compute_expected_delay_s([], 4, min_rtt_s=0.2) == 0.2
    assert compute_expected_delay_s([history()], 4, min_rtt_s=0.001) == 0.05


@pytest.mark.parametrize("streams", [1, 5])
def test_a_full_queue_that_one_flow_alone_would_make_is_no_congestion(streams):
    assert signal(0.06 + compute_dead_band_s(0.06)) is Signal.QUIET
    assert signal(0.06 + compute_dead_band_s(0.06) + 1e-9) is Signal.DELAY


def test_loss_counts_above_a_tenth_of_a_per_cent_and_three_times_the_baseline():
    assert signal(loss=1e-3) is Signal.QUIET
    assert signal(loss=1.1e-3) is Signal.LOSS
    assert signal(loss=2.9e-3, baseline=1e-3) is Signal.QUIET
    assert signal(loss=3.1e-3, baseline=1e-3) is Signal.LOSS


@pytest.mark.parametrize("segments", [500, 2_000, 10_000, 50_000])
def test_a_tick_of_few_segments_seldom_takes_luck_for_congestion_and_a_long_one_sees_it(segments):
    """Segments are lost some at a time, at the rate that is just tolerated, and at three times that."""

    def cuts(rate):
        rng = random.Random(segments)
        lost = [sum(3 for _ in range(segments // 10) if rng.random() < rate * 10 / 3) for _ in range(400)]
        seen = [signal(loss=each / segments, sent_bytes=segments * SEGMENT_BYTES) for each in lost]
        return seen.count(Signal.LOSS) / len(seen)

    assert cuts(1e-3) <= 0.15
    assert cuts(3e-3) >= (0.8 if segments >= 10_000 else 0.2)


def test_same_loss_is_a_signal_only_after_enough_bytes():
    assert signal(loss=1.7e-3, sent_bytes=25e6) is Signal.LOSS
    assert signal(loss=1.7e-3, sent_bytes=10e6) is Signal.QUIET


@pytest.mark.parametrize(("streams", "ticks"), [(24, 1), (16, 1), (8, 2), (5, 4), (3, 6), (1, 16)])
def test_few_streams_are_cut_only_after_several_ticks(streams, ticks):
    limit = StreamLimit()
    for _ in range(ticks - 1):
        limit = limit.count_sign(Signal.LOSS)
        assert limit.needs_another_sign(streams)
    limit = limit.count_sign(Signal.DELAY)
    assert not limit.needs_another_sign(streams)
    assert limit.count_sign(Signal.QUIET).signs == 0
    assert cut(limit, Signal.LOSS, streams).signs == 0


def count_lossy_ticks(share, streams, ticks, *, stream_bytes=1.7e6):
    """The limit after lossy ticks in a row of so many streams, and the signal of each."""
    limit, seen = StreamLimit(), []
    for _ in range(ticks):
        lasting = limit.join_loss(Loss(share, streams * stream_bytes), streams)
        seen.append(signal(loss=share, sent_bytes=streams * stream_bytes, lasting=lasting))
        limit = limit.count_sign(seen[-1], lasting)
    return limit, seen


@pytest.mark.parametrize("streams", [3, 4, 6, 8])
def test_loss_that_no_tick_shows_surely_is_shown_by_as_many_segments_of_few_streams_as_of_many(streams):
    ticks = math.ceil(16 / streams)
    limit, seen = count_lossy_ticks(1.75e-3, streams, ticks)
    assert (seen[0], seen[-1]) == (Signal.QUIET, Signal.LOSS)
    assert not limit.needs_another_sign(streams)
    assert set(count_lossy_ticks(1.5e-3, streams, 40)[1]) == {Signal.QUIET}, "as many segments, not ever more"


def test_a_tick_without_loss_ends_those_that_count_together():
    limit, _ = count_lossy_ticks(1.75e-3, 4, 3)
    assert limit.signs == 3
    assert limit.count_sign(Signal.QUIET) == StreamLimit()


def test_ticks_that_lose_a_little_are_no_signs_of_a_long_queue():
    limit, _ = count_lossy_ticks(1.2e-3, 8, 6)
    delayed = limit.count_sign(Signal.DELAY)
    assert delayed == StreamLimit(signs=1)
    assert delayed.count_sign(Signal.DELAY).signs == 2


def test_loss_is_the_graver_signal():
    assert signal(1.0, 0.01) is Signal.LOSS


def test_nothing_measured_is_no_congestion():
    assert signal() is Signal.QUIET
    assert has_room(None, 0.06)


def test_a_short_queue_leaves_room_and_a_long_one_none():
    assert has_room(0.01, 0.06)
    assert not has_room(0.03, 0.06)


def cut(limit: StreamLimit, why: Signal, streams: int, *, delay_s=0.1, loss=0.01, at_s=0.0) -> StreamLimit:
    """The limit after one more tick with this signal."""
    if limit.was_in_vain(why, delay_s=delay_s, loss=loss):
        return limit.take_back(why, delay_s=delay_s, loss=loss, elapsed_s=at_s)
    return limit.cut(why, streams, delay_s=delay_s, loss=loss, elapsed_s=at_s)


@given(st.integers(1, 500), st.sampled_from([Signal.DELAY, Signal.LOSS]))
def test_a_cut_gives_up_three_in_ten_streams_and_leaves_one(streams, why):
    left = cut(StreamLimit(), why, streams).streams
    assert left is not None
    assert 1 <= left < max(streams, 2)
    assert 0.7 * streams - 1 < left < 0.7 * streams + 1


def test_after_each_quiet_dwell_one_more_stream_until_those_of_the_first_cut():
    limit = cut(StreamLimit(), Signal.LOSS, 8)
    seen = []
    for tick in range(1, 5):
        limit = limit.regain_after_quiet(5.0 * tick, dwell_s=3.0)
        seen.append(limit.streams)
    assert seen == [7, 8, None, None]


def test_within_the_dwell_nothing_is_raised():
    limit = cut(StreamLimit(), Signal.LOSS, 16, at_s=10.0)
    assert limit.regain_after_quiet(12.0, dwell_s=3.0) == limit


def test_loss_that_a_cut_does_not_ease_is_the_paths_own():
    limit = cut(StreamLimit(), Signal.LOSS, 16, loss=0.01)
    after = cut(limit, Signal.LOSS, 11, loss=0.0095)
    assert after.streams is None
    assert signal(loss=0.012, limit=after) is Signal.QUIET
    assert signal(loss=0.02, limit=after) is Signal.LOSS


def test_loss_of_our_own_making_falls_with_the_cut_and_is_cut_on():
    limit = cut(StreamLimit(), Signal.LOSS, 16, loss=0.01)
    assert cut(limit, Signal.LOSS, 11, loss=0.005).streams == 8


def test_a_queue_that_a_cut_does_not_shorten_becomes_the_expectation():
    limit = cut(StreamLimit(), Signal.DELAY, 16, delay_s=0.3)
    after = cut(limit, Signal.DELAY, 11, delay_s=0.29)
    assert after.streams is None
    assert signal(0.3, limit=after) is Signal.QUIET
    assert signal(0.4, limit=after) is Signal.DELAY


def test_only_the_cut_that_was_in_vain_is_taken_back():
    limit = cut(cut(StreamLimit(), Signal.DELAY, 16, delay_s=0.3), Signal.DELAY, 11, delay_s=0.2)
    after = cut(limit, Signal.DELAY, 7, delay_s=0.19)
    assert (after.streams, after.before) == (11, 16)


def test_cuts_in_vain_in_a_row_are_taken_back_together():
    first = StreamLimit().cut(Signal.LOSS, 24, delay_s=0.0, loss=0.01, elapsed_s=5.0)
    second = first.cut(Signal.LOSS, 17, delay_s=0.0, loss=0.0095, elapsed_s=10.0)
    assert (first.in_vain, second.in_vain, second.before_last) == (0, 1, 24)
    assert second.cut(Signal.LOSS, 12, delay_s=0.0, loss=0.005, elapsed_s=15.0).in_vain == 0
    assert second.take_back(Signal.LOSS, delay_s=0.0, loss=0.0095, elapsed_s=15.0).streams is None


def test_more_streams_are_expected_to_queue_no_less_than_fewer():
    delays = {1: 0.1, 8: 0.6, 24: 0.4}
    told = CompactTable(predicted=SettingTable(()), queueing_delay_p90_s=delays)
    assert [compute_expected_delay_s([told], n, 0.06) for n in (1, 8, 16, 24, 64)] == [0.1, 0.6, 0.6, 0.6, 0.6]
