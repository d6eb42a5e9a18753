"""The model of a link as the API holds it: what was solved beforehand, its tables, and both under another load."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from services.application.models.learned_model import StoredModel, Tier
from services.application.recommend.assumed_load import AssumedLoad, LoadOrigin
from services.application.recommend.chunk_choice import Solution
from tradewind.cluster import Leaf, load_share, nearest_leaf
from tradewind.dataset import LARGE_BDPS, DataSet
from tradewind.load_effect import NO_SHIFT, LoadShift
from tradewind.model import LeafModel
from tradewind.path import Path
from tradewind.prediction import predict
from tradewind.recommendation import CompactTable
from tradewind.tiers.partitions import Partition, PartitionKey, tier_name
from tradewind.tiers.selection import SettingTable
from tradewind.units import BITS_PER_BYTE, MIB
from tradewind.unknown_path.borrowing import Lendable
from tradewind.wire.recommendations import table_json

LEAST_LONG_BYTES = 16 * MIB
"""No shorter file is a long one, however short the path: opening it and its disk cost time, too. A judgement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPartition(Solution):
    """A partition as the solution of all its targets, with the identity of its tier, which providers price."""

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
            tier=tier_name(partition),
        )


@dataclass(frozen=True, eq=False)
class ServedLeaf:
    """A leaf ready to answer under one load, its median unless shifted; what is asked for is made once and kept.

    ``compact`` is the compact table at the median; ``usual`` is the leaf at its median, as its provider sees it,
    ``None`` for that leaf itself. ``ceiling_bps`` is what the path carries; ``is_limited`` where a user permits less:
    nothing solved beforehand holds then.
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
        return cls(model, tuple(tiers), model.compact(), ceiling_bps=bandwidth_bps or math.inf)

    def under_load(self, load: float) -> "ServedLeaf":
        """The leaf under a load 0 … 1; itself where no log tells what load does to it."""
        if self.model.load_effect is None:
            return self
        return replace(self, shift=self.model.shift(load), usual=self.usual or self)

    def limited_to(self, rate_bps: float | None) -> "ServedLeaf":
        """The leaf for a user who permits no more than this rate; itself where it is above what the path carries."""
        if rate_bps is None or rate_bps >= self.ceiling_bps:
            return self
        return replace(self, ceiling_bps=rate_bps, is_limited=True, usual=self.usual or self)

    @cached_property
    def table(self) -> SettingTable:
        """All settings of the lattice."""
        table = self.model.table if self.shift == NO_SHIFT else self.model.table.under(self.shift)
        return table.below(self.ceiling_bps)

    def certifiable_below_bps(self, ceiling_bps: float, confidence: float) -> float | None:
        """The highest throughput that a setting keeps with this probability where no more than a ceiling is carried.

        ``None`` where nothing is certified, or where neither this ceiling nor the leaf's own takes anything away.
        """
        if self.fastest_log + self.shift.log_throughput <= math.log(min(ceiling_bps, self.ceiling_bps)):
            return None
        table = self.table if ceiling_bps >= self.ceiling_bps else self.table.below(ceiling_bps)
        return table.certifiable_throughput_bps(confidence)

    @cached_property
    def table_json(self) -> bytes:
        """The compact table as it goes out."""
        shifted = replace(self.compact, predicted=self.compact.predicted.under(self.shift))
        return table_json(shifted.below(self.ceiling_bps))

    @cached_property
    def lendable(self) -> Lendable:
        """Settings to try on an unseen path near by."""
        return Lendable.of(self.model, self.compact)

    @cached_property
    def fastest_log(self) -> float:
        """Log throughput of the fastest setting at the median load."""
        return max(each.log_throughput_mean for each in self.model.table.settings)

    def partitions(self, key: PartitionKey) -> tuple[ServedPartition, ...]:
        """What was solved beforehand for a key, ascending; empty where it has to be solved anew."""
        known = self._by_key.get(key)
        if known is None:
            known = self._by_key[key] = tuple(sorted(self._shifted(key), key=lambda served: served.lower))
        return known

    def _shifted(self, key: PartitionKey) -> Iterator[ServedPartition]:
        for partition, tier in zip(self.model.partitions, self.tiers, strict=True):
            if partition.key == key and not self.is_limited:
                here = partition if self.shift == NO_SHIFT else partition.under(self.shift)
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
        leaves = tuple(ServedLeaf.of(each.model, each.tiers, stored.path.bandwidth_bps) for each in stored.leaves)
        return cls(stored.path, stored.load_median, leaves, stored.unknown_bps)

    def nearest(self, dataset: DataSet, load: float) -> tuple[ServedLeaf, float]:
        """The leaf for a data set under this load, and how many doublings it is away.

        Files beyond `_longest_bytes` are all alike.
        """
        position, octaves = nearest_leaf(
            self._centres,
            mean_file_bytes=min(dataset.mean_file_bytes, self._longest_bytes),
            file_count=dataset.file_count,
            load=load,
        )
        return self.leaves[position], octaves

    def fastest_bps(self, load: AssumedLoad) -> float:
        """Throughput of the fastest setting of any leaf under a load."""
        known = self._fastest_bps.get(load.share)  # there are no more than a hundred loads
        if known is None:
            fastest = max(leaf.fastest_log + leaf.model.shift(load.share).log_throughput for leaf in self.leaves)
            known = self._fastest_bps[load.share] = math.exp(fastest)
        return known

    def load(self, asked: float | None) -> AssumedLoad:
        """The load to answer for: what is asked, else the last known of the link, else its median."""
        return self._usual_load if asked is None else AssumedLoad(asked, LoadOrigin.ASKED)

    @cached_property
    def _usual_load(self) -> AssumedLoad:
        bandwidth_bps = self.path.bandwidth_bps  # what the logs call the whole pipe, as their loads do
        if self.unknown_bps is None or bandwidth_bps is None:
            return AssumedLoad(self.load_median, LoadOrigin.MEDIAN)
        share = load_share(known_bps=0.0, unknown_bps=self.unknown_bps, bandwidth_bps=bandwidth_bps)
        return AssumedLoad(share, LoadOrigin.LAST_KNOWN)

    @cached_property
    def _longest_bytes(self) -> float:
        """File size from which on a longer one makes no difference: that of large chunks, or of the largest leaf.

        Where the bandwidth is not known the fastest setting stands for it; without a round trip all sizes differ.
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
