import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tuning.simulated_path import BASE_W, MAX_THROUGHPUT, SimulatedPath, chunk_basis
from tradewind.dataset import ChunkKind, DataSet
from tradewind.parameters import NO_CAPS, Caps, Parameters
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.tiers.setting_table import SIMILAR_ENERGY, Objective
from tradewind.tuning import Basis
from tradewind.tuning.bank import Goal
from tradewind.tuning.choice import FASTEST, MOST_FRUGAL, choose_best, is_worthwhile, step_toward
from tradewind.tuning.expectation import RELAXATION
from tradewind.tuning.forecast import ActiveChunk, build_forecaster
from tradewind.tuning.limits import SettingLimits
from tradewind.tuning.path.belief import Gain, build_prior_belief
from tradewind.units import BITS_PER_BYTE

PATH = SimulatedPath()
SETS = {
    ChunkKind.WHOLE: DataSet(file_count=1000, total_bytes=10**10),
    ChunkKind.SMALL: DataSet(file_count=4000, total_bytes=4 * 10**8),
    ChunkKind.LARGE: DataSet(file_count=40, total_bytes=10**10),
}


def situation(
    *chunks: tuple[ChunkKind, Parameters], gain=0.0, z=1.28, power_gain=0.0, sla=MAX_THROUGHPUT, base_w=BASE_W
):
    """Forecaster and limits of a transfer of these chunks that run with these settings."""
    active = []
    for kind, parameters in chunks:
        dataset = SETS[kind]
        basis = chunk_basis(dataset, parameters, PATH.table(dataset.mean_file_bytes), kind)
        active.append(ActiveChunk(basis, parameters, 1e7, dataset.total_bytes, dataset.file_count))
    basis = Basis(sla, tuple(each.basis for each in active), PATH.path, base_power_w=base_w)
    belief = build_prior_belief(0.05)
    belief = type(belief)(path=Gain(gain, 0.03**2), power=Gain(power_gain, 0.01))
    view = build_forecaster(basis, tuple(active), belief, z)
    assert view is not None
    return view, SettingLimits(NO_CAPS, tuple(each.files_left for each in active))


def one_chunk(concurrency, parallelism=1):
    return (ChunkKind.WHOLE, Parameters(concurrency=concurrency, parallelism=parallelism, pipelining=1))


def test_the_fastest_is_chosen_less_what_fewer_streams_are_worth():
    view, limits = situation(one_chunk(1))
    chosen = choose_best(view, FASTEST, limits)
    rates = {point: expected.throughput_bps for point, expected in view.expectations[0].entries.items()}
    assert chosen.outlook.throughput_bps >= (1 - RELAXATION) * max(rates.values())
    enough = [p for p, rate in rates.items() if rate >= (1 - RELAXATION) * max(rates.values())]
    assert chosen.outlook.streams == min(point[0] * point[1] for point in enough)


@given(st.floats(-1.5, 1.0), st.integers(1, 64))
def test_a_common_gain_does_not_move_the_fastest(gain, concurrency):
    view, limits = situation(one_chunk(concurrency), gain=gain)
    reference, _ = situation(one_chunk(concurrency))
    assert choose_best(view, FASTEST, limits).settings == choose_best(reference, FASTEST, limits).settings


@given(st.floats(1e7, 9e7), st.floats(-0.5, 0.2))
def test_floor_is_met_with_confidence_at_the_least_energy(floor, gain):
    view, limits = situation(one_chunk(4), gain=gain)
    chosen = choose_best(view, Goal(objective=Objective.ENERGY, floor_bps=floor), limits)
    cheapest = choose_best(view, MOST_FRUGAL, limits)
    assert chosen.outlook.j_per_byte >= cheapest.outlook.j_per_byte / (1 + SIMILAR_ENERGY) * (1 - 1e-9)
    reachable = choose_best(view, FASTEST, limits).outlook.low_bps
    if floor <= reachable:
        assert chosen.outlook.low_bps >= floor


def test_the_fastest_of_those_about_as_frugal_is_chosen():
    view, limits = situation(one_chunk(1))
    chosen = choose_best(view, MOST_FRUGAL, limits).outlook
    costs = {
        point: BITS_PER_BYTE * each.power_w / each.throughput_bps
        for point, each in view.expectations[0].entries.items()
    }
    alike = [point for point, joules in costs.items() if joules <= (1 + SIMILAR_ENERGY) * min(costs.values())]
    fastest_bps = max(view.expectations[0].entries[point].throughput_bps for point in alike)
    assert chosen.throughput_bps == pytest.approx(fastest_bps)
    assert chosen.j_per_byte > min(costs.values())


@pytest.mark.parametrize("basis", EnergyBasis)
@given(st.floats(-1.0, 0.5), st.floats(-0.4, 0.4), st.integers(1, 64))
def test_no_gain_of_path_or_hosts_moves_the_most_frugal(basis, gain, power_gain, concurrency):
    sla = Sla(kind=SlaKind.MIN_ENERGY, energy_basis=basis)
    view, limits = situation(one_chunk(concurrency), sla=sla, gain=gain, power_gain=power_gain)
    reference, _ = situation(one_chunk(concurrency), sla=sla)
    assert choose_best(view, MOST_FRUGAL, limits).settings == choose_best(reference, MOST_FRUGAL, limits).settings


def test_a_base_that_is_not_the_tables_changes_nothing_above_it():
    sla = Sla(kind=SlaKind.MIN_ENERGY, energy_basis=EnergyBasis.DYNAMIC)
    view, limits = situation(one_chunk(8), sla=sla, base_w=1.5 * BASE_W)
    reference, _ = situation(one_chunk(8), sla=sla)
    assert choose_best(view, MOST_FRUGAL, limits).outlook.j_per_byte == pytest.approx(
        choose_best(reference, MOST_FRUGAL, limits).outlook.j_per_byte
    )


def test_a_floor_out_of_reach_gets_the_fastest_there_is():
    view, limits = situation(one_chunk(4))
    chosen = choose_best(view, Goal(objective=Objective.ENERGY, floor_bps=1e9), limits)
    assert chosen.outlook.throughput_bps >= 0.98 * view.expectations[0].fastest_bps


def test_power_ceiling_is_met():
    view, limits = situation(one_chunk(16))
    chosen = choose_best(view, Goal(objective=Objective.SLOWNESS, ceiling_w=58.0), limits)
    assert chosen.outlook.power_w <= 58.0
    assert chosen.outlook.throughput_bps > 3e7


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 4))
def test_no_choice_leaves_the_limits(files, streams, parallelism):
    view, _ = situation(one_chunk(4))
    limits = SettingLimits(Caps(streams=streams, parallelism=parallelism), (files,))
    (chosen,) = choose_best(view, FASTEST, limits).settings
    assert chosen.concurrency <= files
    assert chosen.parallelism <= parallelism
    assert chosen.streams <= streams


def test_chunks_that_share_the_pipe_are_not_expected_to_exceed_it():
    kinds = [
        (kind, Parameters(concurrency=32, parallelism=2, pipelining=4)) for kind in (ChunkKind.SMALL, ChunkKind.LARGE)
    ]
    view, limits = situation(*kinds)
    assert choose_best(view, FASTEST, limits).present.throughput_bps <= PATH.bandwidth_bps
    assert sum(view.compute_table_rates_bps()) <= PATH.bandwidth_bps


def test_a_starved_chunk_that_cannot_catch_up_makes_a_plan_slow():
    large = (ChunkKind.LARGE, Parameters(concurrency=16, parallelism=1, pipelining=1))
    starved, limits = situation((ChunkKind.SMALL, Parameters(concurrency=1, parallelism=1, pipelining=1)), large)
    served, _ = situation((ChunkKind.SMALL, Parameters(concurrency=8, parallelism=1, pipelining=1)), large)
    outlook = choose_best(starved, FASTEST, limits).present
    assert outlook.throughput_bps <= choose_best(served, FASTEST, limits).present.throughput_bps * 1.02


def paying(now, goal=FASTEST, *, remaining_s=600.0, rtt_s=0.06):
    view, limits = situation(one_chunk(now))
    return is_worthwhile(choose_best(view, goal, limits), goal, remaining_s=remaining_s, rtt_s=rtt_s)


def test_a_large_gain_pays_and_a_small_one_does_not():
    assert paying(4)
    assert not paying(16)


def test_near_the_end_a_switch_does_not_pay():
    assert paying(8, remaining_s=60.0, rtt_s=0.29) != paying(8, remaining_s=2.0, rtt_s=0.29)


def test_missed_goal_is_restored_at_any_cost_but_a_hopeless_one_is_not_chased():
    floor = Goal(objective=Objective.ENERGY, floor_bps=9e7)
    assert paying(4, floor)
    hopeless = Goal(objective=Objective.ENERGY, floor_bps=1e12)
    assert not paying(24, hopeless)


@given(st.integers(1, 64), st.integers(1, 64), st.integers(0, 100), st.integers(0, 100))
def test_a_step_stays_in_the_trust_region_and_arrives(cc, wanted, pp, wanted_pp):
    here = Parameters(concurrency=cc, parallelism=1, pipelining=pp)
    there = Parameters(concurrency=wanted, parallelism=4, pipelining=wanted_pp)
    step = step_toward(here, there)
    assert step.concurrency <= max(2 * cc, cc + 2)
    assert step.concurrency >= min(cc // 2, cc - 2)
    assert abs(step.concurrency - wanted) <= abs(cc - wanted)
    for _ in range(8):
        here = step_toward(here, there)
    assert here == there


def test_log_gains_are_natural():
    view, limits = situation(one_chunk(16), gain=math.log(0.5))
    plain, _ = situation(one_chunk(16))
    assert choose_best(view, FASTEST, limits).present.throughput_bps == pytest.approx(
        choose_best(plain, FASTEST, limits).present.throughput_bps / 2
    )
