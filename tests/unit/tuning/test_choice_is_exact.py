"""The search looks at few settings; it must choose as one that weighs them all."""

import math
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tuning.simulated_path import SimulatedPath, chunk_basis
from tradewind.dataset import ChunkKind, DataSet
from tradewind.parameters import Caps, Parameters
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.tiers.setting_table import Objective
from tradewind.tuning import Basis
from tradewind.tuning.bank import Goal
from tradewind.tuning.choice import MOST_FRUGAL, ROUNDS, SettingChoice, choose_best, compute_cost, is_worthwhile
from tradewind.tuning.expectation import RELAXATION
from tradewind.tuning.forecast import ActiveChunk, Forecaster, Outlook, build_forecaster
from tradewind.tuning.limits import SettingLimits, fit_to_limits
from tradewind.tuning.path.belief import Gain, build_prior_belief

PATH = SimulatedPath()
SETS = {
    ChunkKind.SMALL: DataSet(file_count=4000, total_bytes=4 * 10**8),
    ChunkKind.MEDIUM: DataSet(file_count=300, total_bytes=3 * 10**9),
    ChunkKind.LARGE: DataSet(file_count=40, total_bytes=10**10),
}
TABLES = {kind: PATH.table(dataset.mean_file_bytes) for kind, dataset in SETS.items()}

parameters = st.builds(
    Parameters,
    concurrency=st.integers(1, 32),
    parallelism=st.integers(1, 4),
    pipelining=st.sampled_from((1, 4, 16)),
)
goals = st.one_of(
    st.just(Goal(objective=Objective.SLOWNESS)),
    st.just(Goal(objective=Objective.ENERGY)),
    st.just(Goal(objective=Objective.EFFICIENCY)),
    st.builds(Goal, objective=st.sampled_from((Objective.ENERGY, Objective.STREAMS)), floor_bps=st.floats(1e6, 2e8)),
    st.builds(Goal, objective=st.just(Objective.SLOWNESS), ceiling_w=st.floats(20, 120)),
    st.builds(Goal, objective=st.just(Objective.SLOWNESS), ceiling_j_per_byte=st.floats(1e-6, 2e-5)),
)


@dataclass(frozen=True, repr=False)
class Situation:
    """Not shown where a test fails: its tables fill pages."""

    view: Forecaster
    limits: SettingLimits
    goal: Goal


@st.composite
def situations(draw):
    """A moment of a transfer of one to three chunks: what is believed, current, left and allowed."""
    kinds = draw(st.lists(st.sampled_from(list(SETS)), min_size=1, max_size=3, unique=True))
    knows_power = draw(st.sampled_from((True, True, True, False)))
    active = []
    for kind in kinds:
        dataset, here = SETS[kind], draw(parameters)
        basis = chunk_basis(dataset, here, TABLES[kind] if knows_power else without_power(TABLES[kind]), kind)
        left = draw(st.integers(1, dataset.total_bytes))
        active.append(ActiveChunk(basis, here, 1e7, left, draw(st.integers(1, dataset.file_count))))
    energy_basis = draw(st.sampled_from(EnergyBasis))
    sla = Sla(kind=SlaKind.MIN_ENERGY, energy_basis=energy_basis)
    basis = Basis(sla, tuple(each.basis for each in active), PATH.path, base_power_w=draw(st.floats(5, 30)))
    small = st.floats(-0.7, 0.7)
    belief = replace(
        build_prior_belief(0.05),
        path=Gain(draw(small), draw(st.floats(1e-4, 0.1))),
        chunks={kind: Gain(draw(small), 0.01) for kind in kinds} if len(kinds) > 1 else {},
        power=Gain(draw(st.floats(-0.3, 0.3)), 0.01),
    )
    view = build_forecaster(basis, tuple(active), belief, draw(st.floats(0, 2.5)))
    assert view is not None
    caps = Caps(
        concurrency=draw(st.none() | st.integers(3, 40)),
        streams=draw(st.none() | st.integers(3, 80)),
        pipelining=draw(st.none() | st.integers(1, 8)),
    )
    return Situation(view, SettingLimits(caps, tuple(each.files_left for each in active)), draw(goals))


def without_power(table):
    known = tuple(replace(each, log_power_mean=None) for each in table.predicted.settings)
    return replace(table, predicted=replace(table.predicted, settings=known))


@given(situations())
def test_the_search_chooses_as_one_that_weighs_every_setting(situation):
    view, limits, goal = situation.view, situation.limits, situation.goal
    found, reference = choose_best(view, goal, limits), weighing_all(view, goal, limits)
    either_pays = any(is_worthwhile(each, goal, remaining_s=math.inf, rtt_s=0.0) for each in (found, reference))
    if either_pays:
        assert found.settings == reference.settings
    else:
        assert found.settings in (reference.settings, fit_to_limits([each.parameters for each in view.active], limits))


@given(situations())
def test_an_outlook_is_the_same_from_each_chunk_and_at_a_glance(situation):
    view, limits = situation.view, situation.limits
    current_settings = [each.parameters for each in view.active]
    found = [view.predict_performance(i, each) for i, each in enumerate(current_settings)]
    whole = view.predict_outlook(found, 0)
    for i, expectation in enumerate(view.expectations):
        chunk_view = view.vary_chunk(found, i)
        again = chunk_view.predict_outlook(found[i], 0)
        assert again.low_bps == pytest.approx(whole.low_bps, rel=1e-9)
        assert again.j_per_byte == (None if whole.j_per_byte is None else pytest.approx(whole.j_per_byte, rel=1e-9))
        candidates = expectation.list_candidates(limits.compute_room(current_settings, i))
        weighed = [chunk_view.predict_outlook(each.expected, 0) for each in candidates.all]
        assert chunk_view.predict_throughputs_bps(candidates) == pytest.approx(
            [each.throughput_bps for each in weighed], rel=1e-9
        )
        if candidates.knows_power and whole.power_w is not None:
            assert chunk_view.predict_j_per_byte(candidates) == pytest.approx(
                [each.j_per_byte for each in weighed], rel=1e-9
            )


@given(situations())
def test_chunks_that_share_a_pipe_end_as_the_definition_has_it(situation):
    view = situation.view
    lone = [each.throughput_bps * math.exp(own(view, i)) for i, each in enumerate(view.expected_now)]
    pipe_bps = max(each.fastest_bps for each in view.expectations)
    gain = math.exp(view.belief.path.mean)
    rates = [each * gain * min(1.0, pipe_bps / sum(lone)) for each in lone]
    bits = [8 * chunk.remaining_bytes for chunk in view.active]
    last = max(range(len(rates)), key=lambda i: bits[i] / rates[i])
    together_s = (sum(bits) - bits[last]) / (sum(rates) - rates[last]) if len(rates) > 1 else 0.0
    alone_bps = view.expectations[last].fastest_bps * math.exp(own(view, last)) * gain
    alone_s = max(bits[last] - rates[last] * together_s, 0.0) / alone_bps
    effective_bps = min(sum(rates), sum(bits) / (together_s + alone_s)) if len(rates) > 1 else rates[0]
    assert view.predict_outlook(view.expected_now, 0).throughput_bps == pytest.approx(effective_bps, rel=1e-9)


def own(view: Forecaster, index: int) -> float:
    gain = view.belief.chunks.get(view.active[index].basis.kind)
    return gain.mean if gain is not None else 0.0


def weighing_all(view: Forecaster, goal: Goal, limits: SettingLimits) -> SettingChoice:
    """One chunk's setting at a time with the others held, each of the table's weighed by the outlook of the whole."""
    present = fit_to_limits([each.parameters for each in view.active], limits)
    chosen = present
    # A lone chunk is decided in one round: in a second one it would give up the change that was worthwhile.
    for _ in range(ROUNDS if len(chosen) > 1 else 1):
        for index in range(len(chosen)):
            options = [chosen]
            for cc, p, pp in view.expectations[index].list_points(limits.compute_room(chosen, index)):
                there = replace(chosen[index], concurrency=cc, parallelism=p, pipelining=pp)
                options.append((*chosen[:index], there, *chosen[index + 1 :]))
            chosen = best_of([(each, outlook(view, each, index)) for each in options], goal)
    return SettingChoice(chosen, outlook(view, chosen), outlook(view, present), max_gain=math.inf)


def outlook(view: Forecaster, plan: tuple[Parameters, ...], index: int = 0) -> Outlook:
    found = [view.predict_performance(i, each) for i, each in enumerate(plan)]
    tried = list(plan) == [each.parameters for each in view.active]
    return view.vary_chunk(found, index).predict_outlook(found[index], sum(each.streams for each in plan), tried=tried)


def best_of(options, goal: Goal) -> tuple[Parameters, ...]:
    plan, leading = min(
        options, key=lambda each: (missed(goal, each[1]), compute_cost(goal.objective, each[1]), each[1].streams)
    )
    if goal == MOST_FRUGAL and leading.j_per_byte is not None:
        here, least = options[0][1].j_per_byte, leading.j_per_byte
        most = 1.05 * least if here <= math.exp(0.05) * least else min(1.05 * least, math.exp(-0.05) * here)
        alike = [each for each in options if each[1].j_per_byte <= most]
        return min(alike, key=lambda each: (-each[1].throughput_bps, each[1].streams))[0]
    if goal.objective is not Objective.SLOWNESS or missed(goal, leading) > 0:
        return plan
    enough = (1 - RELAXATION) * leading.throughput_bps
    relaxed = [each for each in options if each[1].throughput_bps >= enough and missed(goal, each[1]) == 0]
    return min(relaxed, key=lambda each: (each[1].streams, -each[1].throughput_bps))[0]


def missed(goal: Goal, seen: Outlook) -> float:
    ratios = [
        (goal.floor_bps or 0.0) / seen.low_bps,
        1.0 if goal.ceiling_w is None or seen.power_w is None else seen.power_w / goal.ceiling_w,
        1.0
        if goal.ceiling_j_per_byte is None or seen.j_per_byte is None
        else seen.j_per_byte / goal.ceiling_j_per_byte,
    ]
    return math.log(max(1.0, *ratios))
