"""When a delay is more than a queue holds, so that the path has become longer."""

import pytest

from tests.unit.tuning.next_ticks import sample, stepped
from tests.unit.tuning.transfers import BIG, warm
from tradewind.parameters import Parameters
from tradewind.tuning import DecisionKind, TuningState
from tradewind.tuning.path.queue_depth import FASTER, NOT_FULL, QueueDepth

RATE_BPS = 58e6
FULL_S = 0.055
PATH_S = 0.06
EXPECTED_S = 0.06


def judge(depth, *, delay_s, rate_bps=RATE_BPS, settled_rtt_s=None, base_s=PATH_S, **flags):
    """The verdict on a tick with this delay beyond the known round trip."""
    tick = sample(
        warm(BIG), rtt_s=base_s + delay_s, min_rtt_s=base_s, throughput_bps=rate_bps, settled_rtt_s=settled_rtt_s
    )
    shown = {"is_overflowing": False, "is_full": delay_s > EXPECTED_S / 2, "is_longer": False} | flags
    return depth.judge(tick, expected_s=EXPECTED_S, **shown)


@pytest.fixture
def known():
    """A queue that has overflowed at 55 ms."""
    return judge(QueueDepth(), delay_s=FULL_S, is_overflowing=True).depth


def test_a_delay_that_the_queue_cannot_hold_twice_in_a_row_is_the_paths(known):
    first = judge(known, delay_s=0.145)
    assert first.least_rtt_s == 0.0, "one may come from a bottleneck that became slower within the tick"
    assert first.depth.is_in_question
    second = judge(first.depth, delay_s=0.135)
    assert second.least_rtt_s == pytest.approx(PATH_S + 0.135 - FULL_S)


@pytest.mark.parametrize("slower", [2, 3, 10])
def test_behind_a_slower_bottleneck_the_same_queue_takes_longer(known, slower):
    depth = known
    for _ in range(3):
        verdict = judge(depth, delay_s=slower * FULL_S, rate_bps=RATE_BPS / slower)
        depth = verdict.depth
        assert verdict.least_rtt_s == 0.0
        assert not depth.is_in_question


@pytest.mark.parametrize("share", [0.25, 0.5, 0.8])
def test_next_to_a_rival_the_queue_takes_as_long_and_carries_less_of_this_transfer(known, share):
    depth = judge(known, delay_s=1.1 * FULL_S, rate_bps=share * RATE_BPS).depth
    assert judge(depth, delay_s=1.1 * FULL_S, rate_bps=share * RATE_BPS) == (known, 0.0)


def test_a_transfer_whose_rival_leaves_has_more_of_the_queue():
    shared = judge(QueueDepth(), delay_s=FULL_S, rate_bps=RATE_BPS / 2, is_overflowing=True).depth
    alone = judge(shared, delay_s=2 * FULL_S, rate_bps=1.01 * FASTER * RATE_BPS / 2)
    assert not alone.depth.is_in_question


@pytest.mark.parametrize("flags", [{"is_overflowing": False}, {"is_overflowing": True, "is_full": False}])
def test_only_a_full_queue_that_overflows_shows_how_much_it_holds(flags):
    depth = judge(QueueDepth(), delay_s=FULL_S, **flags).depth
    assert depth == QueueDepth()
    assert not judge(depth, delay_s=0.145).depth.is_in_question


def test_a_usual_delay_is_never_in_question():
    shallow = judge(QueueDepth(), delay_s=0.035, is_overflowing=True).depth
    assert not judge(shallow, delay_s=1.2 * EXPECTED_S).depth.is_in_question
    assert judge(shallow, delay_s=1.3 * EXPECTED_S).depth.is_in_question


@pytest.mark.parametrize(
    ("is_longer", "rate", "least_rtt_s"),
    [(True, 0.95 * NOT_FULL, 0.15), (True, 1.0, 0.0), (False, 0.95 * NOT_FULL, 0.0)],
)
def test_settled_round_trips_count_on_a_longer_path_whose_pipe_is_not_full(known, is_longer, rate, least_rtt_s):
    verdict = judge(
        known, delay_s=0.065, base_s=0.085, rate_bps=rate * RATE_BPS, settled_rtt_s=0.15, is_longer=is_longer
    )
    assert verdict.least_rtt_s == least_rtt_s


def test_a_full_queue_takes_less_time_on_a_faster_path(known):
    assert known.compute_full_delay_s(2 * RATE_BPS, EXPECTED_S) == pytest.approx(FULL_S / 2)
    assert known.compute_full_delay_s(RATE_BPS / 2, EXPECTED_S) == EXPECTED_S
    assert QueueDepth().compute_full_delay_s(2 * RATE_BPS, EXPECTED_S) == EXPECTED_S


def run_ticks(transfer, ticks):
    """Each tick: round trip, rate and share lost."""
    sent = again = 0
    for rtt_s, rate_bps, loss in ticks:
        sent += int(5 * rate_bps / 8)
        again += int(loss * 5 * rate_bps / 8)
        tick = sample(
            transfer,
            rtt_s=rtt_s,
            min_rtt_s=PATH_S,
            throughput_bps=rate_bps,
            sent_bytes=sent,
            retransmitted_bytes=again,
        )
        transfer.state, transfer.decision = stepped(transfer, tick)
        transfer.state = TuningState.from_dict(transfer.state.to_dict())


FULL = [(0.115, RATE_BPS, 0.0012)] * 4


def test_no_stream_is_given_up_on_a_path_that_becomes_longer():
    transfer = warm(BIG, start=Parameters(concurrency=12, parallelism=1, pipelining=4))
    run_ticks(transfer, FULL)
    run_ticks(transfer, [(0.152, 0.82 * RATE_BPS, 4e-4), (0.205, 0.98 * RATE_BPS, 6e-4), (0.19, RATE_BPS, 6e-4)])
    assert transfer.decision.streams == 12
    assert transfer.state.base_rtt.found_s > 0.08


@pytest.mark.parametrize("filled", [1.0, 0.7])
def test_no_stream_is_given_up_for_a_queue_that_is_all_of_this_transfer(filled):
    transfer = warm(BIG, start=Parameters(concurrency=12, parallelism=1, pipelining=4))
    run_ticks(transfer, FULL)
    run_ticks(transfer, [(PATH_S + filled * 3 * FULL_S, RATE_BPS / 3, 5e-4)] * 4)
    assert transfer.decision.streams >= 12
    assert transfer.state.limit.streams is None
    assert transfer.state.base_rtt.found_s == 0


def test_streams_are_given_up_for_a_rival_behind_a_bottleneck_that_becomes_slower():
    transfer = warm(BIG, start=Parameters(concurrency=12, parallelism=1, pipelining=4))
    run_ticks(transfer, FULL)
    run_ticks(transfer, [(0.23, RATE_BPS / 6, 5e-4)] * 2)
    assert transfer.decision.kind is DecisionKind.CONGESTION
    assert transfer.decision.streams < 12
    assert transfer.state.base_rtt.found_s == 0


@pytest.mark.parametrize(("share", "is_own"), [(1.0, True), (0.7, True), (0.6, False), (0.25, False)])
def test_a_queue_is_this_transfers_alone_while_it_holds_what_it_held_when_it_overflowed(known, share, is_own):
    slower = 3.0
    tick = sample(
        warm(BIG),
        rtt_s=PATH_S + slower * FULL_S,
        min_rtt_s=PATH_S,
        throughput_bps=share * RATE_BPS / slower,
    )
    assert known.is_own(tick) == is_own
    assert not QueueDepth().is_own(tick), "nothing is known before a queue has overflowed"
