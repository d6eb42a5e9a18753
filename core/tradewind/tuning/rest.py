"""How long the result of a search stays valid: until enough has moved that another setting could be worthwhile.

A search weighs every permitted setting, and most ticks would find again what the last one found. While the same
settings are current, what can move between two ticks is bounded, and with it the answer.

Notation
--------
G   the most that any setting gains over the current ones, ln; a change must gain more than H = 5 % (`choice.pays`)
δ   how far what is known of single chunks has moved: max(0, Δd_k) − min(0, Δd_k), of the d_k of `belief`
β   how far the chunks have moved apart by what is left of them: max Δ ln b_k − min Δ ln b_k
ε   by how much the goal's bounds have been eased, ln

The path's gain moves T_e of all settings by the same factor (`forecast`), and the hosts' gain their power. T_e is
monotone and homogeneous in the rates, and so is the time in the bytes left: between any two settings ln T_e moves by
2 δ + β at most, ln P by δ. No setting gains H while G + 2 δ + β ≤ H, or G + 3 δ + β for energy. A goal's bounds say who
may compete: asked with bounds eased by H already, the search has weighed all who may come to while ε ≤ H. Fewer files,
channels or streams take choices away and add none.

What no bound is known of is searched each tick: a goal that is missed, cores or frequency that may be changed, streams
limited for the sake of others, and requests in flight that fewer files cut to another number.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tradewind.parameters import Parameters
from tradewind.tiers.setting_table import Objective
from tradewind.tuning.bank import Goal
from tradewind.tuning.choice import (
    HYSTERESIS,
    SettingChoice,
    choose_best,
    compute_shortfall,
    list_current_settings,
    predict_outlook,
)
from tradewind.tuning.forecast import Forecaster
from tradewind.tuning.limits import SettingLimits

_OWN_GAINS = {Objective.SLOWNESS: 2.0, Objective.ENERGY: 3.0, Objective.EFFICIENCY: 5.0, Objective.STREAMS: 0.0}
"""Multiples of δ by which the costs of two settings may move apart."""


@dataclass(frozen=True, slots=True)
class Rest:
    """A moment without a worthwhile change: settings, limits, goal, beliefs and what was left. ``spare`` is H − G."""

    settings: tuple[Parameters, ...]
    limits: SettingLimits
    goal: Goal
    spare: float
    own: tuple[float, ...]
    remaining_bytes: tuple[int, ...]
    path_mean: float
    path_sd: float
    power_mean: float

    def holds(self, view: Forecaster, goal: Goal, limits: SettingLimits) -> bool:
        """Return whether a search would still find no worthwhile change."""
        settings = list_current_settings(view, limits)
        if settings != self.settings or goal.objective is not self.goal.objective:
            return False
        if not limits.are_within(self.limits) or not self._keeps_requests(view, limits):
            return False
        if len(settings) == 1 and not goal.has_bounds:
            return True
        own = _compute_spread((0.0, *(now - then for now, then in zip(_list_own(view), self.own, strict=True))))
        left = zip(view.active, self.remaining_bytes, strict=True)
        apart = _compute_spread([math.log(chunk.remaining_bytes / then) for chunk, then in left])
        if goal.objective is not Objective.STREAMS and _OWN_GAINS[goal.objective] * own + apart > self.spare:
            return False
        if not goal.has_bounds:
            return True
        return self._compute_epsilon(view, goal) + 2 * own + apart <= HYSTERESIS and not compute_shortfall(
            goal, predict_outlook(view, settings)
        )

    def _keeps_requests(self, view: Forecaster, limits: SettingLimits) -> bool:
        chunks = zip(view.expectations, limits.files, self.limits.files, strict=True)
        return all(chunk.keeps_requests(limits, files, most) for chunk, files, most in chunks)

    def _compute_epsilon(self, view: Forecaster, goal: Goal) -> float:
        """Return ε without the part that single chunks' gains contribute."""
        then, path, power = self.goal, view.belief.path.mean - self.path_mean, view.belief.power.mean - self.power_mean
        surer = view.z * max(self.path_sd - view.path_sd, 0.0)
        return max(
            _compute_log_ratio(then.floor_bps, goal.floor_bps) + path + surer,
            _compute_log_ratio(goal.ceiling_w, then.ceiling_w) - power,
            _compute_log_ratio(goal.ceiling_j_per_byte, then.ceiling_j_per_byte) + path - power,
        )


def build_rest(chosen: SettingChoice, view: Forecaster, goal: Goal, limits: SettingLimits) -> Rest | None:
    """Return until when no change is worthwhile; ``None`` where the next tick has to search again."""
    if compute_shortfall(goal, chosen.present) > 0 or view.list_with_other_resources(limits.caps):
        return None
    if goal.has_bounds:
        chosen = choose_best(view, goal.relax(HYSTERESIS), limits)
    if chosen.max_gain >= HYSTERESIS:
        return None
    settings = list_current_settings(view, limits)
    return Rest(
        settings=settings,
        limits=limits,
        goal=goal,
        spare=HYSTERESIS - chosen.max_gain,
        own=_list_own(view),
        remaining_bytes=tuple(chunk.remaining_bytes for chunk in view.active),
        path_mean=view.belief.path.mean,
        path_sd=view.path_sd,
        power_mean=view.belief.power.mean,
    )


def _list_own(view: Forecaster) -> tuple[float, ...]:
    """Return d_k of each chunk; 0 for a chunk that is alone."""
    if len(view.active) == 1:
        return (0.0,)
    known = (view.belief.chunks.get(chunk.basis.kind) for chunk in view.active)
    return tuple(0.0 if own is None else own.mean for own in known)


def _compute_spread(moved: Sequence[float]) -> float:
    return max(moved) - min(moved)


def _compute_log_ratio(value: float | None, bound: float | None) -> float:
    """Return ln(value / bound), −∞ where neither is set: the bounds of a transfer stay of one kind."""
    if value is None or bound is None:
        return -math.inf
    return math.log(value / bound) if value > 0 and bound > 0 else math.inf
