"""Partitions of what can be promised: ranges of targets, each with a setting solved beforehand (001 §IV-A).

Ranges are half-open, [lower, upper), the last one of its key closed. Bounds are in bit/s, J per byte or W by kind. A
partition is a tier that a provider names and prices, so it keeps its identity from one release to the next.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeVar

from tradewind.load_effect import LoadShift
from tradewind.parameters import Parameters
from tradewind.prediction import ROUNDING, PredictedSetting, compute_log_change
from tradewind.sla.kinds import BOUNDED_ABOVE, EnergyBasis, Sla, SlaKind
from tradewind.tiers.selection import compute_target_in_unit
from tradewind.tiers.setting_table import LEVEL_OF, QUANTITY_OF
from tradewind.units import format_bps, format_joules

MOVE_THRESHOLD = 0.02
"""A bound that changes by more than this share of itself moves the tier: its price needs review."""

NEGLIGIBLE = 1e-6
"""A bound below this share of the other one is shown as 0."""


class PartitionKey(NamedTuple):
    """The key of a cluster's partitions; a deadline uses those of throughput_at_least."""

    kind: SlaKind
    confidence: float
    energy_basis: EnergyBasis

    @classmethod
    def of(cls, sla: Sla) -> "PartitionKey":
        kind = SlaKind.THROUGHPUT_AT_LEAST if sla.kind is SlaKind.DEADLINE else sla.kind
        return cls(kind, sla.confidence, sla.energy_basis)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One tier: the targets in [lower, upper) (upper included if ``closed``) and a setting that meets all of them.

    ``probability`` is the setting's at the safe end: the upper edge of a throughput, the lower edge of an energy or
    power. ``regret`` is the demand-weighted loss against solving each target by itself, relative. Kinds without a
    target have one partition, whose bounds are the level that its setting keeps at the confidence.
    """

    kind: SlaKind
    confidence: float
    energy_basis: EnergyBasis
    lower: float
    upper: float
    closed: bool
    setting: PredictedSetting
    probability: float
    regret: float

    @property
    def parameters(self) -> Parameters:
        return self.setting.parameters

    @property
    def key(self) -> PartitionKey:
        return PartitionKey(self.kind, self.confidence, self.energy_basis)

    def apply_shift(self, shift: LoadShift) -> "Partition | None":
        """Return the partition under another load, as if it had been solved there.

        On logarithms all settings shift equally: their order, their probabilities and the boundaries between them stay.
        Dynamic energy is linear, so its partitions must be solved again: ``None``.
        """
        if self.energy_basis is EnergyBasis.DYNAMIC and self.kind is not SlaKind.MAX_THROUGHPUT:
            return None
        factor = math.exp(compute_log_change(QUANTITY_OF.get(self.kind) or LEVEL_OF[self.kind], shift))
        return replace(
            self, lower=self.lower * factor, upper=self.upper * factor, setting=self.setting.apply_shift(shift)
        )

    def __contains__(self, target: float) -> bool:
        return self.lower <= target < self.upper or (self.closed and target == self.upper)


class TierRange(Protocol):
    """What the name of a tier is made of; `Partition` has more."""

    @property
    def kind(self) -> SlaKind: ...
    @property
    def confidence(self) -> float: ...
    @property
    def energy_basis(self) -> EnergyBasis: ...
    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...


def format_tier_name(partition: TierRange) -> str:
    """Return the name of a partition until its provider names it, such as ``40 Mbit/s to 80 Mbit/s at 90 %``."""
    at = f"at {partition.confidence:.0%}" + (" dynamic" if partition.energy_basis is EnergyBasis.DYNAMIC else "")
    write = _WRITTEN.get(partition.kind)
    if write is None:
        return f"{partition.kind.replace('_', ' ')} {at}"
    lower, upper = partition.lower, partition.upper
    if abs(lower) < NEGLIGIBLE * abs(upper):  # energy above the base power, but for rounding
        lower = 0.0
    return f"{write(lower)} to {write(upper)} {at}"


_WRITTEN: Mapping[SlaKind, Callable[[float], str]] = MappingProxyType(
    {
        SlaKind.THROUGHPUT_AT_LEAST: format_bps,
        SlaKind.ENERGY_AT_MOST: lambda j_a_byte: f"{format_joules(1e9 * j_a_byte)}/GB",
        SlaKind.POWER_AT_MOST: lambda power_w: f"{power_w:.3g} W",
    }
)


class Bounds(Protocol):
    """A half-open range of targets. Services pass stored tiers that are no `Partition`."""

    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...


_lower, _upper = attrgetter("lower"), attrgetter("upper")

BoundedT = TypeVar("BoundedT", bound=Bounds)


def find_serving_partition(partitions: Sequence[BoundedT], sla: Sla, *, dataset_bytes: float) -> BoundedT | None:
    """Return the partition that serves an SLA, or ``None`` where its target cannot be certified.

    Parameters
    ----------
    partitions : all of the key of ``sla`` (`PartitionKey.of`), ascending; anything that has their bounds.
    dataset_bytes : of what is to be served.

    A target easier than the entire range goes to the easiest partition, which keeps it all the more.
    """
    if not partitions:
        return None
    last = partitions[-1]
    target = compute_target_in_unit(sla, dataset_bytes=dataset_bytes, certifiable_bps=last.upper)
    if target is None:
        return last
    if sla.kind in BOUNDED_ABOVE:
        lowest = partitions[0].lower
        if target < lowest - ROUNDING * abs(lowest):
            return None
        return partitions[max(bisect_right(partitions, target, key=_lower) - 1, 0)]
    if target > last.upper * (1 + ROUNDING):
        return None
    return partitions[min(bisect_right(partitions, target, key=_upper), len(partitions) - 1)]


@dataclass(frozen=True, slots=True)
class Match:
    """A new partition, and the old one whose identity and price it carries on, if any.

    ``split_from`` : where it carries on none, the old partition that most of it is cut out of, whose price it inherits.
    """

    new: Partition
    old: Partition | None
    split_from: Partition | None = None


def match_partitions(old: Iterable[Partition], new: Iterable[Partition]) -> tuple[Match, ...]:
    """Match each new partition with the one of the previous release that it continues, one to one.

    The largest overlap (shared length over joint length) is matched first. A key's only partition always continues the
    only one before. Old partitions that nothing continues are absent from the result; a new one without predecessor
    has ``old`` set to ``None``.
    """
    predecessors, successors = tuple(old), tuple(new)
    before_of_key, after_of_key = (Counter(partition.key for partition in side) for side in (predecessors, successors))
    pairs: list[tuple[float, int, int]] = []
    for a, before in enumerate(predecessors):
        for b, after in enumerate(successors):
            if before.key != after.key:
                continue
            alone = before_of_key[before.key] == after_of_key[after.key] == 1
            overlap = 1.0 if alone else _compute_overlap(before, after)
            if overlap > 0:
                pairs.append((-overlap, b, a))
    continued: dict[int, int] = {}
    taken: set[int] = set()
    for _, b, a in sorted(pairs):
        if b not in continued and a not in taken:
            continued[b] = a
            taken.add(a)
    return tuple(
        Match(after, predecessors[continued[b]])
        if b in continued
        else Match(after, None, split_from=_find_split_source(predecessors, after))
        for b, after in enumerate(successors)
    )


def _find_split_source(before: Iterable[Partition], part: Partition) -> Partition | None:
    """Return the old partition that shares most with ``part``; ``None`` where most of it was not promised before."""
    of_key = [partition for partition in before if partition.key == part.key]
    shared = [compute_shared_length(partition, part) for partition in of_key]
    if not of_key or sum(shared) < (part.upper - part.lower) / 2 or max(shared) <= 0:
        return None
    return of_key[shared.index(max(shared))]


def has_moved(before: Bounds, after: Bounds) -> bool:
    """Return whether a bound differs by more than `MOVE_THRESHOLD`."""
    edges = ((before.lower, after.lower), (before.upper, after.upper))
    return any(abs(one - other) > MOVE_THRESHOLD * abs(one) for one, other in edges)


def _compute_overlap(before: Partition, after: Partition) -> float:
    """Return the shared length over the joint length."""
    joint = max(before.upper, after.upper) - min(before.lower, after.lower)
    shared = compute_shared_length(before, after)
    return shared / joint if shared > 0 else 0.0


def compute_shared_length(one: Bounds, other: Bounds) -> float:
    """Return the length of the targets that lie in both ranges."""
    return max(min(one.upper, other.upper) - max(one.lower, other.lower), 0.0)
