import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tuning.next_ticks import parameters_of, sample, stepped
from tests.unit.tuning.transfers import searching
from tradewind.dataset import DataSet
from tradewind.tiers.setting_table import Objective
from tradewind.tuning.bank import Goal
from tradewind.tuning.gradient import compute_utility, start_search
from tradewind.tuning.rules.exploring import count_doublings_to_regain

FASTEST = Goal(objective=Objective.SLOWNESS)


def searched(rate, streams, goal=FASTEST, highest=128, doublings=1.0):
    """Tries of a search on a path without noise where n streams reach rate(n)."""
    search, tries = start_search(streams, doublings), []
    while not search.has_converged:
        tries.append(search.streams)
        value = compute_utility(goal, throughput_bps=rate(search.streams), streams=search.streams, loss=0.0)
        search = search.advance(value, 1, highest)
    return search.streams, tries


def saturating(full, half_at):
    return lambda n: full * n / (n + half_at)


@given(st.integers(1, 64), st.integers(1, 40))
def test_a_search_ends_soon_at_85_per_cent_of_the_best_or_more(streams, knee):
    def rate(n):
        return 1e8 * min(n / knee, 1.0)

    found, tries = searched(rate, streams)
    assert len(tries) <= 14
    assert rate(found) >= 0.85 * 1e8


def test_streams_double_while_they_pay_and_stop_where_they_do_not():
    found, tries = searched(lambda n: 1e6 * min(n, 20), 2)
    assert tries[:5] == [2, 4, 8, 16, 32]
    assert 16 <= found <= 32


def test_streams_that_carry_nothing_are_given_up():
    found, _ = searched(lambda n: 1e6 * min(n, 4), 64)
    assert found <= 8


@given(st.integers(1, 64), st.integers(1, 64))
def test_a_search_stays_within_its_limits(streams, highest):
    _, tries = searched(saturating(1e8, 20), min(streams, highest), highest=highest)
    assert all(1 <= each <= highest for each in tries)


def test_a_floor_is_reached_with_few_streams():
    found, _ = searched(lambda n: 1e7 * n, 1, Goal(objective=Objective.STREAMS, floor_bps=5e7))
    assert 5 <= found <= 8


def test_loss_costs_utility_and_so_does_a_broken_ceiling():
    def of(goal=FASTEST, **values):
        return compute_utility(goal, **{"throughput_bps": 1e8, "streams": 4, "loss": 0.0, **values})

    assert of(loss=0.01) == pytest.approx(of() - 0.1)
    ceiling = Goal(objective=Objective.SLOWNESS, ceiling_w=50.0)
    assert of(ceiling, power_w=50.0) == of()
    assert of(ceiling, power_w=60.0) < of(ceiling, power_w=55.0) < of()
    energy = Goal(objective=Objective.SLOWNESS, ceiling_j_per_byte=1e-6)
    assert of(energy, j_per_byte=2e-6) < of(energy, j_per_byte=1e-6)


def test_an_energy_objective_ranks_by_joules_a_byte():
    goal = Goal(objective=Objective.ENERGY)
    slow = compute_utility(goal, throughput_bps=5e7, streams=4, loss=0.0, j_per_byte=1e-6)
    fast = compute_utility(goal, throughput_bps=1e8, streams=4, loss=0.0, j_per_byte=2e-6)
    assert slow > fast


@pytest.mark.parametrize(
    ("expected", "measured", "doublings"), [(90, 80, 1), (90, 30, math.log2(3)), (90, 3, 2), (90, 0, 1)]
)
def test_drop_is_answered_with_as_many_doublings(expected, measured, doublings):
    assert count_doublings_to_regain(expected, measured) == pytest.approx(doublings)


def test_a_search_over_two_large_files_goes_back_to_what_did_best():
    carried = {4: 92e6, 8: 96.5e6, 6: 90e6}
    transfer = searching(DataSet(file_count=2, total_bytes=4 * 10**9), 2)
    start = parameters_of(transfer.decision)[0]
    tried = [(start.concurrency, start.parallelism)]
    carried[start.streams] = 60e6
    while not transfer.state.sequence or not transfer.state.search.has_converged:
        streams = sum(each.streams for each in parameters_of(transfer.decision))
        tick = sample(transfer, throughput_bps=carried[streams], remaining_files=2, remaining=10**9)
        transfer.state, transfer.decision = stepped(transfer, tick)
        after = parameters_of(transfer.decision)[0]
        tried.append((after.concurrency, after.parallelism))
    assert tried == [(2, 1), (2, 2), (2, 4), (2, 3), (2, 4)]
    assert transfer.decision.reason.endswith("8 have done best and stay")


SMALL_FILES = DataSet(file_count=4000, total_bytes=4 * 10**10)


def first_try(streams, **seen):
    """Return the decision after the first tick of a search, behind a queue of 60 ms over a path of 60 ms."""
    transfer = searching(SMALL_FILES, streams)
    _, decision = stepped(transfer, sample(transfer, **{"throughput_bps": 95e6, "rtt_s": 0.12, **seen}))
    return decision


def test_streams_that_fill_the_pipe_at_once_stay():
    decision = first_try(32)
    assert decision.streams == 32
    assert decision.reason.endswith("32 have done best and stay")


@pytest.mark.parametrize(("streams", "seen"), [(8, {}), (32, {"rtt_s": 0.062})])
def test_few_streams_or_a_pipe_that_is_not_full_are_tried_on(streams, seen):
    assert first_try(streams, **seen).streams > streams


def test_streams_that_lose_bytes_behind_a_full_queue_are_tried_fewer():
    transfer = searching(SMALL_FILES, 32)
    for number in (1, 2):
        lossy = sample(
            transfer,
            throughput_bps=95e6,
            rtt_s=0.12,
            sent_bytes=number * 60_000_000,
            retransmitted_bytes=(number - 1) * 600_000,
        )
        transfer.state, transfer.decision = stepped(transfer, lossy)
    assert transfer.decision.streams < 32


def search_ticks(rates, *, streams=8, delay_s=0.02):
    """Streams after each tick of a transfer without a table that measures these rates."""
    transfer, found = searching(DataSet(file_count=1000, total_bytes=30 * 10**9), streams), []
    for rate in rates:
        tick = sample(transfer, throughput_bps=rate, rtt_s=0.06 + delay_s)
        transfer.state, transfer.decision = stepped(transfer, tick)
        found.append(transfer.decision.streams)
    return transfer, found


def test_a_search_that_starts_again_waits_until_the_rate_grows_no_more():
    transfer, _ = search_ticks([50e6, 40e6, 40e6, 50e6, 50e6, 50e6], delay_s=0.0)
    assert transfer.state.search.has_converged
    kept = transfer.decision.streams
    while_growing = []
    for rate in (80e6, 100e6, 120e6):
        tick = sample(transfer, throughput_bps=rate, rtt_s=0.06)
        transfer.state, transfer.decision = stepped(transfer, tick)
        while_growing.append(transfer.decision.streams)
    assert while_growing[:2] == [kept, kept]
