"""Whatever comes in, what goes out is within its limits."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.tuning.transfers import GIGABYTE, mixed, searching, warm
from tradewind.parameters import Caps, Parameters
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tuning import ChunkProgress, DecisionKind, TickSample, TuningState, resume, step

caps = st.builds(
    Caps,
    concurrency=st.none() | st.integers(1, 20),
    parallelism=st.none() | st.integers(1, 8),
    pipelining=st.none() | st.integers(1, 32),
    streams=st.none() | st.integers(1, 40),
)
agreements = st.sampled_from(
    [
        Sla(kind=SlaKind.MAX_THROUGHPUT),
        Sla(kind=SlaKind.MIN_ENERGY),
        Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=60e6),
        Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=0.7),
        Sla(kind=SlaKind.DEADLINE, target=300.0),
        Sla(kind=SlaKind.ENERGY_AT_MOST, target=2e4),
        Sla(kind=SlaKind.POWER_AT_MOST, target=60.0),
    ]
)


@st.composite
def transfers(draw):
    sla, cap = draw(agreements), draw(caps)
    shape = draw(st.sampled_from(["warm", "searching", "mixed", "mixed searching"]))
    if shape == "warm":
        return warm(GIGABYTE, sla, start=Parameters(concurrency=draw(st.integers(1, 64)), parallelism=2), caps=cap)
    if shape == "searching":
        return searching(GIGABYTE, draw(st.integers(1, 64)), sla, cap)
    return mixed(tabled=shape == "mixed", caps=cap, sla=sla)


ticks = st.lists(
    st.tuples(
        st.floats(0, 2e8),  # rate
        st.floats(0, 0.5) | st.none(),  # queueing delay
        st.floats(0, 0.05) | st.none(),  # loss
        st.floats(0, 200) | st.none(),  # power
        st.floats(0.5, 1),  # share of the bytes that stays
    ),
    min_size=1,
    max_size=12,
)


def samples(transfer, ticks):
    """Samples of a mover that follows each decision, with what the path and the meters are made to say."""
    left = {chunk.kind: float(chunk.total_bytes) for chunk in transfer.basis.chunks}
    sent = again = 0.0
    for sequence, (rate, delay, loss, power, stays) in enumerate(ticks, start=1):
        left = {kind: nbytes * stays for kind, nbytes in left.items()}
        sent, again = sent + 1e8, again + 1e8 * (loss or 0)
        plan = transfer.decision.chunks
        yield TickSample(
            sequence=sequence,
            at_s=5.0 * sequence,
            interval_s=5.0,
            bytes_moved=0,
            throughput_bps=rate,
            remaining_bytes=int(sum(left.values())),
            remaining_files=max(int(sum(left.values()) // 10**6), 0),
            rtt_s=None if delay is None else 0.06 + delay,
            min_rtt_s=0.06,
            sent_bytes=None if loss is None else int(sent),
            retransmitted_bytes=None if loss is None else int(again),
            power_w=power,
            chunks=tuple(
                ChunkProgress(
                    kind=each.chunk,
                    parameters=each.parameters,
                    throughput_bps=rate / len(plan),
                    remaining_bytes=int(left[each.chunk]),
                )
                for each in plan
            ),
        )


def check_limits(transfer, decision, one):
    cap = transfer.basis.caps
    plans = [each.parameters for each in decision.chunks]
    assert all((each.concurrency or 1) >= 1 and (each.parallelism or 1) >= 1 for each in plans)
    assert all(cap.allow(each) for each in plans)
    assert cap.streams is None or sum(each.streams for each in plans) <= cap.streams
    assert cap.concurrency is None or sum(each.concurrency for each in plans) <= cap.concurrency
    if decision.kind is not DecisionKind.FINISH:
        for each in decision.chunks:
            progress = next(chunk for chunk in one.chunks if chunk.kind is each.chunk)
            begun = progress.parameters.concurrency
            chunk = transfer.basis.by_kind[each.chunk]
            files = chunk.count_files_left(progress.remaining_bytes, one.remaining_files, begun)
            assert each.parameters.concurrency <= files


@settings(max_examples=150, deadline=None)
@given(transfers(), ticks)
def test_no_decision_leaves_its_limits(transfer, ticks):
    for one in samples(transfer, ticks):
        before = transfer.state
        transfer.state, transfer.decision = step(transfer.basis, before, one)
        check_limits(transfer, transfer.decision, one)
        assert transfer.decision.changed == (transfer.decision.chunks != before.decision.chunks)


@settings(max_examples=60, deadline=None)
@given(transfers(), ticks)
def test_every_state_survives_the_store_and_a_repeated_sample(transfer, ticks):
    for one in samples(transfer, ticks):
        transfer.state, transfer.decision = step(transfer.basis, transfer.state, one)
        stored = json.dumps(transfer.state.to_dict())
        assert len(stored) < 4096
        kept = TuningState.from_dict(json.loads(stored))
        assert kept == transfer.state
        assert step(transfer.basis, kept, one) == (transfer.state, transfer.decision)


@settings(max_examples=60, deadline=None)
@given(transfers(), ticks)
def test_every_tick_can_be_resumed_from(transfer, ticks):
    for one in samples(transfer, ticks):
        _, decision = step(transfer.basis, resume(transfer.basis, one), one)
        check_limits(transfer, decision, one)
        transfer.state, transfer.decision = step(transfer.basis, transfer.state, one)


@settings(max_examples=60, deadline=None)
@given(transfers(), st.floats(0.1, 1.0), st.floats(0.1, 1.0))
def test_more_congestion_never_leaves_more_streams(transfer, one_delay, other_delay):
    def streams_after(delay_s):
        (one,) = samples(transfer, [(6e7, delay_s, None, None, 0.9)])
        return step(transfer.basis, transfer.state, one)[1].streams

    low, high = sorted((one_delay, other_delay))
    assert streams_after(high) <= streams_after(low)
    assert streams_after(high) <= transfer.decision.streams
