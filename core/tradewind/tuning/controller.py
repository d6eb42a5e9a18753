"""The online controller: one sample in, one decision out (GreenDataFlow, algorithms 1 and 2, made consistent).

Each tick these rules are tried in order; the first that applies decides:

1. nothing has started, is left or has moved            keep everything
2. other transfers suffer                               give up streams and keep them given up   `back_off`
3. a chunk is done, or the limits have shrunk           redistribute channels and streams        `redistribution`
4. the last change is younger than max(3 s, 10 RTT)     wait
5. the path has changed                                 trust the table less, and search         `change`
6. no table describes the path                          search by trial                          `exploring`
7. another setting is required or worthwhile            go there within the trust region         `following`

Everything is a value: `begin` and `resume` make a state, `step` makes the next one. There is no clock, I/O or
randomness, so the service and an agent on its own decide in the same way.
"""

from collections.abc import Sequence
from dataclasses import replace

from tradewind.parameters import Parameters
from tradewind.sla.kinds import ENERGY_KINDS
from tradewind.tuning.bank import Goal, compute_bank_balance, estimate_bank, set_goal
from tradewind.tuning.basis import Basis
from tradewind.tuning.choice import SLOW_START_ROUND_TRIPS
from tradewind.tuning.decision import Decision, DecisionKind
from tradewind.tuning.forecast import UNTRIED_SHARE, ActiveChunk
from tradewind.tuning.gradient import start_search
from tradewind.tuning.inference import REOPENED_SD, build_prior, learn_from_tick, predict_throughput_bps
from tradewind.tuning.limits import First, SettingLimits, fit_to_limits
from tradewind.tuning.observation import Observation, limit_chunks_to_channels, observe
from tradewind.tuning.path.change import ChangeDetector
from tradewind.tuning.path.congestion import Signal
from tradewind.tuning.resources import HostResources
from tradewind.tuning.rules.back_off import back_off
from tradewind.tuning.rules.exploring import begin_search, count_doublings_to_regain, explore
from tradewind.tuning.rules.following import follow_table
from tradewind.tuning.rules.proposal import Proposal, build_limits, build_plan, compute_dwell_s, format_settings
from tradewind.tuning.rules.redistribution import redeal_streams, widen_chunks
from tradewind.tuning.sample import MIN_BPS, TickSample
from tradewind.tuning.state import TuningState
from tradewind.units import format_bps

BUILDING_UP = 1.5
"""If the sum of innovations was above this, the tick before a detected change was already part of it."""

WORTH_OPENING_ROUND_TRIPS = 2 * SLOW_START_ROUND_TRIPS
"""How long a chunk must still last before its files get more connections, which are slow at first."""


def begin(basis: Basis) -> TuningState:
    """Return the state before the first byte; its decision is the recommended plan, cut to the caps."""
    chunks = tuple(
        ActiveChunk(chunk, chunk.plan.parameters, 0.0, chunk.total_bytes, max(chunk.file_count, 1))
        for chunk in basis.chunks
    )
    within_caps = limit_chunks_to_channels(chunks, basis.caps, basis.by_kind)
    limits = SettingLimits(basis.caps, tuple(chunk.files_left for chunk in within_caps))
    plan = build_plan(basis, within_caps, fit_to_limits([chunk.parameters for chunk in within_caps], limits))
    decision = Decision(chunks=plan, changed=False, reason="the recommended plan", kind=DecisionKind.HOLD)
    search = None if _has_known_tables(basis) else start_search(decision.streams)
    return TuningState(decision=decision, belief=build_prior(basis), search=search)


def resume(basis: Basis, sample: TickSample) -> TuningState:
    """Rebuild the state from one sample after the state was lost: ``step(basis, resume(basis, s), s)``.

    The current settings come from the sample, the elapsed time from its sequence number, the bank from the bytes done.
    Beliefs start from their priors.
    """
    state = begin(basis)
    elapsed_s = max(sample.sequence - 1, 0) * sample.interval_s
    seen = observe(basis, state, sample)
    current_parameters = [chunk.parameters for chunk in seen.active]
    chunks = build_plan(basis, seen.active, current_parameters) if current_parameters else state.decision.chunks
    decision = replace(state.decision, chunks=chunks, reason="resumed with the current settings")
    return replace(
        state,
        decision=decision,
        sequence=sample.sequence - 1,
        at_s=sample.at_s - sample.interval_s,
        elapsed_s=elapsed_s,
        bank=estimate_bank(basis, remaining_bytes=sample.remaining_bytes, elapsed_s=elapsed_s, power_w=seen.power_w),
        search=None if state.search is None else start_search(decision.streams),
    )


def step(basis: Basis, state: TuningState, sample: TickSample) -> tuple[TuningState, Decision]:
    """Decide what to do after one tick.

    A sample that has been seen, or is older than the last, changes nothing and gets the last decision again.

    Raises
    ------
    InvalidValue : a sample of a chunk that this transfer does not have.
    """
    if sample.sequence <= state.sequence:
        return state, state.decision
    seen = observe(basis, state, sample)
    return _conclude(basis, _propose(basis, state, seen), seen)


def _propose(basis: Basis, state: TuningState, seen: Observation) -> Proposal:
    early = _propose_if_nothing_runs(basis, state, seen)
    if early is not None:
        return early
    state, aim = state.with_limit(state.limit.count_sign(seen.signal, seen.lasting)), _build_goal(basis, seen)
    eased = back_off(basis, state, seen, aim)
    if eased is not None:
        return eased
    if seen.signal is Signal.QUIET:
        state = state.with_limit(state.limit.regain_after_quiet(seen.elapsed_s, compute_dwell_s(seen)))
    redealt = _redistribute_channels(basis, state, seen)
    if redealt is not None:
        return redealt
    before = state
    state = learn_from_tick(state, seen)
    return (
        _cut_to_limits(basis, state, seen)
        or _propose_if_too_soon_or_late(state, seen)
        or _react_to_change(basis, state, seen, aim, before)
        or _tune(basis, state, seen, aim)
    )


def _propose_if_nothing_runs(basis: Basis, state: TuningState, seen: Observation) -> Proposal | None:
    here = seen.requested
    if not seen.active:
        return Proposal(state, DecisionKind.FINISH, "nothing is left to move", here)
    if seen.interval_s == 0:
        return _cut_to_limits(basis, state, seen) or Proposal(state, DecisionKind.HOLD, "no time has passed yet", here)
    if seen.throughput_bps < MIN_BPS:
        return Proposal(state, DecisionKind.HOLD, f"nothing has moved for {seen.interval_s:.3g} s", here)
    return None


def _propose_if_too_soon_or_late(state: TuningState, seen: Observation) -> Proposal | None:
    here, dwell = seen.requested, compute_dwell_s(seen)
    if state.changed_s is not None and seen.elapsed_s - state.changed_s < dwell:
        return Proposal(state, DecisionKind.DWELL, f"the last change has {dwell:.3g} s to show itself", here)
    if seen.remaining_s < 2 * dwell:
        return Proposal(state, DecisionKind.FINISH, f"{seen.remaining_s:.3g} s to go: no change pays any more", here)
    return None


def _tune(basis: Basis, state: TuningState, seen: Observation, aim: Goal) -> Proposal:
    if state.search is not None:
        return explore(basis, state, seen, aim)
    view = seen.forecaster
    if view is None:  # begin starts a search without tables; this is a chunk that came back without one
        return begin_search(basis, state, seen, aim, doublings=1.0, trusted=True)
    return follow_table(basis, state, seen, aim, view.with_belief(state.belief))


def _redistribute_channels(basis: Basis, state: TuningState, seen: Observation) -> Proposal | None:
    """Give the channels of finished chunks to the others, with as many streams as before."""
    planned_kinds = [plan.chunk for plan in state.decision.chunks]
    if [chunk.basis.kind for chunk in seen.active] == planned_kinds:
        return None
    as_before = state.decision.streams
    settings = _limit_settings(basis, state, seen, redeal_streams(seen.active, as_before), streams=as_before)
    streams = sum(setting.streams for setting in settings)
    search = state.search
    if search is not None:
        search = (
            replace(search, streams=streams, best_streams=streams) if search.has_converged else start_search(streams)
        )
    left = ", ".join(chunk.basis.kind.value for chunk in seen.active)
    reason = f"left to move: {left}; its channels now are {format_settings(settings)}"
    return Proposal(replace(state, search=search, reopened=True), DecisionKind.REDISTRIBUTE, reason, settings)


def _cut_to_limits(basis: Basis, state: TuningState, seen: Observation) -> Proposal | None:
    """Cut the settings at once where files, caps or congestion permit less than was requested."""
    here, limits = seen.requested, build_limits(basis, state, seen)
    if limits.permits(here):
        return None
    allowed = _limit_settings(basis, state, seen, here, streams=sum(setting.streams for setting in here))
    if _list_axes(allowed) == _list_axes(here):
        return None
    reason = f"files left and limits permit {format_settings(allowed)}"
    return Proposal(state, DecisionKind.REDISTRIBUTE, reason, allowed)


def _limit_settings(
    basis: Basis,
    state: TuningState,
    seen: Observation,
    settings: Sequence[Parameters],
    *,
    streams: int,
    first: First = First.PARALLELISM,
) -> tuple[Parameters, ...]:
    """Return the settings within the limits; if files are too few for ``streams``, long chunks get more streams a
    file.
    """
    limits = build_limits(basis, state, seen)
    within = fit_to_limits(settings, limits, first)
    most = streams if limits.max_streams is None else min(streams, limits.max_streams)
    return widen_chunks(seen.active, within, most, caps=basis.caps, least_s=WORTH_OPENING_ROUND_TRIPS * seen.rtt_s)


def _react_to_change(
    basis: Basis, state: TuningState, seen: Observation, aim: Goal, before: TuningState
) -> Proposal | None:
    """React to a changed path: where it is slower and has room, search with more streams, else choose by the table.

    On a faster path the windows of the present streams grow first; whether these leave room, the table's rule judges
    later. Not while others share the path: they come and go, which says nothing of the table. ``before`` is the state
    before this tick was learned.
    """
    if not state.change.direction:
        return None
    expected_bps = predict_throughput_bps(before, seen)
    gap = f"{format_bps(seen.throughput_bps)} where {format_bps(expected_bps)} was expected"
    trusted = max(before.change.up, before.change.down) > BUILDING_UP
    doublings = count_doublings_to_regain(expected_bps, seen.throughput_bps) if state.change.direction < 0 else 1.0
    has_room = seen.has_room and not seen.is_lossy
    is_shared = state.limit.streams is not None and not has_room
    searches = has_room and (state.search is not None or (aim.floor_bps is None and state.change.direction < 0))
    change = ChangeDetector() if is_shared else state.change.restart()
    state = replace(state, change=change, belief=state.belief.reopen(REOPENED_SD), reopened=True, rest=None)
    if searches or (has_room and aim.floor_bps is not None):
        state = replace(state, limit=state.limit.lift())
    if change.distrusts_table and state.search is None:
        found = begin_search(basis, state, seen, aim, doublings=doublings, trusted=trusted)
        return found._replace(kind=DecisionKind.FALLBACK, reason=f"{gap}, again: the table is left; {found.reason}")
    if searches:
        found = begin_search(basis, state, seen, aim, doublings=doublings, trusted=trusted)
    else:
        found = _tune(basis, state, seen, aim)
    return found._replace(kind=DecisionKind.CHANGE_DETECTED, reason=f"{gap}; {found.reason}")


def _conclude(basis: Basis, proposal: Proposal, seen: Observation) -> tuple[TuningState, Decision]:
    """Cut the proposal to the limits, turn it into a decision, and record the tick and any change of streams."""
    state, before, sample = proposal.state, proposal.state.decision, seen.sample
    chunks = before.chunks
    if seen.active:
        streams = sum(setting.streams for setting in proposal.settings)
        allowed = _limit_settings(basis, state, seen, proposal.settings, streams=streams, first=proposal.first)
        chunks = build_plan(basis, seen.active, allowed)
    decision = Decision(
        chunks=chunks,
        changed=chunks != before.chunks,
        reason=_format_reason(basis, proposal, seen),
        kind=proposal.kind,
        sla_bank=compute_bank_balance(
            seen.bank, basis, remaining_bytes=sample.remaining_bytes, elapsed_s=seen.elapsed_s
        ),
    )
    belief, changed_s = state.belief, state.changed_s
    if decision.changed and _list_axes(decision.settings) != _list_axes(before.settings):
        changed_s = seen.elapsed_s
        if state.search is None and seen.forecaster is not None:
            belief = belief.widen(UNTRIED_SHARE * seen.forecaster.find_widest_log_sd())
    concluded = TuningState(
        decision=decision,
        belief=belief,
        sequence=sample.sequence,
        at_s=sample.at_s,
        elapsed_s=seen.elapsed_s,
        changed_s=changed_s,
        sent_bytes=sample.sent_bytes,
        retransmitted_bytes=sample.retransmitted_bytes,
        bank=seen.bank,
        change=state.change,
        limit=state.limit,
        plateau=state.plateau,
        base_rtt=seen.base_rtt,
        queue_depth=seen.queue_depth,
        search=state.search,
        reopened=state.reopened,
        rest=state.rest,
    )
    return concluded, decision


def _format_reason(basis: Basis, proposal: Proposal, seen: Observation) -> str:
    """Return the rule's reason; under an SLA on energy or power it names the power that was estimated."""
    if seen.power_note and basis.sla.kind in ENERGY_KINDS:
        return f"{proposal.reason}; {seen.power_note}"
    return proposal.reason


def _list_axes(settings: Sequence[Parameters]) -> list[tuple[int | float | None, ...]]:
    """Return what of each chunk takes time to show itself: concurrency and parallelism, cores and frequency."""
    return [(setting.concurrency, setting.parallelism, *HostResources.of(setting)) for setting in settings]


def _build_goal(basis: Basis, seen: Observation) -> Goal:
    return set_goal(
        seen.bank,
        basis,
        remaining_bytes=seen.sample.remaining_bytes,
        elapsed_s=seen.elapsed_s,
        knows_power=seen.power_w is not None,
    )


def _has_known_tables(basis: Basis) -> bool:
    return all(chunk.expectation is not None and chunk.expectation.is_certified for chunk in basis.chunks)
