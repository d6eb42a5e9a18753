"""A small table of predicted settings, with what solving SLAs on it takes, computed when it is first needed.

It needs no numpy, so that an API or an agent on its own can solve SLAs.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import takewhile
from types import MappingProxyType
from typing import NamedTuple

from tradewind.load_effect import LoadShift
from tradewind.prediction import Gaussian, PredictedSetting, Quantity, compute_z, is_linear, predict_merit
from tradewind.sla.kinds import AS_FAST_AS_PERMITTED, EnergyBasis, SlaKind

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


class Stairs(NamedTuple):
    """The cheapest certified setting for each merit, as an index; bounds and costs rise."""

    bounds: tuple[float, ...]
    settings: tuple[int, ...]

    def find_cheapest(self, needed: float) -> int | None:
        """Return the setting that keeps a merit for least; ``None`` where none keeps it."""
        step = bisect_left(self.bounds, needed)
        return self.settings[step] if step < len(self.settings) else None


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
    _stairs: dict[tuple[Quantity, Objective, EnergyBasis, float], Stairs] = field(
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

    def find_stairs(self, quantity: Quantity, objective: Objective, basis: EnergyBasis, confidence: float) -> Stairs:
        """Return the cheapest setting for each merit that is kept with this probability, among certified settings."""
        key = (quantity, objective, basis, confidence)
        known = self._stairs.get(key)
        if known is None:
            z, merits = compute_z(confidence), self.compute_merits(quantity, basis)
            bounds: list[float] = []
            settings: list[int] = []
            for i in self.order_by_cost(objective, basis)[: self.certified_count]:
                bound = merits[i].lower(z)
                if not bounds or bound > bounds[-1]:
                    bounds.append(bound)
                    settings.append(i)
            known = self._stairs[key] = Stairs(tuple(bounds), tuple(settings))
        return known

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
