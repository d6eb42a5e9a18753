"""Solve one SLA on a small table of predicted settings, without numpy, so that an API or an agent on its own can.

minimise    energy of a byte E (throughput_at_least, deadline, min_energy), E / T (energy_efficiency) or −T (all others)
subject to  mean − z(c) · sd ≥ merit of the target (see `tradewind.prediction`), certified, within the caps

Energy efficiency is throughput a joule, T / E: a setting may take more energy if it is faster by a larger share. An
SLA without a target has no constraint: its settings are ranked by their medians, and the fastest of those about as
good as the best is chosen (`SIMILAR_ENERGY`). Where power was not metered, streams count as the cost of a throughput:
the fewest that meet the target are chosen.
(GreenDataFlow, eqs 1 and 2; T / E is that of the HTTP-services paper, §4.3; the chance constraint and the power SLA
are ours.)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tradewind.parameters import NO_CAPS, Caps
from tradewind.prediction import (
    ROUNDING,
    Gaussian,
    PredictedSetting,
    compute_merit,
    compute_probability,
    compute_z,
    is_linear,
    subtract_rounding,
)
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tiers.setting_table import QUANTITY_OF, SettingTable
from tradewind.units import BITS_PER_BYTE

HOPELESS_SCORE = -4.75
"""Standard score of one chance in a million, less than any model of a few hundred transfers knows of its tails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The setting chosen for one SLA.

    ``probability`` is that of meeting the target; for a kind without target it is the confidence at which the
    setting's own level can be promised. ``feasible`` is false where no permitted setting is certified for the target:
    then the setting is the likeliest one, and the caller says so.
    """

    setting: PredictedSetting
    probability: float
    feasible: bool


def compute_target_in_unit(sla: Sla, *, dataset_bytes: float, certifiable_bps: float | None) -> float | None:
    """Return the SLA's target in the unit of its quantity: bit/s, J per byte or W; ``None`` where it has none.

    A deadline becomes the throughput that keeps it, a fraction that share of ``certifiable_bps``, the highest
    certifiable throughput without caps (0 if nothing is certified: then any setting keeps it, none is promised).
    """
    if sla.fraction is not None:
        return sla.fraction * (certifiable_bps or 0.0)
    return None if sla.target is None else convert_target(sla.target, sla.kind, dataset_bytes)


def convert_target(target: float, kind: SlaKind, dataset_bytes: float) -> float:
    """Convert a target for a data set to the unit of its quantity: bit/s, J per byte or W."""
    if kind is SlaKind.DEADLINE:
        return BITS_PER_BYTE * dataset_bytes / target
    if kind is SlaKind.ENERGY_AT_MOST:
        return target / max(dataset_bytes, 1.0)
    return target


def choose_setting(table: SettingTable, sla: Sla, caps: Caps = NO_CAPS, *, dataset_bytes: float) -> Choice | None:
    """Return the best setting of a table for one SLA among those within the caps.

    Returns
    -------
    ``None`` if the caps permit no setting of the table; a clamped optimum is none, so the caller must say what it does.

    Raises
    ------
    InvalidValue : an energy or power SLA, or the dynamic basis, without the power it needs.
    """
    settings, objective = table.settings, table.choose_objective(sla.kind)
    order: Sequence[int] = table.order_by_cost(objective, sla.energy_basis)
    promised = order[: table.certified_count]
    if caps != NO_CAPS:
        order, promised = ([i for i in each if caps.allow(settings[i].parameters)] for each in (order, promised))
    if not order:
        return None
    quantity = QUANTITY_OF.get(sla.kind)
    certifiable_bps = table.find_certifiable_throughput_bps(sla.confidence) if sla.fraction is not None else None
    target = compute_target_in_unit(sla, dataset_bytes=dataset_bytes, certifiable_bps=certifiable_bps)
    if quantity is None or not target:  # without one, no bytes to move by the deadline, or a share of nothing
        first = settings[table.choose_without_target(order, sla.kind, sla.energy_basis)]
        return Choice(setting=first, probability=sla.confidence, feasible=first.certified)
    needed = subtract_rounding(
        compute_merit(target, quantity, sla.energy_basis), linear=is_linear(quantity, sla.energy_basis)
    )
    merits = table.compute_merits(quantity, sla.energy_basis)
    if sla.fraction is None and caps == NO_CAPS:
        cheapest = table.find_stairs(quantity, objective, sla.energy_basis, sla.confidence).find_cheapest(needed)
    else:
        if sla.fraction is not None:
            promised = _prefer_expected_fraction(settings, promised, sla.fraction)
        z = compute_z(sla.confidence)
        cheapest = next((i for i in promised if merits[i].lower(z) >= needed), None)
    if cheapest is not None:
        probability = compute_probability(merits[cheapest], needed)
        return Choice(setting=settings[cheapest], probability=probability, feasible=True)
    contenders = table.find_contenders(quantity, sla.energy_basis) if caps == NO_CAPS else promised or order
    i = _find_likeliest(contenders, merits, needed)
    return Choice(setting=settings[i], probability=compute_probability(merits[i], needed), feasible=False)


def _prefer_expected_fraction(
    settings: Sequence[PredictedSetting], certified: Sequence[int], fraction: float
) -> list[int]:
    """Return the certified settings with those first that are expected to reach the fraction of the fastest one.

    By bounds alone, steady settings far below fast ones that vary would serve. The others follow, the fastest first.
    """
    fastest = max((settings[i].log_throughput_mean for i in certified), default=-math.inf)
    needed = fastest + math.log(fraction) - ROUNDING
    expected = [i for i in certified if settings[i].log_throughput_mean >= needed]
    others = [i for i in certified if settings[i].log_throughput_mean < needed]
    return expected + sorted(others, key=lambda i: -settings[i].log_throughput_mean)


def _find_likeliest(candidates: Sequence[int], merits: Sequence[Gaussian], needed: float) -> int:
    """Return the candidate whose merit most probably reaches ``needed``, by the standard score, so that tails still
    rank.

    Where all scores are hopeless, the one of the best mean: so far out the widest spread would win, whatever it is of.
    """
    likeliest, best = candidates[0], -math.inf
    for i in candidates:
        mean, sd = merits[i]
        score = (mean - needed) / sd if sd > 0 else math.copysign(math.inf, mean - needed)
        if score > best:
            likeliest, best = i, score
    return likeliest if best > HOPELESS_SCORE else max(candidates, key=lambda i: merits[i].mean)
