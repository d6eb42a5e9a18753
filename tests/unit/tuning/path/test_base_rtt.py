"""When a delay that a cut has left is taken for a longer path."""

import pytest

from tests.unit.tuning.next_ticks import parameters_of, sample, stepped
from tests.unit.tuning.transfers import BIG, warm
from tradewind.parameters import Parameters
from tradewind.tuning import DecisionKind, TuningState
from tradewind.tuning.path.base_rtt import SOON_TICKS, BaseRtt

FULL_BPS = 58e6
LESS_BPS = 50e6
UNSETTLED = (0.16, None)


def after_ticks(*ticks):
    transfer = warm(BIG)
    base = BaseRtt()
    for rtt_s, settled_rtt_s in ticks:
        base = base.update(sample(transfer, rtt_s=rtt_s, settled_rtt_s=settled_rtt_s))
    return base


@pytest.mark.parametrize("between", range(SOON_TICKS))
def test_a_round_trip_at_which_samples_settle_twice_is_the_paths(between):
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


def test_a_path_that_becomes_shorter_again_is_seen_at_once():
    long = after_ticks((0.15, 0.15), (0.15, 0.15))
    transfer = warm(BIG)
    assert long.update(sample(transfer, rtt_s=0.09)).found_s == 0.09
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


def test_streams_given_up_for_a_longer_path_come_back_at_once():
    transfer = transfer_cut_for_delay()
    for rtt_s in (0.1504, 0.15):
        settled = sample(transfer, rtt_s=0.152, settled_rtt_s=rtt_s, throughput_bps=LESS_BPS)
        transfer.state, transfer.decision = stepped(transfer, settled)
    assert transfer.decision.kind is DecisionKind.RESTORE
    assert transfer.decision.reason == "150 ms behind no queue: the path has become longer"
    assert sum(each.streams for each in parameters_of(transfer.decision)) == 12
    transfer.state = TuningState.from_dict(transfer.state.to_dict())
    _, after = stepped(transfer, sample(transfer, rtt_s=0.2, throughput_bps=FULL_BPS))
    assert after.streams == 12, "a queue of 50 ms is usual on a path of 150 ms"


def test_a_queue_that_rivals_keep_swings():
    transfer = transfer_cut_for_delay()
    for rtt_s in (0.165, 0.178, 0.172):
        transfer.state, transfer.decision = stepped(transfer, sample(transfer, rtt_s=rtt_s, throughput_bps=LESS_BPS))
        assert transfer.state.base_rtt.found_s == 0
        assert transfer.decision.streams <= 9
