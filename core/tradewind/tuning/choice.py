"""The best setting under what is believed now, and whether going there pays.

One chunk's setting at a time is chosen with the others held, twice round: tables of 48 settings need no more. A choice
that keeps the goal beats one that does not; of those that keep it the cheapest wins, of the others the nearest. Equal
throughput goes to fewer streams: 1.5 % are given up for them (HARP's parameter relaxation).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tradewind.parameters import Parameters
from tradewind.selection import Objective
from tradewind.tuning.bank import Goal
from tradewind.tuning.forecast import Forecaster, Outlook
from tradewind.tuning.limits import Limits, fitted

RELAXATION = 0.015
"""Share of the throughput that is given up for fewer streams."""

HYSTERESIS = 0.05
"""A change must gain this much beyond what it costs."""

ROUNDS = 2

SLOW_START_ROUND_TRIPS = 10
"""Round trips that a new connection takes to its share, and that its throughput is about halved in."""

_STEP = 2
"""Trust region: an axis at most doubles or halves in a tick, or moves by this many."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Settings of the active chunks in their order, with their outlook and that of the settings in force."""

    settings: tuple[Parameters, ...]
    outlook: Outlook
    present: Outlook


def best(forecaster: Forecaster, goal: Goal, limits: Limits) -> Chosen:
    """The best settings within the limits, however far away."""
    present = fitted([chunk.parameters for chunk in forecaster.active], limits)
    settings = present
    rounds = ROUNDS if len(settings) > 1 else 1
    for index in [*range(len(settings))] * rounds:
        settings = _best_of_one(forecaster, goal, limits, settings, index)
    return Chosen(settings, forecaster.outlook(settings), forecaster.outlook(present))


def _best_of_one(
    forecaster: Forecaster, goal: Goal, limits: Limits, settings: tuple[Parameters, ...], index: int
) -> tuple[Parameters, ...]:
    options = [(option, forecaster.outlook(option)) for option in _options(forecaster, limits, settings, index)]
    leader, leading = min(options, key=lambda each: _rank(goal, each[1]))
    if goal.objective is not Objective.SLOWNESS or _shortfall(goal, leading) > 0:
        return leader
    enough = (1 - RELAXATION) * leading.throughput_bps
    relaxed = [each for each in options if each[1].throughput_bps >= enough and _shortfall(goal, each[1]) == 0]
    return min(relaxed, key=lambda each: (each[1].streams, -each[1].throughput_bps))[0]


def _options(
    forecaster: Forecaster, limits: Limits, settings: tuple[Parameters, ...], index: int
) -> Iterator[tuple[Parameters, ...]]:
    """Settings with those of one chunk replaced: as they are, by the table's permitted entries, by its cut fastest."""
    yield settings
    here = settings[index]
    entries = forecaster.expectations[index].entries
    files = limits.files[index]
    for parameters, _ in entries:
        moved = limits.requests(_moved(here, parameters), files)
        option = (*settings[:index], moved, *settings[index + 1 :])
        if limits.allow(option):
            yield option
    fastest = max(entries, key=lambda entry: entry[1].throughput_bps)[0]
    yield fitted((*settings[:index], _moved(here, fastest), *settings[index + 1 :]), limits)


def _moved(here: Parameters, entry: Parameters) -> Parameters:
    """A table's entry for a running transfer: what the entry leaves open, or cannot be changed, stays."""
    return replace(
        here,
        concurrency=entry.concurrency or here.concurrency,
        parallelism=entry.parallelism or here.parallelism,
        pipelining=here.pipelining if entry.pipelining is None else entry.pipelining,
    )


def _rank(goal: Goal, outlook: Outlook) -> tuple[float, float, int]:
    return (_shortfall(goal, outlook), cost(goal.objective, outlook), outlook.streams)


def _shortfall(goal: Goal, outlook: Outlook) -> float:
    """How far a goal is missed, as a logarithm; 0 where it is kept."""
    missed = 0.0
    if goal.floor_bps is not None:
        missed = max(missed, _log_ratio(goal.floor_bps, outlook.low_bps))
    if goal.ceiling_w is not None and outlook.power_w is not None:
        missed = max(missed, _log_ratio(outlook.power_w, goal.ceiling_w))
    if goal.ceiling_j_per_byte is not None and outlook.j_per_byte is not None:
        missed = max(missed, _log_ratio(outlook.j_per_byte, goal.ceiling_j_per_byte))
    return missed


def _log_ratio(value: float, bound: float) -> float:
    """ln(value / bound); a bound of nothing is missed by the value's own size."""
    if value <= 0:
        return 0.0
    return math.log(value / bound) if bound > 0 else 1e3 + math.log1p(value)


def cost(objective: Objective, outlook: Outlook) -> float:
    """What is minimised, as a logarithm, so that differences are relative gains."""
    if objective is Objective.ENERGY and outlook.j_per_byte is not None:
        return math.log(max(outlook.j_per_byte, 1e-300))
    if objective is Objective.STREAMS:
        return math.log(outlook.streams)
    return -math.log(outlook.throughput_bps)


def pays(chosen: Chosen, goal: Goal, *, remaining_s: float, rtt_s: float) -> bool:
    """Whether to go there: it keeps a goal that the present breaks, or gains more than the switch costs and 5 %.

    A switch costs the slow start of its new connections, spread over the rest of the transfer.
    """
    missed_now, missed_then = _shortfall(goal, chosen.present), _shortfall(goal, chosen.outlook)
    if missed_now > 0:
        return missed_now - missed_then > 0.0 and _differs(chosen, goal, missed_now - missed_then)
    new = max(chosen.outlook.streams - chosen.present.streams, 0)
    slow_start_s = SLOW_START_ROUND_TRIPS * rtt_s * new / max(chosen.outlook.streams, 1) / 2
    lost = slow_start_s / max(remaining_s, slow_start_s, 1e-9)
    gained = cost(goal.objective, chosen.present) - cost(goal.objective, chosen.outlook)
    return missed_then <= 0 and gained > HYSTERESIS + lost


def _differs(chosen: Chosen, goal: Goal, nearer: float) -> bool:
    """A goal that no setting keeps is not chased for less than the hysteresis."""
    return _shortfall(goal, chosen.outlook) <= 0 or nearer > HYSTERESIS


def toward(here: Parameters, there: Parameters) -> Parameters:
    """As far to ``there`` as the trust region lets go in a tick: × 2 or ± 2 on each axis."""
    return replace(
        here,
        concurrency=_axis(here.concurrency or 1, there.concurrency or 1, 1),
        parallelism=_axis(here.parallelism or 1, there.parallelism or 1, 1),
        pipelining=there.pipelining
        if here.pipelining is None or there.pipelining is None
        else _axis(here.pipelining, there.pipelining, 0),
    )


def _axis(here: int, there: int, lowest: int) -> int:
    low, high = min(here // 2, here - _STEP), max(2 * here, here + _STEP)
    return max(lowest, min(max(there, low), high))
