"""While a search's answer stands, another search would not find anything that pays."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tuning.simulated_path import MAX_THROUGHPUT, chunk_basis, run
from tests.unit.tuning.test_choice_is_exact import PATH, SETS, TABLES, situations, weighing_all
from tests.unit.tuning.transfers import BIG, P, warm
from tradewind.dataset import ChunkKind
from tradewind.parameters import Caps, Parameters
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tuning import Basis
from tradewind.tuning.choice import FASTEST, choose_best, is_worthwhile
from tradewind.tuning.forecast import ActiveChunk, build_forecaster
from tradewind.tuning.limits import SettingLimits
from tradewind.tuning.path.belief import Gain, build_prior_belief
from tradewind.tuning.rest import build_rest
from tradewind.tuning.rules import following

small = st.floats(-0.03, 0.03)


@st.composite
def later(draw, situation):
    """The same transfer some ticks on: what is believed, left and wanted has moved a little."""
    view, goal = situation.view, situation.goal
    belief = view.belief
    belief = replace(
        belief,
        path=Gain(belief.path.mean + draw(st.floats(-0.5, 0.5)), belief.path.variance * draw(st.floats(0.5, 1.5))),
        chunks={kind: Gain(own.mean + draw(small), own.variance) for kind, own in belief.chunks.items()},
        power=Gain(belief.power.mean + draw(small), belief.power.variance),
    )
    done = draw(st.floats(0.01, 1.0))
    active = tuple(
        chunk._replace(
            remaining_bytes=max(1, int(chunk.remaining_bytes * done * math.exp(draw(small)))),
            files_left=max(chunk.parameters.concurrency, int(chunk.files_left * done)),
        )
        for chunk in view.active
    )
    now = build_forecaster(view.basis, active, belief, view.z)
    goal = goal.relax(draw(st.floats(-0.05, 0.05)))
    return now, SettingLimits(situation.limits.caps, tuple(each.files_left for each in active)), goal


def arrived(situation):
    """The same transfer after it has gone where the search would have it."""
    view, goal, limits = situation.view, situation.goal, situation.limits
    settings = choose_best(view, goal, limits).settings
    active = tuple(each._replace(parameters=now) for each, now in zip(view.active, settings, strict=True))
    return replace(situation, view=build_forecaster(view.basis, active, view.belief, view.z))


@given(st.data())
def test_while_rest_holds_a_full_search_finds_nothing_worthwhile(data):
    situation = arrived(data.draw(situations()))
    view, limits, goal = situation.view, situation.limits, situation.goal
    chosen = choose_best(view, goal, limits)
    rest = build_rest(chosen, view, goal, limits)
    now, limits_now, goal_now = data.draw(later(situation))
    if rest is not None and rest.holds(now, goal_now, limits_now):
        assert not is_worthwhile(weighing_all(now, goal_now, limits_now), goal_now, remaining_s=math.inf, rtt_s=0.0)


def test_an_answer_does_not_outlive_the_requests_that_fewer_files_cut():
    """Two files at once with two requests each become two with one, which the table may think more of."""
    here = Parameters(concurrency=3, parallelism=1, pipelining=1)
    chunk = chunk_basis(SETS[ChunkKind.LARGE], here, TABLES[ChunkKind.LARGE], ChunkKind.LARGE)
    basis = Basis(MAX_THROUGHPUT, (chunk,), PATH.path)

    def left(files):
        view = build_forecaster(basis, (ActiveChunk(chunk, here, 1e7, 10**9, files),), build_prior_belief(0.05), z=0.0)
        return view, FASTEST, SettingLimits(Caps(streams=3), (files,))

    rest = build_rest(choose_best(*left(4)), *left(4))
    assert rest is not None
    assert rest.holds(*left(4))
    assert not rest.holds(*left(3))
    assert choose_best(*left(3)).settings[0].concurrency == 2


@pytest.mark.parametrize(
    "sla",
    [
        MAX_THROUGHPUT,
        Sla(kind=SlaKind.MIN_ENERGY),
        Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=5e7),
        Sla(kind=SlaKind.DEADLINE, target=10_000),
        Sla(kind=SlaKind.POWER_AT_MOST, target=120),
    ],
    ids=lambda sla: sla.kind.value,
)
def test_a_transfer_that_has_converged_rarely_searches_again(sla, monkeypatch):
    transfer, searches = warm(BIG, sla), []
    run(P, [transfer], 10)
    monkeypatch.setattr(following, "choose_best", lambda *asked: searches.append(asked) or choose_best(*asked))
    run(P, [transfer], 40)
    assert len(searches) <= 10


def test_an_answer_does_not_outlive_a_wider_cap():
    transfer = warm(BIG, caps=Caps(streams=4))
    run(P, [transfer], 6)
    transfer.basis = replace(transfer.basis, caps=Caps())
    run(P, [transfer], 6)
    assert transfer.streams[-1] > 4
