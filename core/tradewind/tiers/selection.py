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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import takewhile
from types import MappingProxyType

from tradewind.load_effect import LoadShift
from tradewind.parameters import NO_CAPS, Caps
from tradewind.prediction import (
    ROUNDING,
    Gaussian,
    PredictedSetting,
    Quantity,
    compute_merit,
    compute_probability,
    compute_z,
    is_linear,
    predict_merit,
    subtract_rounding,
)
from tradewind.sla.kinds import AS_FAST_AS_PERMITTED, EnergyBasis, Sla, SlaKind
from tradewind.units import BITS_PER_BYTE

LEVEL_OF: Mapping[SlaKind, Quantity] = MappingProxyType(
    {
        SlaKind.MAX_THROUGHPUT: Quantity.THROUGHPUT,
        SlaKind.MIN_ENERGY: Quantity.ENERGY,
        SlaKind.ENERGY_EFFICIENCY: Quantity.ENERGY,
    }
)
"""The quantity whose certified level describes a kind without a target."""

QUANTITY_OF: Mapping[SlaKind, Quantity] = MappingProxyType(
    {
        SlaKind.THROUGHPUT_AT_LEAST: Quantity.THROUGHPUT,
        SlaKind.DEADLINE: Quantity.THROUGHPUT,
        SlaKind.ENERGY_AT_MOST: Quantity.ENERGY,
        SlaKind.POWER_AT_MOST: Quantity.POWER,
    }
)
"""The quantity that each kind with a target bounds; the other kinds have none."""


HOPELESS_SCORE = -4.75
"""Standard score of one chance in a million, less than any model of a few hundred transfers knows of its tails."""

SIMILAR_ENERGY = 0.05
"""Settings within this share of the least energy count as equal: intervals of the models are several times as wide.

Choosing the fastest of them loses little energy at worst, and no throughput.
"""


class Objective(StrEnum):
    """What is minimised once the target is met."""

    SLOWNESS = "slowness"
    """−ln T."""
    ENERGY = "energy"
    """−merit of energy: ln E, or E on the dynamic basis."""
    EFFICIENCY = "efficiency"
    """ln E − ln T, or E / T on the dynamic basis: the reciprocal of throughput a joule."""
    STREAMS = "streams"
    """ln of cc · p."""


@dataclass(frozen=True)
class SettingTable:
    """Predicted settings of one cluster (or chunk of it), with the base power of its metered hosts together.

    Merits and orders are computed when they are first needed, and cached.
    """

    settings: tuple[PredictedSetting, ...]
    base_power_w: float | None = None
    _merits: dict[tuple[Quantity, EnergyBasis], tuple[Gaussian, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _orders: dict[tuple[Objective, EnergyBasis], tuple[int, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _bounds: dict[tuple[Quantity, EnergyBasis, float], float] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _contenders: dict[tuple[Quantity, EnergyBasis], tuple[int, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def knows_power(self) -> bool:
        return all(setting.log_power_mean is not None for setting in self.settings)

    @cached_property
    def certified_count(self) -> int:
        return sum(setting.certified for setting in self.settings)

    def compute_merits(self, quantity: Quantity, basis: EnergyBasis) -> tuple[Gaussian, ...]:
        """Return the merit of each setting, in the order of ``settings``."""
        known = self._merits.get((quantity, basis))
        if known is None:
            known = tuple(predict_merit(setting, quantity, basis, self.base_power_w) for setting in self.settings)
            self._merits[quantity, basis] = known
        return known

    def limit_to_base_power(self, shift: LoadShift) -> LoadShift:
        """Return the shift, limited so that every certified setting keeps at least the base power.

        Energy then keeps its floor, base power · 8 · bytes / T, and all settings still shift equally.
        """
        powers = [
            setting.log_power_mean
            for setting in self.settings
            if setting.certified and setting.log_power_mean is not None
        ]
        if shift.log_power >= 0 or not self.base_power_w or not powers:
            return shift
        room = min(powers) - math.log(self.base_power_w)
        return shift._replace(log_power=max(shift.log_power, -max(room, 0.0)))

    def apply_shift(self, shift: LoadShift) -> "SettingTable":
        """Return the table under another load."""
        return SettingTable(tuple(setting.apply_shift(shift) for setting in self.settings), self.base_power_w)

    def limit_throughputs(self, ceiling_bps: float) -> "SettingTable":
        """Return the table with all throughputs cut to this ceiling; itself where no setting exceeds it.

        Spreads stay: a setting that only fills a pipe is promised for less than the pipe.
        """
        highest = math.log(ceiling_bps)
        if all(setting.log_throughput_mean <= highest for setting in self.settings):
            return self
        cut = (
            replace(setting, log_throughput_mean=min(setting.log_throughput_mean, highest)) for setting in self.settings
        )
        return SettingTable(tuple(cut), self.base_power_w)

    def choose_objective(self, kind: SlaKind) -> Objective:
        if kind in AS_FAST_AS_PERMITTED:
            return Objective.SLOWNESS
        if QUANTITY_OF.get(kind) is Quantity.THROUGHPUT and not self.knows_power:
            return Objective.STREAMS
        return Objective.EFFICIENCY if kind is SlaKind.ENERGY_EFFICIENCY else Objective.ENERGY

    def compute_costs(self, objective: Objective, basis: EnergyBasis) -> tuple[float, ...]:
        """Return what is minimised, one value a setting."""
        if objective is Objective.SLOWNESS:
            return tuple(-setting.log_throughput_mean for setting in self.settings)
        if objective is Objective.STREAMS:
            return tuple(math.log(setting.parameters.streams) for setting in self.settings)
        energies = [-energy.mean for energy in self.compute_merits(Quantity.ENERGY, basis)]
        if objective is Objective.ENERGY:
            return tuple(energies)
        pairs = zip(energies, (setting.log_throughput_mean for setting in self.settings), strict=True)
        linear = is_linear(Quantity.ENERGY, basis)
        return tuple(energy * math.exp(-rate) if linear else energy - rate for energy, rate in pairs)

    def order_by_cost(self, objective: Objective, basis: EnergyBasis) -> tuple[int, ...]:
        """Return the indices by rising cost, certified settings before all others; ties go to fewer streams, then to
        speed.
        """
        order = self._orders.get((objective, basis))
        if order is None:
            costs = self.compute_costs(objective, basis)
            settings = self.settings

            def rank(i: int) -> tuple[bool, float, int, float, int]:
                one = settings[i]
                return (not one.certified, costs[i], one.parameters.streams, -one.log_throughput_mean, i)

            order = self._orders[objective, basis] = tuple(sorted(range(len(settings)), key=rank))
        return order

    def choose_without_target(self, order: Sequence[int], kind: SlaKind, basis: EnergyBasis) -> int:
        """Return the setting that serves an SLA without a target, of indices ordered by `order_by_cost`.

        It is the first one; where energy counts, it is the fastest of those with a similar cost and the same
        certification.
        """
        first, objective = order[0], self.choose_objective(kind)
        if objective not in (Objective.ENERGY, Objective.EFFICIENCY):
            return first
        settings, costs = self.settings, self.compute_costs(objective, basis)
        least = costs[first]
        slack = SIMILAR_ENERGY * max(least, 0.0) if is_linear(Quantity.ENERGY, basis) else math.log1p(SIMILAR_ENERGY)
        similar = takewhile(
            lambda i: costs[i] <= least + slack and settings[i].certified == settings[first].certified, order
        )
        return min(similar, key=lambda i: (-settings[i].log_throughput_mean, settings[i].parameters.streams))

    def find_certifiable_merit(self, quantity: Quantity, basis: EnergyBasis, confidence: float) -> float:
        """Return the highest merit that some setting meets with this probability; −∞ if none is certified."""
        known = self._bounds.get((quantity, basis, confidence))
        if known is None:
            z = compute_z(confidence)
            merits = zip(self.compute_merits(quantity, basis), self.settings, strict=True)
            known = max((own.lower(z) for own, setting in merits if setting.certified), default=-math.inf)
            self._bounds[quantity, basis, confidence] = known
        return known

    def find_contenders(self, quantity: Quantity, basis: EnergyBasis) -> tuple[int, ...]:
        """Return the indices of settings that are the likeliest to reach some merit: certified ones if there are
        any.
        """
        known = self._contenders.get((quantity, basis))
        if known is None:
            certified = [i for i, setting in enumerate(self.settings) if setting.certified]
            known = _find_likeliest_somewhere(
                certified or range(len(self.settings)), self.compute_merits(quantity, basis)
            )
            self._contenders[quantity, basis] = known
        return known

    def find_certifiable_throughput_bps(self, confidence: float) -> float | None:
        """Return the highest throughput that some setting meets with this probability; ``None`` if none is
        certified.
        """
        best = self.find_certifiable_merit(Quantity.THROUGHPUT, EnergyBasis.TOTAL, confidence)
        return None if best == -math.inf else math.exp(best)


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
    settings = table.settings
    order: Sequence[int] = table.order_by_cost(table.choose_objective(sla.kind), sla.energy_basis)
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
    if sla.fraction is not None:
        promised = _prefer_expected_fraction(settings, promised, sla.fraction)
    if table.find_certifiable_merit(quantity, sla.energy_basis, sla.confidence) >= needed:
        z = compute_z(sla.confidence)
        for i in promised:
            if merits[i].lower(z) >= needed:
                return Choice(setting=settings[i], probability=compute_probability(merits[i], needed), feasible=True)
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


def _find_likeliest_somewhere(candidates: Iterable[int], merits: Sequence[Gaussian]) -> tuple[int, ...]:
    """Find the few candidates of a table that no others surpass at every merit.

    They are the upper envelope of the candidates' standard scores, which are lines. Ascending in spread: the
    narrowest is the likeliest to reach little, the widest to reach much.
    """
    envelope: list[int] = []
    for i in sorted(candidates, key=lambda i: (merits[i].sd, merits[i].mean)):
        if envelope and merits[envelope[-1]].sd == merits[i].sd:
            envelope.pop()
        while len(envelope) > 1:
            before, last = merits[envelope[-2]], merits[envelope[-1]]
            if _compute_crossing(last, merits[i]) > _compute_crossing(before, last):
                break
            envelope.pop()  # overtaken before it overtakes
        envelope.append(i)
    return tuple(envelope)


def _compute_crossing(narrow: Gaussian, wide: Gaussian) -> float:
    """Return the merit above which the wider of two is the likelier to be reached."""
    return (narrow.mean * wide.sd - wide.mean * narrow.sd) / (wide.sd - narrow.sd)
