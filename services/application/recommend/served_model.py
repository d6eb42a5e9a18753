"""The model of a link, ready to answer: partitions solved in advance, tables, and both under another load."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from services.application.models.learned_model import StoredModel, Tier
from services.application.recommend.chunks import Solution
from tradewind.cluster import Leaf, compute_load_share, find_nearest_leaf
from tradewind.dataset import LARGE_BDPS, DataSet
from tradewind.load_effect import NO_SHIFT, LoadEffect, LoadShift
from tradewind.model import LeafModel
from tradewind.path import Path
from tradewind.prediction import predict
from tradewind.recommendation import CompactTable
from tradewind.tiers.partitions import Partition, PartitionKey, format_tier_name
from tradewind.tiers.setting_table import SettingTable
from tradewind.units import BITS_PER_BYTE, MIB
from tradewind.unknown_path.borrowing import LendableSettings
from tradewind.wire.recommendations import serialize_table

DECIMALS = 2
"""Decimals of a load that count, so that one leaf under a load serves all loads that are nearly the same."""

LEAST_LONG_BYTES = 16 * MIB
"""No shorter file counts as long, however short the path: opening it takes time, too. A judgement."""


class LoadOrigin(StrEnum):
    """Where the load is known from, best first, in the words of the rationale."""

    REQUESTED = "as asked"
    LAST_KNOWN = "last known"
    MEDIAN = "median"


@dataclass(frozen=True, slots=True)
class AssumedLoad:
    """The external load that an answer assumes: ``share`` of the path taken by others, 0 … 1, in hundredths."""

    share: float
    origin: LoadOrigin

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", round(self.share, DECIMALS))

    def describe(self, effects: Iterable[LoadEffect | None]) -> str:
        """Return the load as text, with a reservation where the logs of the leaves do not cover it."""
        reservation = ""
        for effect in effects:
            if effect is None:
                if self.origin is LoadOrigin.REQUESTED:
                    reservation = "; its effect is in no log"
            elif self.share > round(effect.loads[-1], DECIMALS):
                reservation = f"; no log saw more than {effect.loads[-1]:.{DECIMALS}f}"
        return f"load {self.share:.{DECIMALS}f} ({self.origin}{reservation})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPartition(Solution):
    """A partition as the solution for all its targets, with the identity of its tier, which providers price."""

    lower: float
    upper: float

    @classmethod
    def of(cls, partition: Partition, tier: Tier, base_power_w: float | None) -> "ServedPartition":
        return cls(
            lower=partition.lower,
            upper=partition.upper,
            setting=partition.setting,
            probability=partition.probability,
            per_byte=predict(
                partition.setting, dataset_bytes=1.0, basis=partition.energy_basis, base_power_w=base_power_w
            ),
            base_power_w=base_power_w,
            feasible=True,
            tier_id=tier.id,
            tier=format_tier_name(partition),
        )


@dataclass(frozen=True, eq=False)
class ServedLeaf:
    """A leaf ready to answer under one load, its median unless shifted; each part is computed once, when first used.

    ``compact`` : the compact table at the median load. ``usual`` : the leaf at its median, as its provider sees it;
    ``None`` for that leaf itself. ``ceiling_bps`` : what the path carries. ``is_limited`` : the user permits less, so
    that no partition solved in advance holds.
    """

    model: LeafModel
    tiers: tuple[Tier, ...]
    compact: CompactTable
    shift: LoadShift = NO_SHIFT
    usual: "ServedLeaf | None" = None
    ceiling_bps: float = math.inf
    is_limited: bool = False
    _by_key: dict[PartitionKey, tuple[ServedPartition, ...]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, model: LeafModel, tiers: Iterable[Tier], bandwidth_bps: float | None = None) -> "ServedLeaf":
        return cls(model, tuple(tiers), model.build_compact_table(), ceiling_bps=bandwidth_bps or math.inf)

    def apply_load(self, load: float) -> "ServedLeaf":
        """Return the leaf under a load 0 … 1; the leaf itself where the logs do not show an effect of load."""
        if self.model.load_effect is None:
            return self
        return replace(self, shift=self.model.compute_shift(load), usual=self.usual or self)

    def limit_rate(self, rate_bps: float | None) -> "ServedLeaf":
        """Return the leaf limited to a rate; the leaf itself where the path carries no more than that anyway."""
        if rate_bps is None or rate_bps >= self.ceiling_bps:
            return self
        return replace(self, ceiling_bps=rate_bps, is_limited=True, usual=self.usual or self)

    @cached_property
    def promised(self) -> SettingTable:
        """All settings of the lattice under this load, as tiers promise them: by the logs alone."""
        return self.model.table if self.shift == NO_SHIFT else self.model.table.apply_shift(self.shift)

    @cached_property
    def table(self) -> SettingTable:
        """All settings of the lattice under this load and ceiling."""
        return self.promised.limit_throughputs(self.ceiling_bps)

    def find_certifiable_bps(self, ceiling_bps: float, confidence: float) -> float | None:
        """Return the highest throughput, bit/s, that a setting reaches with this probability below a ceiling.

        ``None`` where nothing is certified, or where neither this ceiling nor the leaf's own cuts anything off.
        """
        if self.fastest_log + self.shift.log_throughput <= math.log(min(ceiling_bps, self.ceiling_bps)):
            return None
        table = self.table if ceiling_bps >= self.ceiling_bps else self.table.limit_throughputs(ceiling_bps)
        return table.find_certifiable_throughput_bps(confidence)

    @cached_property
    def table_json(self) -> bytes:
        """The compact table as JSON for the answer."""
        shifted = replace(self.compact, predicted=self.compact.predicted.apply_shift(self.shift))
        return serialize_table(shifted.limit_throughputs(self.ceiling_bps))

    @cached_property
    def lendable(self) -> LendableSettings:
        """Settings to try on an unknown path near this one."""
        return LendableSettings.of(self.model, self.compact)

    @cached_property
    def fastest_log(self) -> float:
        """Log throughput of the fastest setting at the median load."""
        return max(setting.log_throughput_mean for setting in self.model.table.settings)

    def find_partitions(self, key: PartitionKey) -> tuple[ServedPartition, ...]:
        """Return the partitions solved in advance for a key, ascending; none where the SLA has to be solved now."""
        known = self._by_key.get(key)
        if known is None:
            known = self._by_key[key] = tuple(sorted(self._shift_partitions(key), key=lambda served: served.lower))
        return known

    def _shift_partitions(self, key: PartitionKey) -> Iterator[ServedPartition]:
        for partition, tier in zip(self.model.partitions, self.tiers, strict=True):
            if partition.key == key and not self.is_limited:
                here = partition if self.shift == NO_SHIFT else partition.apply_shift(self.shift)
                if here is not None:
                    yield ServedPartition.of(here, tier, self.model.table.base_power_w)


@dataclass(frozen=True)
class ServedModel:
    """The model of one link, ready to answer."""

    path: Path
    load_median: float
    leaves: tuple[ServedLeaf, ...]
    unknown_bps: float | None = None
    _fastest_bps: dict[float, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, stored: StoredModel) -> "ServedModel":
        leaves = tuple(ServedLeaf.of(leaf.model, leaf.tiers, stored.path.bandwidth_bps) for leaf in stored.leaves)
        return cls(stored.path, stored.load_median, leaves, stored.unknown_bps)

    def find_nearest(self, dataset: DataSet, load: float) -> tuple[ServedLeaf, float]:
        """Return the leaf nearest to a data set under this load, and its distance in doublings.

        Files longer than `_longest_bytes` count as that long.
        """
        position, distance = find_nearest_leaf(
            self._centres,
            mean_file_bytes=min(dataset.mean_file_bytes, self._longest_bytes),
            file_count=dataset.file_count,
            load=load,
        )
        return self.leaves[position], distance

    def find_fastest_bps(self, load: AssumedLoad) -> float:
        """Return the throughput of the fastest setting of any leaf under a load, bit/s."""
        known = self._fastest_bps.get(load.share)  # there are no more than a hundred loads
        if known is None:
            fastest = max(
                leaf.fastest_log + leaf.model.compute_shift(load.share).log_throughput for leaf in self.leaves
            )
            known = self._fastest_bps[load.share] = math.exp(fastest)
        return known

    def assume_load(self, requested: float | None) -> AssumedLoad:
        """Return the load to answer for: the requested one, else the last known of the link, else its median."""
        return self._usual_load if requested is None else AssumedLoad(requested, LoadOrigin.REQUESTED)

    @cached_property
    def _usual_load(self) -> AssumedLoad:
        bandwidth_bps = self.path.bandwidth_bps  # the full pipe, by the same measure as the loads in the logs
        if self.unknown_bps is None or bandwidth_bps is None:
            return AssumedLoad(self.load_median, LoadOrigin.MEDIAN)
        share = compute_load_share(known_bps=0.0, unknown_bps=self.unknown_bps, bandwidth_bps=bandwidth_bps)
        return AssumedLoad(share, LoadOrigin.LAST_KNOWN)

    @cached_property
    def _longest_bytes(self) -> float:
        """File size from which on a longer file makes no difference: that of large chunks, or of the largest leaf.

        Where the bandwidth is unknown the fastest setting replaces it; without a known RTT every size matters.
        """
        if self.path.rtt_s is None:
            return math.inf
        largest: float = 2.0 ** max((leaf.log2_mean_file_bytes for leaf in self._centres), default=0.0)
        fastest_bps = math.exp(max((leaf.fastest_log for leaf in self.leaves), default=0.0))
        bdp_bytes = max(self.path.bdp_bytes or 0.0, fastest_bps * self.path.rtt_s / BITS_PER_BYTE)
        return max(largest, LARGE_BDPS * bdp_bytes, LEAST_LONG_BYTES)

    @cached_property
    def _centres(self) -> tuple[Leaf, ...]:
        return tuple(served.model.leaf for served in self.leaves)
