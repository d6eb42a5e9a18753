"""Streams that are given up where others suffer, how far that goes, and when they come back."""

from dataclasses import replace

import pytest

from tests.unit.tuning.next_ticks import parameters_of, sample, stepped
from tests.unit.tuning.simulated_path import BASE_W, MAX_THROUGHPUT, chunk_basis, run
from tests.unit.tuning.transfers import BIG, P, warm
from tradewind.dataset import ChunkKind, DataSet
from tradewind.parameters import NO_CAPS, Parameters
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tuning import Basis, ChunkProgress, DecisionKind, TickSample, begin, step
from tradewind.tuning.path.congestion import FEW_STREAMS, StreamLimit

LARGE = DataSet(file_count=400, total_bytes=BIG.total_bytes)
RATE_BPS = 90e6


def crowding(*datasets: DataSet) -> Basis:
    """Many more streams than are enough, some for each chunk."""
    kinds = (ChunkKind.WHOLE,) if len(datasets) == 1 else (ChunkKind.MEDIUM, ChunkKind.LARGE)
    start = Parameters(concurrency=48 // len(datasets), parallelism=1, pipelining=4)
    chunks = tuple(
        chunk_basis(dataset, start, P.table(dataset.mean_file_bytes), kind)
        for dataset, kind in zip(datasets, kinds, strict=True)
    )
    return Basis(MAX_THROUGHPUT, chunks, P.path, NO_CAPS, BASE_W)


def tick(basis: Basis, sequence: int) -> TickSample:
    """One of a transfer that fills its pipe, and the queue before it."""
    return TickSample(
        sequence=sequence,
        at_s=5.0 * sequence,
        interval_s=5.0,
        bytes_moved=sequence * 10**8,
        throughput_bps=RATE_BPS,
        remaining_bytes=sum(chunk.total_bytes for chunk in basis.chunks),
        remaining_files=sum(chunk.file_count for chunk in basis.chunks),
        rtt_s=0.12,
        min_rtt_s=0.06,
        sent_bytes=sequence * 10**8,
        retransmitted_bytes=0,
        chunks=tuple(
            ChunkProgress(
                kind=chunk.kind,
                parameters=chunk.plan.parameters,
                throughput_bps=RATE_BPS / len(basis.chunks),
                remaining_bytes=chunk.total_bytes,
            )
            for chunk in basis.chunks
        ),
    )


@pytest.mark.parametrize(("datasets", "enough"), [((BIG,), 12), ((BIG, LARGE), FEW_STREAMS)])
def test_congestion_reduces_many_streams_to_what_the_tables_say_is_enough(datasets, enough):
    basis = crowding(*datasets)
    state, _ = step(basis, begin(basis), tick(basis, 1))
    _, decision = step(basis, state, replace(tick(basis, 2), retransmitted_bytes=2 * 10**6))
    assert decision.kind is DecisionKind.CONGESTION
    assert decision.streams == enough


def test_a_path_that_loses_by_itself_needs_more_streams_than_the_tables_say():
    basis = crowding(BIG)
    state, _ = step(basis, begin(basis), tick(basis, 1))
    radio = replace(state, limit=StreamLimit(accepted_loss=0.002))
    _, decision = step(basis, radio, replace(tick(basis, 2), retransmitted_bytes=2 * 10**6))
    assert decision.kind is DecisionKind.CONGESTION
    assert decision.streams == 34  # 0.7 of 48


@pytest.mark.parametrize("moved", [10**8, None])
def test_loss_gives_up_streams_and_restarted_counters_do_not(moved):
    transfer = warm(BIG)
    state, _ = stepped(transfer, sample(transfer, sent_bytes=10**8, retransmitted_bytes=10**4))
    transfer.state = state
    again = (
        sample(transfer, sent_bytes=2 * 10**8, retransmitted_bytes=3 * 10**6)
        if moved
        else sample(transfer, sent_bytes=10**7, retransmitted_bytes=10**3)
    )
    _, decision = stepped(transfer, again)
    assert (decision.kind is DecisionKind.CONGESTION) == bool(moved)
    if moved:
        assert decision.streams == 12  # of 24: 17 are permitted, and by the table 12 are as fast
        assert "sent again" in decision.reason


def test_a_long_queue_gives_up_parallelism_first():
    transfer = warm(BIG, start=Parameters(concurrency=4, parallelism=4, pipelining=1))
    _, decision = stepped(transfer, sample(transfer, rtt_s=0.36))
    (after,) = parameters_of(decision)
    assert decision.kind is DecisionKind.CONGESTION
    assert (after.concurrency, after.parallelism) == (4, 3)
    assert "queueing delay 300 ms where 60 ms is usual" in decision.reason


def test_while_others_suffer_nothing_else_is_decided():
    transfer = warm(BIG, Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=90e6))
    state, first = stepped(transfer, sample(transfer, rtt_s=0.36, throughput_bps=10e6))
    transfer.state, transfer.decision = state, first
    before = first.streams
    for delay_s in (0.2, 0.15, 0.1):
        state, decision = stepped(transfer, sample(transfer, rtt_s=0.06 + delay_s, throughput_bps=10e6))
        transfer.state, transfer.decision = state, decision
        assert decision.streams <= before
        before = decision.streams


@pytest.mark.parametrize(("unrest", "come_back"), [(0.02, True), (0.0, False)])
def test_streams_given_up_for_others_come_back_though_each_gains_little(unrest, come_back):
    """Not where the rate does not vary behind a standing queue: there were no others."""
    transfer = warm(BIG, start=Parameters(concurrency=12, parallelism=1, pipelining=4))
    run(P, [transfer], 2)
    before, sent = transfer.decision.streams, 10**8
    lossy, _ = stepped(transfer, sample(transfer, sent_bytes=sent, retransmitted_bytes=10**4))
    transfer.state = replace(lossy, decision=transfer.decision, limit=StreamLimit(signs=1))
    again = sample(transfer, sent_bytes=2 * sent, retransmitted_bytes=10**6)
    transfer.state, transfer.decision = stepped(transfer, again)
    cut = transfer.decision.streams
    assert cut < before
    asked = []
    for tick in range(3, 12):
        rate_bps = RATE_BPS * (1 + unrest * (-1) ** tick)
        quiet = sample(transfer, sent_bytes=tick * sent, retransmitted_bytes=10**6, throughput_bps=rate_bps)
        transfer.state, transfer.decision = stepped(transfer, quiet)
        asked.append(transfer.decision.streams)
    assert asked == sorted(asked)
    assert (asked[-1] > cut) is come_back


@pytest.mark.parametrize(("lost", "signs"), [(0.0008, 0), (0.0012, 3)])
def test_a_stream_comes_back_in_a_tick_that_loses_little_and_that_tick_still_counts(lost, signs):
    transfer = limited(6, cut_loss=0.0, signs=2, signs_sent_bytes=2e7, signs_lost_bytes=2.4e4)
    one = sample(transfer, rtt_s=P.rtt_s + 0.06, sent_bytes=10**7, retransmitted_bytes=int(lost * 10**7))
    state, _ = stepped(transfer, one)
    assert state.limit.streams == 7
    assert state.limit.signs == signs


def test_a_queue_that_others_fill_does_not_take_stream_after_stream():
    transfer = warm(BIG, start=Parameters(concurrency=16, parallelism=1, pipelining=4))
    [chunk] = transfer.basis.chunks
    delays = {1: 0.001, 4: 0.03, 8: 0.05, 16: 0.06}
    short = replace(chunk, table=replace(chunk.table, queueing_delay_p90_s=delays))
    transfer.basis = replace(transfer.basis, chunks=(short,))
    transfer.state = replace(transfer.state, limit=StreamLimit(streams=4, before=16, before_last=6, cut_loss=0.01))
    _, decision = stepped(transfer, sample(transfer, rtt_s=P.rtt_s + 0.055, min_rtt_s=P.rtt_s))
    assert decision.kind is not DecisionKind.CONGESTION


def limited(streams, **values):
    """A transfer with so many streams after two cuts for loss, whose patience is at its end."""
    transfer = warm(BIG, start=Parameters(concurrency=streams, parallelism=1, pipelining=4))
    limit = StreamLimit(streams=streams, before=24, before_last=12, cut_loss=0.01, signs=16)
    counters = {"elapsed_s": 50.0, "sent_bytes": 0, "retransmitted_bytes": 0}
    transfer.state = replace(transfer.state, limit=replace(limit, **values), **counters)
    return transfer


@pytest.mark.parametrize(("queue_s", "kind"), [(0.06, DecisionKind.CONGESTION), (0.0, DecisionKind.RESTORE)])
def test_loss_that_a_cut_leaves_is_the_paths_own_but_behind_a_full_queue(queue_s, kind):
    transfer = limited(8)
    one = sample(transfer, rtt_s=P.rtt_s + queue_s, sent_bytes=10**8, retransmitted_bytes=10**6)
    state, decision = stepped(transfer, one)
    assert decision.kind is kind
    assert (state.limit.streams is None) == (kind is DecisionKind.RESTORE)


def test_few_streams_are_not_cut_for_one_lossy_tick():
    transfer = limited(6, cut_loss=0.0, signs=0)
    seen = []
    for tick in range(1, 4):
        lossy = sample(transfer, rtt_s=P.rtt_s + 0.06, sent_bytes=tick * 10**8, retransmitted_bytes=tick * 10**6)
        transfer.state, transfer.decision = stepped(transfer, lossy)
        seen.append((transfer.decision.kind, transfer.decision.streams))
    assert seen == [(DecisionKind.DWELL, 6), (DecisionKind.DWELL, 6), (DecisionKind.CONGESTION, 5)]


@pytest.mark.parametrize(("in_vain", "kind"), [(1, DecisionKind.CONGESTION), (2, DecisionKind.RESTORE)])
def test_behind_a_queue_neither_full_nor_short_three_cuts_must_be_in_vain(in_vain, kind):
    transfer = limited(8, in_vain=in_vain)
    one = sample(transfer, rtt_s=P.rtt_s + 0.024, sent_bytes=10**8, retransmitted_bytes=10**6)
    assert stepped(transfer, one)[1].kind is kind


def test_loss_that_goes_on_is_the_paths_own_though_fewer_streams_are_less_sure_of_it():
    transfer = limited(8, cut_loss=0.0016)
    one = sample(transfer, rtt_s=P.rtt_s, sent_bytes=20 * 10**6, retransmitted_bytes=30_000)
    state, decision = stepped(transfer, one)
    assert decision.kind is DecisionKind.RESTORE
    assert state.limit.accepted_loss == 0.0015


@pytest.mark.parametrize(("shortest_s", "kind"), [(0.1, DecisionKind.CONGESTION), (0.2, DecisionKind.RESTORE)])
def test_known_round_trip_judges_the_queue_of_a_never_empty_path(shortest_s, kind):
    transfer = limited(8)
    one = sample(transfer, rtt_s=0.12, min_rtt_s=shortest_s, sent_bytes=10**8, retransmitted_bytes=10**6)
    assert stepped(transfer, one)[1].kind is kind
