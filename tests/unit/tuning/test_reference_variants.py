"""Each variant does what its paper prints, defects included."""

import math
from itertools import pairwise

import pytest

from tradewind.dataset import Chunk, ChunkKind, DataSet
from tradewind.errors import InvalidValue
from tradewind.heuristics import deal_channels, plan_min_energy
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.recommendation import ChunkPlan
from tradewind.tuning import ChunkProgress, TickSample
from tradewind.tuning.reference.aimd import FIRST_CONNECTIONS, Aimd
from tradewind.tuning.reference.algorithms_1_2 import Algorithms12, Constraint, back_off_control
from tradewind.tuning.reference.ee import EE
from tradewind.tuning.reference.falcon_gradient import B, FalconGradient, K, compute_utility
from tradewind.tuning.reference.fts3 import Fts3
from tradewind.tuning.reference.htee import HTEE
from tradewind.tuning.reference.maxthr import MaxThr
from tradewind.tuning.reference.mine import MinE
from tradewind.tuning.reference.slaee import SLAEE
from tradewind.tuning.reference.stages import Stages

GIGABIT_60_MS = Path(bandwidth_bps=1e9, rtt_s=0.06)
SMALL = Chunk(ChunkKind.SMALL, DataSet(file_count=1000, total_bytes=102_000_000), 7_500_000)
MEDIUM = Chunk(ChunkKind.MEDIUM, DataSet(file_count=100, total_bytes=2_000_000_000), 150_000_000)
LARGE = Chunk(ChunkKind.LARGE, DataSet(file_count=10, total_bytes=2_000_000_000), None)
ALL = (SMALL, MEDIUM, LARGE)


def sample(sequence=1, *, rate=1e8, power_w=None, chunks=ALL, **values) -> TickSample:
    left = sum(chunk.dataset.total_bytes for chunk in chunks)
    told = {
        "sequence": sequence,
        "at_s": 5.0 * sequence,
        "interval_s": 5.0,
        "bytes_moved": 0,
        "throughput_bps": rate,
        "remaining_bytes": left,
        "remaining_files": sum(chunk.dataset.file_count for chunk in chunks),
        "power_w": power_w,
        "chunks": tuple(
            ChunkProgress(
                kind=chunk.kind,
                parameters=Parameters(),
                throughput_bps=rate / len(chunks),
                remaining_bytes=chunk.dataset.total_bytes,
            )
            for chunk in chunks
        ),
    }
    return TickSample(**{**told, **values})


def channels(plan) -> int:
    return sum(each.parameters.concurrency for each in plan)


def driven(variant, rate_of, ticks, power_of=lambda _: 1.0):
    """Channel counts of each tick on a path where n channels reach rate_of(n)."""
    state, plan = variant.begin()
    seen = [channels(plan)]
    for tick in range(1, ticks + 1):
        n = channels(plan)
        state, plan = variant.step(state, sample(tick, rate=rate_of(n), power_w=power_of(n)))
        seen.append(channels(plan))
    return seen


def test_mine_is_set_once():
    variant = MinE(ALL, GIGABIT_60_MS, 12)
    state, plan = variant.begin()
    assert plan == plan_min_energy(ALL, GIGABIT_60_MS, 12)
    assert variant.step(state, sample(rate=1.0))[1] == plan


def test_maxthr_deals_a_finished_chunks_channels_again_and_keeps_their_number():
    variant = MaxThr(ALL, GIGABIT_60_MS, 5)
    state, plan = variant.begin()
    assert [each.parameters.concurrency for each in plan] == [1, 2, 2]
    state, plan = variant.step(state, sample(chunks=(SMALL, MEDIUM)))
    assert [(each.chunk, each.parameters.concurrency) for each in plan] == [(ChunkKind.SMALL, 2), (ChunkKind.MEDIUM, 3)]
    assert variant.step(state, sample(chunks=(SMALL, MEDIUM)))[1] == plan


def test_ee_tries_every_fourth_level_for_a_tick_and_keeps_the_most_efficient():
    alone = (MEDIUM,)
    seen = driven(EE(alone, GIGABIT_60_MS, 16), lambda n: min(n, 9) * 1e7, 7, lambda n: 10 + n)
    assert seen == [1, 5, 9, 13, 9, 9, 9, 9]


def test_htee_tries_every_second_level():
    seen = driven(HTEE((MEDIUM,), GIGABIT_60_MS, 8), lambda n: min(n, 3) * 1e7, 6, lambda n: 5 + n)
    assert seen == [1, 3, 5, 7, 3, 3, 3]


def test_ee_splits_its_channels_over_chunks_with_one_each_at_least():
    _, plan = EE(ALL, GIGABIT_60_MS).begin()
    assert [each.parameters.concurrency for each in plan] == [1, 1, 1]


@pytest.mark.parametrize("variant", [EE(ALL, GIGABIT_60_MS), HTEE(ALL, GIGABIT_60_MS)])
def test_without_power_there_is_no_efficiency(variant):
    state, _ = variant.begin()
    with pytest.raises(InvalidValue, match="power_w"):
        variant.step(state, sample())


def test_slaee_jumps_by_proportion_and_then_adds_one_a_check():
    chunk = (Chunk(ChunkKind.SMALL, DataSet(file_count=10_000, total_bytes=10**9), None),)
    linear = driven(SLAEE(chunk, GIGABIT_60_MS, 95e6), lambda n: 1e7 * n, 4)
    assert linear == [1, 10, 10, 10, 10]
    concave = driven(SLAEE(chunk, GIGABIT_60_MS, 5e7), lambda n: 1e7 * math.sqrt(n), 30)
    assert concave[:4] == [1, 5, 6, 7]
    assert concave[-1] == 25


def test_slaee_stops_at_its_channels():
    chunk = (Chunk(ChunkKind.SMALL, DataSet(file_count=10_000, total_bytes=10**9), None),)
    assert max(driven(SLAEE(chunk, GIGABIT_60_MS, 1e9, channels=8), lambda _: 1e6, 6)) == 8


def test_falcons_utility_is_highest_at_one_over_ln_k_workers():
    best = max(range(1, 200), key=lambda n: compute_utility(1e6 * n, n, 0.0))
    assert abs(best - 1 / math.log(K)) <= 1
    assert compute_utility(1e6, 1, 0.01) == pytest.approx(1e6 / K - 1e6 * B * 0.01)


def test_falcon_probes_below_and_above_and_goes_faster_in_one_direction():
    seen = driven(FalconGradient((SMALL,), GIGABIT_60_MS, 64), lambda n: 1e7 * n, 8)
    assert seen[:2] == [1, 3]
    centres = [(a + b) // 2 for a, b in zip(seen[::2], seen[1::2], strict=False)]
    assert [b - a for a, b in pairwise(centres)] == [2, 4, 3]


def test_falcon_reduces_workers_where_more_bring_nothing():
    seen = driven(FalconGradient((SMALL,), GIGABIT_60_MS, 64), lambda n: 1e7 * min(n, 8), 60)
    assert max(seen[20:]) <= 24
    assert min(seen[20:]) >= 1


def decided(variant, state, **values):
    return variant.step(state, sample(interval_s=60.0, **values))[0]


def test_fts3_adds_a_connection_while_the_average_does_not_fall():
    variant = Fts3((SMALL,))
    state, plan = variant.begin()
    assert channels(plan) == 31  # midway between 2 and 60
    state = decided(variant, state, rate=1e8)
    assert state.connections == 32
    state = decided(variant, state, rate=1e8)
    assert state.connections == 33


def test_fts3_holds_on_a_fall_and_gives_up_one_on_a_collapse_unless_files_became_small():
    variant = Fts3((SMALL,))
    base = decided(variant, variant.begin()[0], rate=1e9)
    assert decided(variant, base, rate=1e8).connections == base.connections
    state = base
    for _ in range(25):
        state, _ = variant.step(state, sample(rate=1.0, interval_s=1.0))
    assert decided(variant, state, rate=1.0).connections == base.connections - 1
    tiny = (Chunk(ChunkKind.SMALL, DataSet(file_count=1000, total_bytes=10_000_000), None),)
    assert decided(variant, state, rate=1.0, chunks=tiny).connections == base.connections + 1


def test_fts3_holds_between_intervals_with_a_short_queue_and_gives_up_one_above_its_cap():
    variant = Fts3((LARGE,), throughput_cap_bps=5e7)
    state, plan = variant.begin()
    assert plan[0].parameters.parallelism == 3  # ⌊31 / 10 files⌋
    assert variant.step(state, sample())[0].connections == state.connections
    assert decided(variant, state, rate=1e8).connections == state.connections - 1
    assert decided(variant, state, rate=1e7, chunks=(LARGE,)).connections == state.connections


PLAN = ChunkPlan(ChunkKind.WHOLE, None, Parameters(concurrency=8, parallelism=2, pipelining=8))


def backed_off(delay_s, loss):
    after = back_off_control(PLAN.parameters, delay_s=delay_s, expected_delay_s=0.06, loss=loss, threshold=1e-3)
    return (after.concurrency, after.parallelism, after.pipelining)


def test_algorithm_2_in_print_adds_under_congestion_and_gives_up_in_quiet():
    assert backed_off(0.001, 0.0) == (7, 2, 7)
    assert backed_off(0.2, 0.05) == (9, 2, 9)


def test_algorithm_2_in_print_grows_without_bound_under_loss():
    parameters = PLAN.parameters
    for _ in range(100):
        parameters = back_off_control(parameters, delay_s=1.0, expected_delay_s=0.06, loss=0.5, threshold=1e-3)
    assert parameters.concurrency == 108


def test_algorithm_2_in_print_falls_to_one_on_a_quiet_path():
    parameters = PLAN.parameters
    for _ in range(100):
        parameters = back_off_control(parameters, delay_s=0.0, expected_delay_s=0.06, loss=0.0, threshold=1e-3)
    assert (parameters.concurrency, parameters.pipelining) == (1, 1)


def printed(constraint, sla):
    return Algorithms12(PLAN, constraint, sla, lambda target: Parameters(concurrency=round(target)), 0.06)


def test_algorithm_1_in_print_overwrites_what_fairness_has_decided():
    variant = printed(Constraint.THROUGHPUT, 20.0)
    state, _ = variant.begin()
    state, (plan,) = variant.step(state, sample(rate=10.0, rtt_s=0.5, min_rtt_s=0.06))
    assert state.overruled is not None
    assert plan.parameters == Parameters(concurrency=20)


@pytest.mark.parametrize(("constraint", "direction"), [(Constraint.ENERGY, -1), (Constraint.THROUGHPUT, 1)])
def test_algorithm_1_in_print_tightens_a_met_sla_for_ever(constraint, direction):
    variant = printed(constraint, 20.0)
    state, _ = variant.begin()
    for tick in range(1, 30):
        state, _ = variant.step(state, sample(tick, rate=1e9, power_w=0.0))
    assert (state.sla - 20.0) * direction > 14


def test_algorithm_1_in_print_compares_power_with_its_energy_sla():
    variant = printed(Constraint.ENERGY, 20.0)
    state, _ = variant.begin()
    state, _ = variant.step(state, sample(power_w=21.0))
    assert state.sla == 20.0
    with pytest.raises(InvalidValue, match="power_w"):
        variant.step(state, sample(2))


def test_dealing_is_that_of_the_closed_form_rules():
    _, plan = FalconGradient(ALL, GIGABIT_60_MS).begin()
    assert channels(plan) == sum(deal_channels(ALL, 1))


def complete_files(done_each_tick):
    """Connections of AIMD after each tick in which so many files were completed."""
    variant = Aimd((SMALL,), GIGABIT_60_MS)
    state, plan = variant.begin()
    found, left = [channels(plan)], 1000
    for sequence, done in enumerate([0, *done_each_tick], start=1):
        left -= done
        state, plan = variant.step(state, sample(sequence, chunks=(SMALL,), remaining_files=left))
        found.append(channels(plan))
    return found[1:]


def test_aimd_adds_one_connection_while_files_are_completed_as_fast():
    assert complete_files([10] * 6) == list(range(FIRST_CONNECTIONS, FIRST_CONNECTIONS + 7))


def test_aimd_halves_its_connections_where_fewer_files_are_completed():
    before, after = complete_files([10] * 6 + [2])[-2:]
    assert after == before // 2


def test_stages_add_files_where_no_packet_queues_and_streams_where_they_do():
    variant = Stages((LARGE,), GIGABIT_60_MS)
    state, _ = variant.begin()
    state, [plan] = variant.step(state, sample(1, chunks=(LARGE,), rtt_s=0.061, min_rtt_s=0.06))
    assert (plan.parameters.concurrency, plan.parameters.parallelism) == (3, 1)
    _, [plan] = variant.step(state, sample(2, rate=2e8, chunks=(LARGE,), rtt_s=0.09, min_rtt_s=0.06))
    assert (plan.parameters.concurrency, plan.parameters.parallelism) == (3, 2)


def test_a_stage_that_has_lost_utility_goes_the_other_way():
    variant = Stages((LARGE,), GIGABIT_60_MS)
    state, _ = variant.begin()
    files = []
    for sequence, rate in enumerate((1e8, 2e8, 1e8, 1e8), start=1):
        state, [plan] = variant.step(state, sample(sequence, rate=rate, chunks=(LARGE,), rtt_s=0.06, min_rtt_s=0.06))
        files.append(plan.parameters.concurrency)
    assert files == [3, 4, 3, 2]
