"""Tuning without a trusted table: the search of `gradient`, one try a tick, spread over the chunks."""

import math
from dataclasses import replace

from tradewind.parameters import NO_CAPS, Parameters
from tradewind.tuning.bank import Goal
from tradewind.tuning.basis import Basis
from tradewind.tuning.choice import FASTEST, SLOW_START_ROUND_TRIPS
from tradewind.tuning.decision import DecisionKind
from tradewind.tuning.gradient import FINEST_STEP_DOUBLINGS, Search, compute_utility, start_search
from tradewind.tuning.limits import First, SettingLimits, fit_to_streams, split_streams
from tradewind.tuning.observation import Observation
from tradewind.tuning.rules.proposal import Proposal, build_limits
from tradewind.tuning.state import TuningState
from tradewind.units import format_bps, format_count

MAX_STREAMS = 128
"""Most streams that are tried without a cap: twice the concurrency of the largest lattice."""

MAX_WAITS = 2
"""Ticks that a mover may take to follow, before its rate counts as the result."""

LONG_SLOW_START = 0.3
"""Share of a tick: if slow start takes longer, a try lasts two ticks and the first is not judged."""

POLITE_STREAMS = 16
"""Streams up to which a transfer may grow on a full pipe: the default of the usual tools."""

STALE = 0.25
"""Change of the best try's utility, three times a tick's noise, beyond which the path has changed since.

The old best can then neither be reached nor beaten.
"""

SURE_TICKS = 2
"""Ticks at the best try after which change detection has its expectation and can find a change."""

AGAIN_TICKS = 12
"""Ticks that a converged search rests before it tries fewer streams again."""

COMFORT = 1.15
"""A transfer this far above its floor may try fewer streams."""


def explore(basis: Basis, state: TuningState, seen: Observation, goal: Goal) -> Proposal:
    """Propose the next try, or the best one once the search has converged."""
    assert state.search is not None
    search = state.search
    if search.has_converged:
        return _hold_converged(basis, state, seen, goal, search)
    if search.streams != seen.streams and search.ticks < MAX_WAITS and search.streams == _count_requested_streams(seen):
        return _stay(state, seen, search.wait(), f"waiting for {format_count(search.streams, 'stream')}")
    slow_start = SLOW_START_ROUND_TRIPS * seen.rtt_s / max(seen.interval_s, 1e-9)
    if search.ticks == 0 and slow_start > LONG_SLOW_START and seen.slow_start > 0:
        return _stay(state, seen, search.wait(), f"{format_count(seen.streams, 'stream')} in slow start still")
    if _still_grows(state, search):
        return _stay(state, seen, search.wait(), f"{format_count(seen.streams, 'stream')}, whose rate still grows")
    return _try_next(basis, state, seen, goal, replace(search, streams=seen.streams))


def begin_search(
    basis: Basis, state: TuningState, seen: Observation, goal: Goal, *, doublings: float, trusted: bool
) -> Proposal:
    """Search from the current streams; ``trusted`` says that this tick measures the present path."""
    search = start_search(seen.streams, doublings)
    if not trusted or _still_grows(state, search):
        return _stay(state, seen, search, f"measuring {format_count(seen.streams, 'stream')} again")
    return _try_next(basis, state, seen, goal, search)


def _still_grows(state: TuningState, search: Search) -> bool:
    """Return whether the streams that a search starts from are not at their full rate yet.

    After a path has become faster, windows need some ticks: more streams would be credited with what these gain.
    """
    return search.best_utility is None and search.ticks < MAX_WAITS and state.plateau.is_rising


def _fills_pipe_at_once(seen: Observation, goal: Goal, search: Search) -> bool:
    """Return whether enough streams fill the pipe at the first try and lose nothing, where only speed counts.

    More streams would take from others. Fewer could save a few per cent of the utility; but the windows of those that
    stay grow for many round trips, and what was closed begins again if it was wrong: over 200 ms a try of 23 streams
    instead of 32 cost a third of the rate for 15 s.
    """
    is_first = search.best_utility is None and seen.streams >= POLITE_STREAMS
    return is_first and goal == FASTEST and seen.is_full and not seen.is_lossy


def _try_next(basis: Basis, state: TuningState, seen: Observation, goal: Goal, search: Search) -> Proposal:
    limits, value = build_limits(basis, state, seen), _compute_utility(basis, seen, goal, search)
    lowest, highest = len(seen.active), _find_highest(limits)
    if seen.is_at_ceiling:
        highest = min(highest, max(seen.streams, search.best_streams))
    elif seen.is_full:
        highest = min(highest, max(seen.streams, search.best_streams, POLITE_STREAMS))
    if _fills_pipe_at_once(seen, goal, search):
        search = replace(search, best_streams=seen.streams, best_utility=value, has_converged=True)
    search = search.advance(value, lowest, highest)
    proposed, settings = search.streams, scale_streams(basis, seen, search.streams, limits)
    reached = sum(setting.streams for setting in settings)
    if not search.has_converged and reached in (
        seen.streams,
        search.best_streams,
    ):  # files or caps leave nothing to try
        search = Search(reached, reached, search.best_utility, has_converged=True)
    elif search.has_converged and reached < search.best_streams <= _find_highest(
        limits
    ):  # the nearest that files can have
        search = Search(reached, reached, has_converged=True)
    elif not search.has_converged:
        search = replace(search, streams=reached)
    search = replace(search, capped=search.has_converged and max(reached, proposed) >= _find_highest(limits))
    measured = f"{format_count(seen.streams, 'stream')}: {format_bps(seen.throughput_bps)}"
    if seen.is_at_ceiling:
        measured += f" of {format_bps(seen.ceiling_bps or 0.0)} at most"
    reason = (
        f"{measured}; {reached} have done best and stay" if search.has_converged else f"{measured}; trying {reached}"
    )
    return Proposal(replace(state, search=search), DecisionKind.EXPLORE, reason, settings)


def _hold_converged(basis: Basis, state: TuningState, seen: Observation, goal: Goal, search: Search) -> Proposal:
    if search.best_utility is not None and seen.streams == search.best_streams:
        if abs(_compute_utility(basis, seen, goal, search) - search.best_utility) > STALE:
            again = begin_search(basis, state, seen, goal, doublings=1.0, trusted=True)
            return again._replace(reason=f"the path has changed while streams were tried; {again.reason}")
        if state.belief.ticks >= SURE_TICKS:
            search = search.confirm()
    limits = build_limits(basis, state, seen)
    proposed = min(search.best_streams, _find_highest(limits))
    if seen.streams < proposed and not (goal == FASTEST and state.plateau.is_likely):
        settings = scale_streams(basis, seen, proposed, limits)
        if (reached := sum(setting.streams for setting in settings)) > _count_requested_streams(seen):
            search = replace(search, streams=reached)
            reason = f"the path has been quiet: {format_count(reached, 'stream')} again"
            return Proposal(replace(state, search=search), DecisionKind.RESTORE, reason, settings)
    if search.capped and search.best_streams < _find_highest(limits):
        more = begin_search(basis, state, seen, goal, doublings=1.0, trusted=True)
        before = format_count(search.best_streams, "stream")
        return more._replace(reason=f"more than {before} permitted now; {more.reason}")
    rate = seen.throughput_bps
    if (
        not goal.is_met_by(rate, seen.compute_power_on_basis_w(basis), seen.compute_j_per_byte(basis))
        and search.ticks > 0
    ):
        doublings = 1.0 if goal.floor_bps is not None else -FINEST_STEP_DOUBLINGS
        if doublings < 0 or not seen.is_full:
            again = begin_search(basis, state, seen, goal, doublings=doublings, trusted=True)
            return again._replace(kind=DecisionKind.SLA_BELOW, reason=f"SLA missed: {again.reason}")
    if goal.floor_bps is not None and rate > COMFORT * goal.floor_bps and search.ticks >= AGAIN_TICKS:
        again = begin_search(basis, state, seen, goal, doublings=-FINEST_STEP_DOUBLINGS, trusted=True)
        return again._replace(kind=DecisionKind.SLA_ABOVE, reason=f"above the SLA: {again.reason}")
    reason = f"{format_count(seen.streams, 'stream')} at {format_bps(rate)}: the best found"
    return _stay(state, seen, search.wait(), reason, DecisionKind.HOLD)


def _stay(
    state: TuningState, seen: Observation, search: Search, reason: str, kind: DecisionKind = DecisionKind.EXPLORE
) -> Proposal:
    return Proposal(replace(state, search=search), kind, reason, seen.requested)


def _compute_utility(basis: Basis, seen: Observation, goal: Goal, search: Search) -> float:
    """Return the utility of this tick, with what its new connections lost to slow start added back."""
    grown = max(seen.streams - search.best_streams, 0) / seen.streams
    return compute_utility(
        goal,
        throughput_bps=seen.throughput_bps / (1 - seen.slow_start * grown),
        streams=seen.streams,
        loss=max((seen.loss or 0.0) - basis.loss_baseline, 0.0),
        power_w=seen.compute_power_on_basis_w(basis),
        j_per_byte=seen.compute_j_per_byte(basis),
    )


def scale_streams(basis: Basis, seen: Observation, streams: int, limits: SettingLimits) -> tuple[Parameters, ...]:
    """Scale the plan to ``streams``, split as it is now.

    Concurrency changes first while files last. Where all files have a channel, parallelism is reduced first: a file
    without a channel would stay half done.
    """
    now = seen.requested
    fewer = streams < _count_requested_streams(seen)
    budgets = split_streams([streams * setting.streams for setting in now], streams)
    return tuple(
        fit_to_streams(
            setting,
            budget,
            files=channels,
            caps=basis.caps,
            first=First.PARALLELISM if fewer and (setting.concurrency or 1) >= channels else First.CONCURRENCY,
        )
        for setting, budget, channels in zip(now, budgets, limits.count_channels(), strict=True)
    )


def restore_streams(seen: Observation, streams: int) -> tuple[Parameters, ...]:
    """Return the plan with ``streams`` again; concurrency regains what the last cut has taken."""
    now = seen.requested
    files = tuple(chunk.files_left for chunk in seen.active)
    budgets = split_streams([streams * setting.streams for setting in now], streams)
    return tuple(
        fit_to_streams(setting, max(budget, setting.streams), files=count, caps=NO_CAPS)
        for setting, budget, count in zip(now, budgets, files, strict=True)
    )


def _count_requested_streams(seen: Observation) -> int:
    return sum(setting.streams for setting in seen.requested)


def _find_highest(limits: SettingLimits) -> int:
    return MAX_STREAMS if limits.max_streams is None else min(limits.max_streams, MAX_STREAMS)


def count_doublings_to_regain(expected_bps: float, measured_bps: float) -> float:
    """Return the first step of a search after a change: the doublings that the streams' rate fell by, 1 … 2."""
    return max(1.0, min(math.log2(expected_bps / measured_bps), 2.0)) if measured_bps > 0 else 1.0
