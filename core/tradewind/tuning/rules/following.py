"""Tuning by the table: go to the best setting by the belief, in steps within the trust region."""

import math
from collections.abc import Sequence
from dataclasses import replace

from tradewind.parameters import Parameters
from tradewind.tuning.bank import Goal
from tradewind.tuning.basis import Basis
from tradewind.tuning.choice import FASTEST, SettingChoice, choose_best, is_worthwhile, step_toward
from tradewind.tuning.decision import DecisionKind
from tradewind.tuning.forecast import Forecaster
from tradewind.tuning.limits import SettingLimits
from tradewind.tuning.observation import Observation
from tradewind.tuning.resources import HostResources
from tradewind.tuning.rest import build_rest
from tradewind.tuning.rules.exploring import begin_search
from tradewind.tuning.rules.proposal import Proposal, build_limits, format_settings
from tradewind.tuning.rules.redistribution import drop_slow_streams
from tradewind.tuning.state import TuningState
from tradewind.units import format_bps

MISMATCH = 0.15
"""Log-gain of the path above which the table's best setting may no longer be the best."""

SURE_TICKS = 3


def follow_table(basis: Basis, state: TuningState, seen: Observation, goal: Goal, forecaster: Forecaster) -> Proposal:
    """Go to the best setting if that is worthwhile, else stay; search where the SLA needs more than the table has."""
    limits = build_limits(basis, state, seen)
    if _rests(state, forecaster, goal, limits):
        return _search_beyond_table(basis, state, seen, goal) or _stay(
            state, seen, "no other setting is worthwhile yet"
        )
    chosen = choose_best(forecaster, goal, limits)
    here = seen.requested
    if _adds_to_a_full_pipe(state, goal, chosen):
        return _stay(state, seen, "the pipe is full and nobody else's: its rate does not vary")
    if is_worthwhile(chosen, goal, remaining_s=seen.remaining_s, rtt_s=seen.rtt_s):
        settings = chosen.settings
        if not state.reopened:
            settings = tuple(step_toward(now, then) for now, then in zip(here, chosen.settings, strict=True))
        kind, why = _explain_choice(seen, goal, chosen)
        reason = f"{why}: {format_settings(settings)}{_format_resources(here, settings)}"
        return Proposal(replace(state, reopened=False), kind, reason, settings)
    if _regains(state, goal, chosen):
        reason = f"the path has been quiet: {format_settings(chosen.settings)} again"
        return Proposal(replace(state, reopened=False), DecisionKind.RESTORE, reason, chosen.settings)
    if _falls_short(seen, goal, chosen):
        more = begin_search(basis, state, seen, goal, doublings=1.0, trusted=True)
        return more._replace(kind=DecisionKind.SLA_BELOW, reason=f"the table knows nothing faster; {more.reason}")
    state = replace(state, rest=build_rest(chosen, forecaster, goal, limits))
    expected = f"{format_bps(chosen.outlook.throughput_bps)} expected of the best setting known"
    return _search_beyond_table(basis, state, seen, goal) or _stay(state, seen, expected)


def _format_resources(here: Sequence[Parameters], settings: Sequence[Parameters]) -> str:
    """Return cores and frequency where they change, such as ``, 2 cores instead of 4 cores``."""
    before, after = HostResources.of(here[0]), HostResources.of(settings[0])
    return "" if before == after else f", {after} instead of {before}"


def _adds_to_a_full_pipe(state: TuningState, goal: Goal, chosen: SettingChoice) -> bool:
    """Return whether the choice adds streams to a pipe that is full already.

    Of several chunks one may still finish the transfer sooner by more streams.
    """
    more = chosen.outlook.streams > chosen.present.streams
    return more and goal == FASTEST and len(chosen.settings) == 1 and state.plateau.is_sure


def _falls_short(seen: Observation, goal: Goal, chosen: SettingChoice) -> bool:
    """Return whether the goal needs more than the table has, and the path may carry it."""
    if goal.floor_bps is None or chosen.present.throughput_bps >= goal.floor_bps:
        return False
    return seen.has_room and not seen.is_at_ceiling


def _rests(state: TuningState, forecaster: Forecaster, goal: Goal, limits: SettingLimits) -> bool:
    """Return whether the last search is still valid; not while streams given up for other transfers return one by
    one.
    """
    return state.rest is not None and state.limit.streams is None and state.rest.holds(forecaster, goal, limits)


def _search_beyond_table(basis: Basis, state: TuningState, seen: Observation, goal: Goal) -> Proposal | None:
    """Search where only speed counts and the path carries more than the table expects."""
    if goal != FASTEST or seen.is_at_ceiling or not _leaves_room(state, seen):
        return None
    state = replace(state, limit=state.limit.lift())  # what it was for has changed: there is room now
    more = begin_search(basis, state, seen, goal, doublings=1.0, trusted=True)
    gain = math.exp(state.belief.path.mean)
    return more._replace(reason=f"{gain:.2g} times what the table knows, and a pipe not full; {more.reason}")


def _regains(state: TuningState, goal: Goal, chosen: SettingChoice) -> bool:
    """Return whether streams given up for others return: one by one each gains less than the hysteresis demands."""
    present, outlook = chosen.present, chosen.outlook
    return (
        state.limit.streams is not None
        and goal == FASTEST
        and outlook.streams > present.streams
        and outlook.throughput_bps > present.throughput_bps
    )


def _leaves_room(state: TuningState, seen: Observation) -> bool:
    """Return whether the path surely differs from the table's, and its queue has room for more."""
    if seen.sample.queueing_delay_s is None or not seen.has_room or state.belief.ticks < SURE_TICKS:
        return False
    if state.plateau.is_likely:
        return False
    gain = state.belief.path
    return abs(gain.mean) > MISMATCH + 2 * gain.sd or state.limit.accepted_loss > 0


def _stay(state: TuningState, seen: Observation, why: str) -> Proposal:
    here = seen.requested
    if len(here) > 1 and here == tuple([chunk.parameters for chunk in seen.active]):
        slimmed = drop_slow_streams(seen.active)
        if slimmed != here:
            reason = f"streams that carry next to nothing are retired: {format_settings(slimmed)}"
            return Proposal(state, DecisionKind.REDISTRIBUTE, reason, slimmed)
    reason = f"{format_bps(seen.throughput_bps)} with {format_settings(here)}; {why}"
    return Proposal(replace(state, reopened=False) if state.reopened else state, DecisionKind.HOLD, reason, here)


def _explain_choice(seen: Observation, goal: Goal, chosen: SettingChoice) -> tuple[DecisionKind, str]:
    present, outlook = chosen.present, chosen.outlook
    if goal.floor_bps is not None:
        likely = f"{format_bps(present.low_bps)} sure, {format_bps(goal.floor_bps)} wanted"
        if present.low_bps < goal.floor_bps:
            return DecisionKind.SLA_BELOW, likely
        return DecisionKind.SLA_ABOVE, f"{likely}; less will do"
    if goal.ceiling_w is not None and present.power_w is not None:
        kind = DecisionKind.SLA_BELOW if present.power_w > goal.ceiling_w else DecisionKind.SLA_ABOVE
        return kind, f"{present.power_w:.3g} W, {goal.ceiling_w:.3g} W allowed"
    if goal.ceiling_j_per_byte is not None and present.j_per_byte is not None:
        kind = DecisionKind.SLA_BELOW if present.j_per_byte > goal.ceiling_j_per_byte else DecisionKind.SLA_ABOVE
        allowed = f"{1e6 * goal.ceiling_j_per_byte:.3g} J a MB allowed"
        return kind, f"{1e6 * present.j_per_byte:.3g} J a MB, {allowed}"
    gained = f"{format_bps(seen.throughput_bps)} now, {format_bps(outlook.throughput_bps)} expected"
    return DecisionKind.OPTIMISE, gained
