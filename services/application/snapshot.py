"""The release in force as the API holds it: an index of all links, and the models of those that were asked for.

Models never change once stored, so one shelf of them serves every release; what is not on it is fetched when a
recommendation first needs it.
"""

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from uuid import UUID

from services.application.chunk_choice import Solution
from services.application.learned import IndexedModel, StoredModel, Tier
from tradewind.cluster import Leaf, nearest_leaf
from tradewind.dataset import DataSet
from tradewind.model import LeafModel
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.prediction import predict
from tradewind.sla_partitions import Partition, PartitionKey, tier_name
from tradewind.transfer import LinkKey
from tradewind.wire.recommendations import WireTable

MAX_MODELS = 2_000
"""Models kept in memory; about 0.3 MB each."""


class NotInMemory(Exception):
    """A model is needed that is not on the shelf; fetch it and ask again."""

    def __init__(self, model_id: UUID) -> None:
        super().__init__(f"model {model_id} is not in memory")
        self.model_id = model_id


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


@dataclass(frozen=True)
class ServedLeaf:
    """A leaf ready to answer: partitions by key, ascending, and its compact table as the JSON that goes out."""

    cluster_id: UUID
    model: LeafModel
    partitions: Mapping[PartitionKey, tuple[ServedPartition, ...]]
    table_json: bytes

    @classmethod
    def of(cls, cluster_id: UUID, model: LeafModel, tiers: Iterable[Tier]) -> "ServedLeaf":
        by_key: dict[PartitionKey, list[ServedPartition]] = {}
        for partition, tier in zip(model.partitions, tiers, strict=True):
            served = ServedPartition.of(partition, tier, model.table.base_power_w)
            by_key.setdefault(partition.key, []).append(served)
        ordered = {key: tuple(sorted(group, key=lambda served: served.lower)) for key, group in by_key.items()}
        table_json = WireTable.of(model.compact()).to_json()
        return cls(cluster_id, model, MappingProxyType(ordered), table_json)


@dataclass(frozen=True)
class ServedModel:
    """The model of one link, ready to answer."""

    path: Path
    load_median: float
    leaves: tuple[ServedLeaf, ...]

    @classmethod
    def of(cls, stored: StoredModel) -> "ServedModel":
        leaves = tuple(ServedLeaf.of(each.cluster_id, each.model, each.tiers) for each in stored.leaves)
        return cls(stored.path, stored.load_median, leaves)

    def nearest(self, dataset: DataSet, load: float) -> tuple[ServedLeaf, float]:
        """The leaf for a data set under this load, and how many doublings it is away."""
        position, octaves = nearest_leaf(
            self._centres, mean_file_bytes=dataset.mean_file_bytes, file_count=dataset.file_count, load=load
        )
        return self.leaves[position], octaves

    @cached_property
    def fastest_bps(self) -> float:
        """Throughput of the fastest setting of any leaf."""
        return math.exp(max(each.log_throughput_mean for leaf in self.leaves for each in leaf.model.table.settings))

    @cached_property
    def _centres(self) -> tuple[Leaf, ...]:
        return tuple(served.model.leaf for served in self.leaves)


class Shelf:
    """Models in memory, the least recently used given up first; safe to use from several threads."""

    def __init__(self, capacity: int = MAX_MODELS) -> None:
        self._capacity = capacity
        self._models: OrderedDict[UUID, ServedModel] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, model_id: UUID) -> ServedModel:
        """The model; raises ``NotInMemory``."""
        with self._lock:
            found = self._models.get(model_id)
            if found is None:
                raise NotInMemory(model_id)
            self._models.move_to_end(model_id)
            return found

    def put(self, model_id: UUID, model: ServedModel) -> None:
        with self._lock:
            self._models[model_id] = model
            if len(self._models) > self._capacity:
                self._models.popitem(last=False)


@dataclass(frozen=True)
class Index:
    """The release in force without its lattices, as the store has it.

    ``aliases`` lead from any other name of an endpoint to its own; ``known_paths`` is what the owners of endpoints say
    of the paths between two, by their own names.
    """

    release: int | None
    models: Mapping[LinkKey, IndexedModel]
    aliases: Mapping[str, str]
    known_paths: Mapping[tuple[str, str], Path] = field(default_factory=dict)


@dataclass(frozen=True)
class Snapshot:
    """Everything one tenant's recommendations need."""

    index: Index
    shelf: Shelf = field(default_factory=Shelf)

    @property
    def release(self) -> int | None:
        return self.index.release

    def indexed(self, asked: LinkKey) -> IndexedModel | None:
        """The link between two endpoints under any of their names, if it has a model."""
        models = self.index.models
        return models.get(asked) or models.get(LinkKey(*self._own_names(asked), asked.network, asked.mover))

    def other_movers(self, asked: LinkKey) -> tuple[str, ...]:
        """Movers that have a model of the same path, in order of their names; not the one asked with."""
        path = (*self._own_names(asked), asked.network)
        return tuple(
            sorted(
                key.mover
                for key in self.index.models
                if (key.source, key.destination, key.network) == path and key.mover != asked.mover
            )
        )

    def known_path(self, asked: LinkKey) -> Path:
        """What the owner of the source says of the path to the destination."""
        return self.index.known_paths.get(self._own_names(asked), UNKNOWN_PATH)

    def _own_names(self, asked: LinkKey) -> tuple[str, str]:
        aliases = self.index.aliases
        return aliases.get(asked.source, asked.source), aliases.get(asked.destination, asked.destination)

    def model(self, indexed: IndexedModel) -> ServedModel:
        """The link's model; raises ``NotInMemory``."""
        return self.shelf.get(indexed.id)


EMPTY_SNAPSHOT = Snapshot(Index(None, MappingProxyType({}), MappingProxyType({})))


class Snapshots:
    """The snapshot of each tenant, made anew when its release changes or after a while.

    Parameters
    ----------
    load_index : of a tenant, from the store.
    load_model : one model of a tenant, from the store.
    monotonic : seconds of a clock that never goes back.
    """

    def __init__(
        self,
        load_index: Callable[[UUID], Index],
        load_model: Callable[[UUID, UUID], StoredModel],
        monotonic: Callable[[], float],
        *,
        fresh_for_s: float = 30.0,
    ) -> None:
        self._load_index = load_index
        self._load_model = load_model
        self._monotonic = monotonic
        self._fresh_for_s = fresh_for_s
        self._shelf = Shelf()
        self._held: dict[UUID, tuple[Snapshot, float]] = {}
        self._forgotten = 0

    def held(self, tenant_id: UUID) -> Snapshot | None:
        """The tenant's snapshot if there is a fresh one; asks no database."""
        found = self._held.get(tenant_id)
        if found is None or found[1] < self._monotonic():
            return None
        return found[0]

    def load(self, tenant_id: UUID) -> Snapshot:
        """Read the index again; notices may be lost, so this also happens after a while."""
        forgotten, asked_at = self._forgotten, self._monotonic()
        snapshot = Snapshot(self._load_index(tenant_id), self._shelf)
        if self._forgotten == forgotten:  # else another release came into force meanwhile, perhaps of this tenant
            self._held[tenant_id] = (snapshot, asked_at + self._fresh_for_s)
        return snapshot

    def fetch(self, tenant_id: UUID, model_id: UUID) -> None:
        """Put a model on the shelf."""
        self._shelf.put(model_id, ServedModel.of(self._load_model(tenant_id, model_id)))

    def forget(self, tenant_id: UUID) -> None:
        """Another release is in force, or names have changed."""
        self._forgotten += 1
        self._held.pop(tenant_id, None)

    def forget_all(self) -> None:
        self._forgotten += 1
        self._held.clear()
