"""The best setting by the current belief, and whether changing to it is worthwhile.

One chunk's setting is chosen at a time while the others are held, in two rounds: tables of 48 settings need no more. A
choice that meets the goal beats one that does not. Among those that meet it the cheapest wins, among the others the
nearest. For nearly equal throughput the setting with fewer streams wins, at a loss of up to 1.5 % (HARP's parameter
relaxation). For nearly equal energy the faster setting wins where the SLA sets no other bound, as in `selection`:
energy is often known too poorly to give up speed for it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress

from tradewind.parameters import Parameters
from tradewind.tiers.setting_table import SIMILAR_ENERGY, Objective
from tradewind.tuning.bank import Goal
from tradewind.tuning.expectation import RELAXATION, Candidate, Candidates
from tradewind.tuning.forecast import ChunkForecaster, Forecaster, Outlook
from tradewind.tuning.limits import Point, SettingLimits, fit_to_limits

HYSTERESIS = 0.05
"""A change must gain this much more than it costs."""

ROUNDS = 2

FASTEST = Goal(objective=Objective.SLOWNESS)
"""A goal without bounds that maximises speed."""

MOST_FRUGAL = Goal(objective=Objective.ENERGY)
"""A goal without bounds that minimises energy."""

SLOW_START_ROUND_TRIPS = 10
"""Round trips until a new connection has its share of the path; meanwhile it reaches about half of it."""

ROUNDING = 1e-9
"""Relative; values that differ by less are compared in full."""

_STEP = 2
"""Trust region: an axis at most doubles or halves in a tick, or moves by this many."""


@dataclass(frozen=True, slots=True)
class SettingChoice:
    """Settings of the active chunks in their order, with their outlook and that of the current settings.

    ``max_gain`` : upper bound of what any setting that meets the goal gains, as a logarithm.
    """

    settings: tuple[Parameters, ...]
    outlook: Outlook
    present: Outlook
    max_gain: float


def choose_best(forecaster: Forecaster, goal: Goal, limits: SettingLimits) -> SettingChoice:
    """Return the best settings within the limits, at any distance; the current ones where no change could be
    worthwhile.

    Other cores or frequencies are chosen where they may be changed and do better, by settings of their own.
    """
    chosen = _choose_with_current_resources(forecaster, goal, limits)
    for other in forecaster.list_with_other_resources(limits.caps):
        settings = _search_settings(other, goal, limits, list_current_settings(other, limits))
        found = predict_outlook(other, settings)
        max_gain = max(chosen.max_gain, _compute_max_gain(goal, chosen.present, found))
        if _rank(goal, found) < _rank(goal, chosen.outlook):
            chosen = replace(chosen, settings=settings, outlook=found)
        chosen = replace(chosen, max_gain=max_gain)
    return chosen


def _choose_with_current_resources(forecaster: Forecaster, goal: Goal, limits: SettingLimits) -> SettingChoice:
    present = list_current_settings(forecaster, limits)
    here = predict_outlook(forecaster, present)
    bound = math.inf if _is_fastest_of_one(goal, present) else _bound_gain(forecaster, goal, limits, here)
    if bound <= HYSTERESIS:
        return SettingChoice(present, here, here, bound)
    settings = _search_settings(forecaster, goal, limits, present)
    found = predict_outlook(forecaster, settings)
    return SettingChoice(settings, found, here, _compute_max_gain(goal, here, found))


def _compute_max_gain(goal: Goal, here: Outlook, found: Outlook) -> float:
    """Return what the best setting gains at most, where ``found`` was chosen among those about as good."""
    gained = compute_cost(goal.objective, here) - compute_cost(goal.objective, found)
    given_up = -math.log1p(-RELAXATION) if goal.objective is Objective.SLOWNESS else 0.0
    if goal == MOST_FRUGAL:
        given_up = math.log1p(SIMILAR_ENERGY)
    return gained + given_up


def count_sufficient_streams(forecaster: Forecaster, limits: SettingLimits) -> int:
    """Count the streams of the fastest settings, however little a change to them would gain."""
    return sum(
        each.streams
        for each in _search_settings(forecaster, FASTEST, limits, list_current_settings(forecaster, limits))
    )


def list_current_settings(forecaster: Forecaster, limits: SettingLimits) -> tuple[Parameters, ...]:
    """Return the current settings, cut to what the limits still permit."""
    return fit_to_limits([chunk.parameters for chunk in forecaster.active], limits)


def _is_fastest_of_one(goal: Goal, settings: Sequence[Parameters]) -> bool:
    """Return whether the path's gain makes no difference: it never changes which setting is the fastest."""
    return len(settings) == 1 and goal == FASTEST


def _search_settings(
    forecaster: Forecaster, goal: Goal, limits: SettingLimits, settings: tuple[Parameters, ...]
) -> tuple[Parameters, ...]:
    if _is_fastest_of_one(goal, settings):
        return (
            _move_setting(
                settings[0], forecaster.expectations[0].list_candidates(limits.compute_room(settings, 0)).fastest.point
            ),
        )
    for _ in range(ROUNDS):
        before = settings
        for index in range(len(settings)):
            settings = _improve_one(forecaster, goal, limits, settings, index)
        if len(settings) == 1 or settings == before:
            break
    return settings


def _bound_gain(forecaster: Forecaster, goal: Goal, limits: SettingLimits, here: Outlook) -> float:
    """Return an upper bound of what any setting gains over the present one; infinite where no bound is known."""
    missed = compute_shortfall(goal, here)
    if missed > 0:
        if goal.ceiling_w is not None or goal.ceiling_j_per_byte is not None or goal.floor_bps is None:
            return math.inf
        missed_at_best = _compute_log_ratio(goal.floor_bps, forecaster.max_sure_bps)
        return missed - missed_at_best if missed_at_best > 0 else math.inf
    if goal.objective is Objective.ENERGY and here.j_per_byte is not None:
        least = forecaster.compute_least_j_per_byte(limits)
        return math.log(here.j_per_byte / least) if least is not None and least > 0 else math.inf
    if goal.objective is Objective.EFFICIENCY and here.j_per_byte is not None:
        least = forecaster.compute_least_j_per_byte(limits)
        faster = math.log(forecaster.max_bps / here.throughput_bps)
        return math.log(here.j_per_byte / least) + faster if least is not None and least > 0 else math.inf
    if goal.objective is Objective.STREAMS:
        return math.log(here.streams / len(forecaster.active))
    return math.log(forecaster.max_bps / here.throughput_bps)


def predict_outlook(forecaster: Forecaster, settings: Sequence[Parameters]) -> Outlook:
    """Return what all chunks together are expected to reach with these settings."""
    tried = _is_tried(forecaster, settings)
    found = (
        forecaster.expected_now
        if tried
        else [forecaster.predict_performance(i, setting) for i, setting in enumerate(settings)]
    )
    return forecaster.predict_outlook(found, sum(setting.streams for setting in settings), tried=tried)


def _is_tried(forecaster: Forecaster, settings: Sequence[Parameters]) -> bool:
    return not forecaster.is_hypothetical and tuple(settings) == tuple([each.parameters for each in forecaster.active])


def _improve_one(
    forecaster: Forecaster, goal: Goal, limits: SettingLimits, settings: tuple[Parameters, ...], index: int
) -> tuple[Parameters, ...]:
    """Return the settings with one chunk's replaced by its best permitted one.

    Candidates are the table's permitted entries and the fastest entry cut to the limits.
    """
    found = [forecaster.predict_performance(i, setting) for i, setting in enumerate(settings)]
    chunk_view = forecaster.vary_chunk(found, index)
    here = chunk_view.predict_outlook(
        found[index], sum(setting.streams for setting in settings), tried=_is_tried(forecaster, settings)
    )
    candidates = forecaster.expectations[index].list_candidates(limits.compute_room(settings, index))
    others = here.streams - settings[index].streams
    worth = _select_worth_weighing(goal, chunk_view, candidates, here)
    options: list[tuple[Point | None, Outlook]] = [(None, here)]
    options += [
        (candidate.point, chunk_view.predict_outlook(candidate.expected, others + candidate.streams))
        for candidate in worth
    ]
    leading = min((outlook for _, outlook in options), key=lambda outlook: _rank(goal, outlook))
    point = _choose_relaxed(goal, options, leading)
    return (
        settings
        if point is None
        else (*settings[:index], _move_setting(settings[index], point), *settings[index + 1 :])
    )


def _choose_relaxed(goal: Goal, options: Sequence[tuple[Point | None, Outlook]], leading: Outlook) -> Point | None:
    """Return, of the options about as good as the leading one, the one that is best in other respects.

    The first option is the current setting, ``None``.
    """
    if goal.objective is Objective.SLOWNESS and compute_shortfall(goal, leading) == 0:
        enough = (1 - RELAXATION) * leading.throughput_bps
        relaxed = [
            option
            for option in options
            if option[1].throughput_bps >= enough and compute_shortfall(goal, option[1]) == 0
        ]
        return min(relaxed, key=lambda each: (each[1].streams, -each[1].throughput_bps))[0]
    if goal == MOST_FRUGAL and leading.j_per_byte is not None:
        here, least = compute_cost(goal.objective, options[0][1]), compute_cost(goal.objective, leading)
        most = least + math.log1p(SIMILAR_ENERGY)
        if here > least + HYSTERESIS:  # prefer a worthwhile change to a faster one that is not
            most = min(most, here - HYSTERESIS)
        similar = [option for option in options if compute_cost(goal.objective, option[1]) <= most]
        return min(similar, key=lambda each: (-each[1].throughput_bps, each[1].streams))[0]
    return next(point for point, outlook in options if outlook is leading)


def _select_worth_weighing(
    goal: Goal, chunk_view: ChunkForecaster, candidates: Candidates, here: Outlook
) -> Sequence[Candidate]:
    """Return the candidates that may beat the current setting and each other, by throughput and power alone.

    Return all of them where the current setting misses the goal, or where throughput and power cannot decide.
    """
    if compute_shortfall(goal, here) > 0 or goal.objective in (Objective.STREAMS, Objective.EFFICIENCY):
        return candidates.all
    if goal.objective is Objective.ENERGY:
        if here.j_per_byte is None or not candidates.knows_power:  # so the others' power is known, too
            return candidates.all
        costs = chunk_view.predict_j_per_byte(candidates)
        most = here.j_per_byte
        if goal == MOST_FRUGAL:
            most = min(most, *costs) * (1 + SIMILAR_ENERGY)
        return list(compress(candidates.all, [cost <= most * (1 + ROUNDING) for cost in costs]))
    rates = chunk_view.predict_throughputs_bps(candidates)
    if goal != FASTEST:  # a ceiling may forbid the fastest
        enough = (1 - RELAXATION) * (1 - ROUNDING) * here.throughput_bps
        return list(compress(candidates.all, [rate >= enough for rate in rates]))
    most = max(here.throughput_bps, *rates)
    enough = (1 - RELAXATION) * most
    pairs = list(zip(candidates.all, rates, strict=True))
    fewest = min((each.streams for each, rate in pairs if rate >= enough * (1 + ROUNDING)), default=math.inf)
    return [
        each
        for each, rate in pairs
        if rate >= most * (1 - ROUNDING) or (rate >= enough * (1 - ROUNDING) and each.streams <= fewest)
    ]


def _move_setting(here: Parameters, point: Point) -> Parameters:
    """Return a running transfer's setting at another point; fixed axes stay, and a tool without pipelining keeps
    none.
    """
    concurrency, parallelism, pipelining = point
    return replace(
        here,
        concurrency=concurrency,
        parallelism=parallelism,
        pipelining=None if here.pipelining is None else pipelining,
    )


def _rank(goal: Goal, outlook: Outlook) -> tuple[float, float, int]:
    return (compute_shortfall(goal, outlook), compute_cost(goal.objective, outlook), outlook.streams)


def compute_shortfall(goal: Goal, outlook: Outlook) -> float:
    """Return how far a goal is missed, as a logarithm; 0 where it is met."""
    missed = 0.0
    if goal.floor_bps is not None:
        missed = max(missed, _compute_log_ratio(goal.floor_bps, outlook.low_bps))
    if goal.ceiling_w is not None and outlook.power_w is not None:
        missed = max(missed, _compute_log_ratio(outlook.power_w, goal.ceiling_w))
    if goal.ceiling_j_per_byte is not None and outlook.j_per_byte is not None:
        missed = max(missed, _compute_log_ratio(outlook.j_per_byte, goal.ceiling_j_per_byte))
    return missed


def _compute_log_ratio(value: float, bound: float) -> float:
    """Return ln(value / bound); a bound of 0 is missed by the value's own size."""
    if value <= 0:
        return 0.0
    return math.log(value / bound) if bound > 0 else 1e3 + math.log1p(value)


def compute_cost(objective: Objective, outlook: Outlook) -> float:
    """Return what is minimised, as a logarithm, so that differences are relative gains."""
    if objective is Objective.ENERGY and outlook.j_per_byte is not None:
        return math.log(max(outlook.j_per_byte, 1e-300))
    if objective is Objective.EFFICIENCY and outlook.j_per_byte is not None:
        return math.log(max(outlook.j_per_byte, 1e-300)) - math.log(outlook.throughput_bps)
    if objective is Objective.STREAMS:
        return math.log(outlook.streams)
    return -math.log(outlook.throughput_bps)


def is_worthwhile(chosen: SettingChoice, goal: Goal, *, remaining_s: float, rtt_s: float) -> bool:
    """Return whether to change: the choice meets a goal now missed, or gains more than the switch costs plus 5 %.

    A switch costs the slow start of its new connections, spread over the rest of the transfer.
    """
    missed_now, missed_then = compute_shortfall(goal, chosen.present), compute_shortfall(goal, chosen.outlook)
    if missed_now > 0:  # corrected whatever it costs, but what no setting keeps is not chased for little
        return missed_then <= 0 or missed_now - missed_then > HYSTERESIS
    new = max(chosen.outlook.streams - chosen.present.streams, 0)
    slow_start_s = SLOW_START_ROUND_TRIPS * rtt_s * new / max(chosen.outlook.streams, 1) / 2
    lost = slow_start_s / max(remaining_s, slow_start_s, 1e-9)
    gained = compute_cost(goal.objective, chosen.present) - compute_cost(goal.objective, chosen.outlook)
    return missed_then <= 0 and gained > HYSTERESIS + lost


def step_toward(here: Parameters, there: Parameters) -> Parameters:
    """Return the setting nearest to ``there`` within the trust region of one tick: × 2 or ± 2 on each axis.

    Cores and frequency change at once: they open no connections.
    """
    return replace(
        here,
        cores=there.cores,
        frequency_hz=there.frequency_hz,
        concurrency=_clamp_axis(here.concurrency or 1, there.concurrency or 1, 1),
        parallelism=_clamp_axis(here.parallelism or 1, there.parallelism or 1, 1),
        pipelining=there.pipelining
        if here.pipelining is None or there.pipelining is None
        else _clamp_axis(here.pipelining, there.pipelining, 0),
    )


def _clamp_axis(here: int, there: int, lowest: int) -> int:
    low, high = min(here // 2, here - _STEP), max(2 * here, here + _STEP)
    return max(lowest, min(max(there, low), high))
