from dataclasses import replace

import pytest

from tests.unit.tuning.next_ticks import parameters_of, sample, stepped
from tests.unit.tuning.simulated_path import MAX_THROUGHPUT, Transfer, chunk_basis, run
from tests.unit.tuning.transfers import BIG, GIGABYTE, P, mixed, searching, warm
from tradewind.dataset import ChunkKind
from tradewind.errors import InvalidValue
from tradewind.parameters import UNTUNED, Caps, Parameters
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tuning import Basis, ChunkProgress, DecisionKind, begin, resume, step


def test_the_first_decision_is_the_recommended_plan():
    transfer = mixed(tabled=True)
    assert transfer.state.decision.chunks == tuple(chunk.plan for chunk in transfer.basis.chunks)
    assert transfer.state.decision.kind is DecisionKind.HOLD


def test_the_tick_before_the_first_byte_decides_nothing():
    transfer = warm(BIG)
    _, decision = stepped(transfer, sample(transfer, sequence=0, interval_s=0.0, throughput_bps=0.0))
    assert (decision.kind, decision.changed) == (DecisionKind.HOLD, False)


def test_the_same_sequence_twice_gets_the_same_answer_and_changes_nothing():
    transfer = warm(BIG, start=Parameters(concurrency=2, parallelism=1, pipelining=1))
    run(P, [transfer], 2)
    one = sample(transfer)
    state, decision = stepped(transfer, one)
    assert step(transfer.basis, state, one) == (state, decision)
    other = replace(one, throughput_bps=1.0)  # even if it says something else
    assert step(transfer.basis, state, other) == (state, decision)


def test_an_older_sample_gets_the_last_decision():
    transfer = warm(BIG)
    run(P, [transfer], 4)
    assert stepped(transfer, sample(transfer, sequence=2)) == (transfer.state, transfer.state.decision)


def test_a_chunk_that_is_not_in_the_plan_is_refused():
    transfer = warm(BIG)
    stray = ChunkProgress(kind=ChunkKind.SMALL, parameters=UNTUNED, throughput_bps=1.0, remaining_bytes=1)
    with pytest.raises(InvalidValue, match=r"chunks\.0\.chunk: small is not in the plan"):
        stepped(transfer, sample(transfer, chunks=(stray,)))


def test_a_basis_needs_chunks_each_once():
    chunk = warm(BIG).basis.chunks[0]
    for chunks in ((), (chunk, chunk)):
        with pytest.raises(InvalidValue, match="chunks"):
            Basis(Sla(kind=SlaKind.MAX_THROUGHPUT), chunks)


def test_tool_that_reports_only_sums_is_tuned_by_them():
    transfer = warm(BIG, start=Parameters(concurrency=2, parallelism=1, pipelining=1))
    _, decision = stepped(transfer, sample(transfer, chunks=(), throughput_bps=30e6))
    assert decision.kind is DecisionKind.OPTIMISE
    assert decision.changed


def test_a_clock_that_jumps_counts_as_an_interval():
    for jump in (-3600.0, 1e6):
        transfer = warm(BIG)
        run(P, [transfer], 3)
        state, _ = stepped(transfer, sample(transfer, at_s=transfer.state.at_s + jump))
        assert state.elapsed_s == transfer.state.elapsed_s + 5


def test_ticks_that_were_lost_count_too():
    transfer = warm(BIG)
    run(P, [transfer], 3)
    late = sample(transfer, sequence=transfer.state.sequence + 4, at_s=transfer.state.at_s + 21)
    assert stepped(transfer, late)[0].elapsed_s == transfer.state.elapsed_s + 21


def test_nothing_left_is_the_end():
    transfer = warm(BIG)
    _, decision = stepped(transfer, sample(transfer, remaining=0, remaining_bytes=0, remaining_files=0))
    assert (decision.kind, decision.changed) == (DecisionKind.FINISH, False)


def test_little_left_is_not_worth_a_change():
    transfer = warm(BIG, start=Parameters(concurrency=2, parallelism=1, pipelining=1))
    _, decision = stepped(transfer, sample(transfer, throughput_bps=90e6, remaining=5 * 10**7))
    assert (decision.kind, decision.changed) == (DecisionKind.FINISH, False)


def test_a_stalled_transfer_waits_and_its_bank_runs_down():
    transfer = warm(BIG, Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=50e6))
    _, decision = stepped(transfer, sample(transfer, throughput_bps=0.0))
    assert (decision.kind, decision.changed) == (DecisionKind.HOLD, False)
    assert decision.sla_bank == pytest.approx(-50e6 * 5)


@pytest.mark.parametrize("tiny", [5e-324, 1e-300])
def test_figures_next_to_nothing_do_no_harm(tiny):
    for transfer in (warm(BIG), mixed(tabled=True)):
        first = sample(transfer, throughput_bps=tiny, power_w=tiny)
        transfer.state, transfer.decision = stepped(transfer, first)
        crawling = first.chunks[0]._replace(throughput_bps=tiny)
        second = sample(transfer, throughput_bps=9e7, power_w=tiny, chunks=(crawling, *first.chunks[1:]))
        assert not stepped(transfer, second)[1].changed


def test_after_a_change_there_is_a_dwell_of_ten_round_trips():
    transfer = warm(BIG, start=Parameters(concurrency=2, parallelism=1, pipelining=1))
    far = {"rtt_s": 0.62, "min_rtt_s": 0.6, "throughput_bps": 30e6}
    state, decision = stepped(transfer, sample(transfer, **far))
    assert decision.changed
    transfer.state, transfer.decision = state, decision
    assert stepped(transfer, sample(transfer, **far))[1].kind is DecisionKind.DWELL


def test_a_cap_that_shrinks_is_obeyed_at_once():
    transfer = warm(BIG)
    run(P, [transfer], 3)
    transfer.basis = replace(transfer.basis, caps=Caps(streams=5))
    _, decision = stepped(transfer, sample(transfer))
    assert decision.kind is DecisionKind.REDISTRIBUTE
    assert decision.streams == 5


@pytest.mark.parametrize("transfer", [warm(BIG, caps=Caps(streams=4)), searching(BIG, 8, caps=Caps(streams=4))])
def test_a_cap_that_is_lifted_is_used(transfer):
    run(P, [transfer], 6)
    assert transfer.decision.streams <= 4
    transfer.basis = replace(transfer.basis, caps=Caps())
    run(P, [transfer], 6)
    assert transfer.decision.streams >= 8


def test_a_cap_between_two_numbers_of_parallel_streams_is_used_when_it_is_lifted():
    start = Parameters(concurrency=2, parallelism=2, pipelining=8)
    transfer = Transfer(Basis(MAX_THROUGHPUT, (chunk_basis(BIG, start),), P.path, Caps(streams=5)))
    run(P, [transfer], 6)
    assert transfer.decision.streams == 5
    transfer.basis = replace(transfer.basis, caps=Caps())
    run(P, [transfer], 6)
    assert transfer.decision.streams >= 8


def test_fewer_channels_than_chunks_move_the_largest_chunks_and_give_them_all_files():
    transfer = mixed(tabled=True, caps=Caps(concurrency=2))
    chunks = transfer.state.decision.chunks
    assert [each.chunk for each in chunks] == [ChunkKind.MEDIUM, ChunkKind.LARGE]
    assert sum(each.parameters.concurrency for each in chunks) == 2
    one = begin(replace(transfer.basis, caps=Caps(concurrency=1))).decision.chunks
    assert [(each.chunk, each.max_file_bytes) for each in one] == [(ChunkKind.LARGE, None)]


def test_a_chunk_that_gave_its_files_away_does_not_come_and_go():
    transfer = mixed(tabled=True, caps=Caps(concurrency=1))
    for large, small in ((9, 5), (6, 8), (4, 9)):
        left = {ChunkKind.LARGE: large * 10**8, ChunkKind.SMALL: small * 10**8}
        told_of = tuple(
            ChunkProgress(kind=kind, parameters=UNTUNED, throughput_bps=1e7, remaining_bytes=nbytes)
            for kind, nbytes in left.items()
        )
        transfer.state, transfer.decision = stepped(transfer, sample(transfer, chunks=told_of))
        assert [each.chunk for each in transfer.decision.chunks] == [ChunkKind.LARGE]


def test_channels_of_a_chunk_that_is_done_go_to_the_others():
    transfer = mixed(tabled=False)
    run(P, [transfer], 3)
    before = transfer.decision.streams
    left = tuple(
        ChunkProgress(kind=each.chunk, parameters=each.parameters, throughput_bps=4e7, remaining_bytes=5 * 10**8)
        for each in transfer.decision.chunks
        if each.chunk is not ChunkKind.LARGE
    )
    _, decision = stepped(transfer, sample(transfer, chunks=left))
    assert decision.kind is DecisionKind.REDISTRIBUTE
    assert [each.chunk for each in decision.chunks] == [ChunkKind.SMALL, ChunkKind.MEDIUM]
    assert decision.chunks[-1].max_file_bytes is None  # a file of the chunk that comes back has a home
    assert before - 1 <= decision.streams <= before


def test_streams_that_carry_next_to_nothing_are_retired():
    transfer = mixed(tabled=True)
    reasons = []
    rates = {ChunkKind.SMALL: 50e6, ChunkKind.MEDIUM: 2e6, ChunkKind.LARGE: 45e6}
    for _ in range(6):
        told_of = tuple(
            ChunkProgress(
                kind=each.chunk, parameters=each.parameters, throughput_bps=rates[each.chunk], remaining_bytes=3 * 10**8
            )
            for each in transfer.decision.chunks
        )
        transfer.state, transfer.decision = stepped(transfer, sample(transfer, throughput_bps=97e6, chunks=told_of))
        reasons.append(transfer.decision.reason)
    assert any("retired" in reason for reason in reasons)
    medium = next(each for each in transfer.decision.chunks if each.chunk is ChunkKind.MEDIUM)
    assert medium.parameters.parallelism == 1


def test_a_lost_state_is_rebuilt_from_the_next_sample():
    transfer = warm(BIG, Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=50e6))
    run(P, [transfer], 10)
    one = sample(transfer, remaining_bytes=BIG.total_bytes - 10**9)
    state, decision = step(transfer.basis, resume(transfer.basis, one), one)
    assert state.sequence == one.sequence
    assert state.elapsed_s == pytest.approx(55)
    assert decision.sla_bank == pytest.approx(min(8e9 - 50e6 * 50 + 40e6 * 5, 30 * 50e6))
    kept, as_before = stepped(transfer, one)
    assert parameters_of(decision) == parameters_of(as_before)
    assert kept.elapsed_s == state.elapsed_s


def test_a_transfer_without_table_resumes_its_search_where_it_is():
    transfer = searching(BIG, 2)
    run(P, [transfer], 4)
    one = sample(transfer)
    state = resume(transfer.basis, one)
    assert state.search is not None
    assert state.search.streams == transfer.decision.streams
    step(transfer.basis, state, one)


def list_decision_kinds(transfer, rates, delay_s):
    """Kinds of the decisions on ticks with these rates."""
    kinds = []
    for rate in rates:
        one = sample(transfer, throughput_bps=rate, rtt_s=0.06 + delay_s)
        transfer.state, transfer.decision = stepped(transfer, one)
        kinds.append(transfer.decision.kind)
    return kinds


def test_drop_on_a_full_pipe_is_detected_without_a_new_search():
    transfer = warm(BIG)
    kinds = list_decision_kinds(transfer, [97e6] * 5 + [40e6] * 6, delay_s=0.05)
    assert kinds.count(DecisionKind.CHANGE_DETECTED) == 1
    assert transfer.state.search is None


def test_a_fall_with_room_on_the_path_starts_trying_more_streams():
    transfer = warm(BIG)
    before = transfer.decision.streams
    kinds = list_decision_kinds(transfer, [97e6] * 5 + [40e6] * 2, delay_s=0.0)
    assert DecisionKind.CHANGE_DETECTED in kinds
    assert transfer.decision.streams > before


def test_a_path_that_becomes_faster_is_not_searched_while_the_present_streams_gain():
    transfer = warm(BIG)
    before = transfer.decision.streams
    kinds = list_decision_kinds(transfer, [97e6] * 5 + [150e6, 175e6, 198e6], delay_s=0.0)
    assert DecisionKind.CHANGE_DETECTED in kinds
    assert transfer.state.search is None
    assert transfer.decision.streams == before


def test_a_table_that_is_wrong_again_soon_is_left():
    transfer = warm(BIG)
    kinds = list_decision_kinds(transfer, [97e6] * 5 + [40e6] * 4 + [99e6] * 4, delay_s=0.05)
    assert kinds.count(DecisionKind.CHANGE_DETECTED) == 1
    assert kinds.count(DecisionKind.FALLBACK) == 1
    assert transfer.state.search is not None


def test_every_reason_is_one_sentence_with_figures():
    for transfer in (warm(GIGABYTE), searching(GIGABYTE, 2), mixed(tabled=True), mixed(tabled=False)):
        run(P, [transfer], 60)
        for decision in transfer.decisions[1:-1]:
            assert any(character.isdigit() for character in decision.reason), decision.reason
            assert "\n" not in decision.reason
            assert len(decision.reason) < 300
