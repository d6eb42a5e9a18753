"""When a delay that a cut has left is taken for a longer path."""

import pytest

from tests.unit.tuning.next_ticks import parameters_of, sample, stepped
from tests.unit.tuning.transfers import BIG, warm
from tradewind.parameters import Parameters
from tradewind.tuning import DecisionKind, TuningState
from tradewind.tuning.path.base_rtt import SOON_TICKS, BaseRtt
from tradewind.tuning.path.congestion import Signal, StreamLimit

FULL_BPS = 58e6
LESS_BPS = 50e6
UNSETTLED = (0.16, None)


def after_ticks(*ticks, streams=(12, 8), is_overflowing=False):
    """The state after these ticks, the first with so many streams, the others with as many as after a cut."""
    transfer = warm(BIG)
    base = BaseRtt()
    for number, (rtt_s, settled_rtt_s) in enumerate(ticks):
        tick = sample(transfer, rtt_s=rtt_s, settled_rtt_s=settled_rtt_s)
        base = base.update(tick, streams[min(number, 1)], is_overflowing=is_overflowing)
    return base


@pytest.mark.parametrize("between", range(SOON_TICKS))
def test_a_round_trip_that_fewer_streams_leave_as_it_was_is_the_paths(between):
    assert after_ticks((0.151, 0.1504), *[UNSETTLED] * between, (0.18, 0.15)).found_s == 0.15


@pytest.mark.parametrize(
    "ticks",
    [
        [(0.15, 0.15)],  # one may be luck
        [(0.15, None), (0.15, None)],  # two samples say nothing of those between
        [(0.15, 0.15), (0.165, 0.165)],  # a queue swings
        [(0.15, 0.15), (0.165, 0.165), (0.15, 0.15)],  # and may swing back
        [(0.15, 0.15), *[UNSETTLED] * SOON_TICKS, (0.15, 0.15)],  # long ago
        [(None, 0.15), (None, 0.15)],
    ],
)
def test_possible_queue_is_no_new_base_round_trip(ticks):
    assert after_ticks(*ticks).found_s == 0


def test_a_queue_that_a_crowd_keeps_full_is_no_longer_path():
    assert after_ticks((0.117, 0.117), (0.117, 0.117), is_overflowing=True).found_s == 0


def test_equal_round_trips_with_as_many_streams_may_be_a_queue():
    assert after_ticks((0.15, 0.15), (0.15, 0.15), (0.15, 0.15), streams=(12, 12)).found_s == 0


def test_a_queue_without_loss_of_streams_that_a_window_limits_shrinks_with_them():
    transfer, streams = warm(BIG, start=Parameters(concurrency=12, parallelism=1, pipelining=4)), 12
    for number in range(1, 13):
        rtt_s = max(0.06, 0.0125 * streams)
        tick = sample(
            transfer,
            rtt_s=rtt_s,
            settled_rtt_s=rtt_s,
            throughput_bps=FULL_BPS,
            sent_bytes=number * 36_000_000,
            retransmitted_bytes=0,
        )
        transfer.state, transfer.decision = stepped(transfer, tick)
        streams = transfer.decision.streams
        assert transfer.state.base_rtt.found_s in (0, 0.06)
    assert streams < 12


def test_a_path_that_becomes_shorter_again_is_seen_at_once():
    long = after_ticks((0.15, 0.15), (0.15, 0.15))
    transfer = warm(BIG)
    assert long.update(sample(transfer, rtt_s=0.09), 8, is_overflowing=False).found_s == 0.09
    assert long.correct_sample(sample(transfer, min_rtt_s=0.06)).min_rtt_s == 0.15
    assert long.correct_sample(sample(transfer, min_rtt_s=0.2)).min_rtt_s == 0.2
    assert long.correct_sample(sample(transfer, min_rtt_s=None)).min_rtt_s is None


def transfer_cut_for_delay():
    """One whose path went from 60 to 150 ms, and that gave up four of twelve streams for it."""
    transfer = warm(BIG, start=Parameters(concurrency=12, parallelism=1, pipelining=4))
    for rtt_s in (0.2, 0.203):
        transfer.state, transfer.decision = stepped(transfer, sample(transfer, rtt_s=rtt_s, throughput_bps=FULL_BPS))
    assert transfer.decision.kind is DecisionKind.CONGESTION
    assert transfer.decision.streams < 12
    return transfer


def settle(transfer, *, retransmitted_bytes):
    """Three ticks whose round trips settle at 150 ms, each with so many bytes sent again."""
    for number, rtt_s in enumerate((0.1507, 0.1504, 0.15), start=1):
        settled = sample(
            transfer,
            rtt_s=0.152,
            settled_rtt_s=rtt_s,
            throughput_bps=LESS_BPS,
            sent_bytes=number * 30_000_000,
            retransmitted_bytes=number * retransmitted_bytes,
        )
        transfer.state, transfer.decision = stepped(transfer, settled)


def test_streams_given_up_for_a_longer_path_come_back_at_once():
    transfer = transfer_cut_for_delay()
    settle(transfer, retransmitted_bytes=0)
    assert transfer.decision.kind is DecisionKind.RESTORE
    assert transfer.decision.reason == "150 ms behind no queue: the path has become longer"
    assert sum(each.streams for each in parameters_of(transfer.decision)) == 12
    transfer.state = TuningState.from_dict(transfer.state.to_dict())
    _, after = stepped(transfer, sample(transfer, rtt_s=0.2, throughput_bps=FULL_BPS))
    assert after.streams == 12, "a queue of 50 ms is usual on a path of 150 ms"


def test_streams_given_up_in_a_crowd_do_not_come_back_where_round_trips_settle_at_a_full_queue():
    transfer = transfer_cut_for_delay()
    settle(transfer, retransmitted_bytes=600_000)
    assert transfer.state.base_rtt.found_s == 0
    assert transfer.decision.streams <= 9


def test_streams_given_up_for_loss_stay_given_up_when_the_path_becomes_longer():
    lossy = StreamLimit().cut(Signal.LOSS, 32, delay_s=0.0, loss=0.01, elapsed_s=10.0)
    delayed = lossy.cut(Signal.DELAY, 12, delay_s=0.09, loss=0.0, elapsed_s=40.0)
    delayed = delayed.cut(Signal.DELAY, 8, delay_s=0.07, loss=0.0, elapsed_s=50.0)
    assert delayed.undo_delay_cuts(60.0).streams == 12
    assert (
        StreamLimit().cut(Signal.DELAY, 12, delay_s=0.09, loss=0.0, elapsed_s=4.0).undo_delay_cuts(9.0).streams is None
    )


def test_a_queue_that_rivals_keep_swings():
    transfer = transfer_cut_for_delay()
    for rtt_s in (0.165, 0.178, 0.172):
        transfer.state, transfer.decision = stepped(transfer, sample(transfer, rtt_s=rtt_s, throughput_bps=LESS_BPS))
        assert transfer.state.base_rtt.found_s == 0
        assert transfer.decision.streams <= 9
