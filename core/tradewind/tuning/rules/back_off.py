"""The response to congestion: give up streams and keep them given up, or undo a cut that was in vain."""

from dataclasses import replace

from tradewind.tuning.bank import Goal
from tradewind.tuning.basis import Basis
from tradewind.tuning.choice import count_sufficient_streams
from tradewind.tuning.decision import DecisionKind
from tradewind.tuning.gradient import start_search
from tradewind.tuning.limits import First
from tradewind.tuning.observation import Observation
from tradewind.tuning.path.congestion import FEW_STREAMS, Signal
from tradewind.tuning.rules.exploring import restore_streams
from tradewind.tuning.rules.proposal import Proposal, build_limits, compute_dwell_s
from tradewind.tuning.state import TuningState
from tradewind.units import format_count

CUTS_BEFORE_PROOF = 2
"""Cuts in vain, before the last, that show loss to be the path's own where the queue is neither full nor short."""


def back_off(basis: Basis, state: TuningState, seen: Observation, goal: Goal) -> Proposal | None:
    """Give up streams, or restore what was given up in vain; then no other rule decides. ``None`` when quiet."""
    if seen.is_longer and seen.signal is Signal.QUIET and state.limit.before_delay:
        restored = state.limit.undo_delay_cuts(seen.elapsed_s)
        reason = f"{1e3 * seen.base_rtt.found_s:.3g} ms behind no queue: the path has become longer"
        return _propose_restored(replace(state, limit=restored), seen, state.limit.before_delay, reason)
    return _answer(basis, state, seen, goal)


def _answer(basis: Basis, state: TuningState, seen: Observation, goal: Goal) -> Proposal | None:
    limit, delay_s, loss = state.limit, seen.sample.queueing_delay_s or 0.0, seen.loss or 0.0
    signal = seen.signal
    if signal is Signal.QUIET and seen.is_lossy and limit.cut_loss > 0:
        signal = Signal.LOSS  # as before the cut, though of too few segments to be sure
    is_vain = limit.was_in_vain(signal, delay_s=delay_s, loss=loss) and _is_the_paths_own(signal, state, seen)
    if seen.signal is Signal.QUIET and not is_vain:
        return None
    here, what = seen.requested, _describe_signal(signal, seen)
    if _is_pending(state, seen):
        return Proposal(state, DecisionKind.DWELL, f"{what}; the last cut has not shown itself yet", here)
    if is_vain:
        raised = limit.take_back(signal, delay_s=delay_s, loss=loss, elapsed_s=seen.elapsed_s)
        if seen.has_room:  # the earlier cuts were for a path that has changed since
            raised = raised.lift()
        what = f"{what}, and fewer streams have not reduced it: this transfer does not cause it"
        return _propose_restored(replace(state, limit=raised), seen, limit.before_last, what)
    is_doubtful = signal is Signal.DELAY and seen.queue_depth.is_in_question
    if is_doubtful or limit.needs_another_sign(seen.streams):
        if seen.has_room:  # it may be the path's own loss: a search on a radio goes on
            return None
        outlook = "the queue holds less: is the path longer?" if is_doubtful else "streams are given up if it goes on"
        return Proposal(state, DecisionKind.DWELL, f"{what}; {outlook}", here)
    cut = limit.cut(signal, seen.streams, delay_s=delay_s, loss=loss, elapsed_s=seen.elapsed_s)
    state = _give_up(basis, replace(state, limit=cut), seen, goal)
    most = max(state.limit.streams or 1, len(seen.active))
    reason = f"{what}: from {seen.streams} to at most {format_count(most, 'stream')}"
    first = First.CONCURRENCY if signal is Signal.LOSS else First.PARALLELISM
    return Proposal(state, DecisionKind.CONGESTION, reason, here, first)


def _is_pending(state: TuningState, seen: Observation) -> bool:
    limit = state.limit
    if limit.streams is None:
        return False
    return seen.elapsed_s - limit.limited_s < compute_dwell_s(seen) or seen.streams > max(
        limit.streams, len(seen.active)
    )


def _is_the_paths_own(signal: Signal, state: TuningState, seen: Observation) -> bool:
    """Return whether a signal that the last cut has not reduced is caused by no transfer.

    Behind a full queue loss is congestion: rivals may take what a cut leaves, and a transfer that is alone loses
    nothing by further cuts. With a short queue loss is the path's own. In between one cut is no proof, since CUBIC's
    queue is not full at every tick's end, and one that came to a full queue takes the rest of it for short. Nor are
    two: of what one of three transfers gives up, the others take most, and a tick's loss varies by a third.
    """
    if signal is Signal.DELAY or seen.has_room:
        return True
    return not seen.is_full and state.limit.in_vain >= CUTS_BEFORE_PROOF


def _propose_restored(state: TuningState, seen: Observation, streams: int, reason: str) -> Proposal:
    interrupted = state.search is not None and seen.has_room
    search = start_search(streams) if interrupted else state.search
    return Proposal(
        replace(state, search=search, reopened=True), DecisionKind.RESTORE, reason, restore_streams(seen, streams)
    )


def _give_up(basis: Basis, state: TuningState, seen: Observation, goal: Goal) -> TuningState:
    """Return the state after a cut; without bounds no more streams than suffice for speed.

    This does not apply to a path that loses more by itself than the table's path: each stream carries less there.
    """
    search = state.search
    if search is not None:
        return replace(
            state, search=replace(search, best_streams=state.limit.before, best_utility=None, has_converged=True)
        )
    if seen.forecaster is None or goal.has_bounds or state.limit.accepted_loss > 0:
        return state
    enough = count_sufficient_streams(seen.forecaster, build_limits(basis, state, seen))
    return replace(state, limit=state.limit.limit_to(max(enough, FEW_STREAMS)))


def _describe_signal(signal: Signal, seen: Observation) -> str:
    if signal is Signal.LOSS:
        return f"{100 * (seen.loss or 0.0):.2g} % of the bytes were sent again"
    delay_s = seen.sample.queueing_delay_s or 0.0
    return f"queueing delay {1e3 * delay_s:.3g} ms where {1e3 * seen.expected_delay_s:.3g} ms is usual"
