"""What a tick teaches: beliefs, change detection and whether the pipe is full; and what the belief expected of it."""

import math
from dataclasses import replace

from tradewind.tuning.basis import Basis
from tradewind.tuning.expectation import to_point
from tradewind.tuning.observation import Observation, compute_log_ratios
from tradewind.tuning.path.belief import FIRST_NOISE, Belief, Gain, Measurement, build_prior_belief
from tradewind.tuning.path.change import ChangeDetector
from tradewind.tuning.resources import HostResources
from tradewind.tuning.sample import MIN_W
from tradewind.tuning.state import TuningState

UNKNOWN_SD = 20.0
"""sd of ln T before the first tick of a transfer without a table: no information."""

REOPENED_SD = 0.5
"""sd of the path's log-gain after a change: a factor of 1.6 either way."""


def build_prior(basis: Basis) -> Belief:
    """Return the belief before the first byte: the tables at the recommended settings, or no information."""
    tables = [chunk.expect(HostResources.of(chunk.plan.parameters)) for chunk in basis.chunks]
    sds = [
        table.predict_performance(*to_point(chunk.plan.parameters)).log_sd
        for chunk, table in zip(basis.chunks, tables, strict=True)
        if table is not None
    ]
    return build_prior_belief(max(sds)) if len(sds) == len(tables) else Belief(path=Gain(0.0, UNKNOWN_SD**2))


def learn_from_tick(state: TuningState, seen: Observation) -> TuningState:
    """Return the state with belief and change detection updated by a tick; a search expects nothing of its tries."""
    log_ratio, chunk_ratios = compute_log_ratios(seen)
    extra = seen.slow_start**2
    belief = state.belief
    change = state.change.update(belief.compute_surprise(log_ratio, extra))
    belief = belief.update(log_ratio, chunk_ratios, extra, _measure_power(seen))
    if state.search is not None and not (state.search.has_converged and state.search.ticks):
        belief, change = belief.reopen(REOPENED_SD), ChangeDetector(repeats=change.repeats)
    plateau = state.plateau.update(seen.throughput_bps, seen.sample.queueing_delay_s)
    return replace(state, belief=belief, change=change, plateau=plateau)


def _measure_power(seen: Observation) -> Measurement | None:
    """Return ln(measured / expected by the tables alone) on the SLA's energy basis.

    A meter's noise is a share of all it shows, and so a larger one of what is left above the base. ``None`` without a
    meter or tables that know power, and where nothing is left.
    """
    view, total_w = seen.forecaster, seen.sample.power_w
    if view is None or total_w is None or (power_w := total_w - view.idle_w) < MIN_W:
        return None
    expected_w = view.compute_table_power_w() or 0.0
    if expected_w < MIN_W:
        return None
    return Measurement(math.log(power_w / expected_w), (FIRST_NOISE * total_w / power_w) ** 2)


def predict_throughput_bps(state: TuningState, seen: Observation) -> float:
    """Return the throughput that this state's belief expected of the tick, bit/s."""
    log_ratio, _ = compute_log_ratios(seen)
    return seen.throughput_bps * math.exp(min(state.belief.path.mean - log_ratio, 50.0))
