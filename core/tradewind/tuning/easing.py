"""What is done about congestion: give up streams and stand by it, or take back a cut that was in vain."""

from dataclasses import replace

from tradewind.tuning.congestion import Signal
from tradewind.tuning.decision import DecisionKind
from tradewind.tuning.exploring import restored
from tradewind.tuning.gradient import start
from tradewind.tuning.limits import First
from tradewind.tuning.observation import Observation
from tradewind.tuning.proposal import Proposal, asked, dwell_s
from tradewind.tuning.state import TuningState


def ease(state: TuningState, seen: Observation) -> Proposal:
    """Give up streams, unless the last cut has not had its dwell yet; nothing else is decided meanwhile."""
    here, limit = asked(state, seen.active), state.limit
    what, least = _told(seen), len(seen.active)
    delay_s, loss = seen.sample.queueing_delay_s or 0.0, seen.loss or 0.0
    is_pending = limit.streams is not None and (
        state.elapsed_s - limit.limited_s < dwell_s(seen) or seen.streams > max(limit.streams, least)
    )
    if is_pending:
        return Proposal(state, DecisionKind.DWELL, f"{what}; the last cut has not shown itself yet", here)
    # Behind a full queue loss is congestion, though rivals may take what a cut leaves, so that it goes on.
    is_shared = seen.signal is Signal.LOSS and seen.is_known_full
    if not is_shared and limit.was_in_vain(seen.signal, delay_s=delay_s, loss=loss):
        kept = limit.taken_back(seen.signal, delay_s=delay_s, loss=loss, elapsed_s=state.elapsed_s)
        reason = f"{what}, and fewer streams have not eased it: it is not of this transfer's making"
        interrupted = state.search is not None and seen.has_room
        search = start(limit.before_last) if interrupted else state.search
        anew = replace(state, limit=kept, search=search, reopened=True)
        return Proposal(anew, DecisionKind.RESTORE, reason, restored(state, seen, limit.before_last))
    cut = limit.cut(seen.signal, seen.streams, delay_s=delay_s, loss=loss, elapsed_s=state.elapsed_s)
    search = state.search
    if search is not None:
        search = replace(search, best_streams=cut.before, best_utility=None, settled=True)
    first = First.CONCURRENCY if seen.signal is Signal.LOSS else First.PARALLELISM
    reason = f"{what}: from {seen.streams} to at most {max(cut.streams or 1, least)} streams"
    return Proposal(replace(state, limit=cut, search=search), DecisionKind.CONGESTION, reason, here, first)


def _told(seen: Observation) -> str:
    if seen.signal is Signal.LOSS:
        return f"{100 * (seen.loss or 0.0):.2g} % of the bytes were sent again"
    delay_s = seen.sample.queueing_delay_s or 0.0
    return f"queueing delay {1e3 * delay_s:.3g} ms where {1e3 * seen.expected_delay_s:.3g} ms is usual"
