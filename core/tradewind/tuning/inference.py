"""What a tick teaches: beliefs, change detection, whether the pipe is full; and what was expected of it."""

import math
from dataclasses import replace

from tradewind.tuning.basis import Basis
from tradewind.tuning.belief import Belief, Gain, prior
from tradewind.tuning.change import ChangeDetector
from tradewind.tuning.expectation import point_of
from tradewind.tuning.observation import Observation, log_ratios
from tradewind.tuning.sample import LEAST_W
from tradewind.tuning.state import TuningState

UNKNOWN_SD = 20.0
"""sd of ln T before the first tick of a transfer without a table: anything."""

REOPENED_SD = 0.5
"""sd of the path's log-gain after a change: a factor of 1.6 either way."""


def prior_of(basis: Basis) -> Belief:
    """Belief before the first byte: the tables at the recommended settings, or nothing without one for each chunk."""
    tables = [chunk.expectation for chunk in basis.chunks]
    sds = [
        table.at(*point_of(chunk.plan.parameters)).log_sd
        for chunk, table in zip(basis.chunks, tables, strict=True)
        if table is not None
    ]
    return prior(max(sds)) if len(sds) == len(tables) else Belief(path=Gain(0.0, UNKNOWN_SD**2))


def learned(state: TuningState, seen: Observation) -> TuningState:
    """Beliefs and change detection after a tick with throughput; while streams are tried nothing is expected of it."""
    log_ratio, chunk_ratios = log_ratios(seen)
    extra = seen.slow_start**2
    belief = state.belief
    change = state.change.seen(belief.surprise(log_ratio, extra))
    belief = belief.learned(log_ratio, chunk_ratios, extra, _log_power_ratio(seen))
    if state.search is not None and not (state.search.settled and state.search.ticks):
        belief, change = belief.reopened(REOPENED_SD), ChangeDetector(repeats=change.repeats)
    plateau = state.plateau.seen(seen.throughput_bps, seen.sample.queueing_delay_s)
    return replace(state, belief=belief, change=change, plateau=plateau)


def _log_power_ratio(seen: Observation) -> float | None:
    """ln(measured / expected by the tables alone); ``None`` without a meter or tables that know power."""
    power_w = seen.sample.power_w or 0.0
    expected_w = seen.forecaster.bare_power_w() if seen.forecaster is not None and power_w >= LEAST_W else None
    return math.log(power_w / expected_w) if expected_w else None


def expected_by(state: TuningState, seen: Observation) -> float:
    """Throughput that this state's belief expected of the tick, bit/s."""
    log_ratio, _ = log_ratios(seen)
    return seen.throughput_bps * math.exp(min(state.belief.path.mean - log_ratio, 50.0))
