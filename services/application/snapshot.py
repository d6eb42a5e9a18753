"""The release in force as the API holds it: an index of all links, and the models of those that were asked for.

Models never change once stored, so one shelf of them serves every release; what is not on it is fetched when a
recommendation first needs it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from uuid import UUID

from services.application.learned import IndexedModel, StoredModel, Tier
from tradewind.cluster import nearest_leaf
from tradewind.dataset import DataSet
from tradewind.model import LeafModel
from tradewind.path import Path
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


@dataclass(frozen=True)
class ServedPartition:
    """A partition with the identity of its tier, which providers name and price."""

    partition: Partition
    tier_id: UUID
    tier: str


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
            served = ServedPartition(partition, tier.id, tier_name(partition))
            by_key.setdefault(partition.key, []).append(served)
        ordered = {
            key: tuple(sorted(group, key=lambda served: served.partition.lower)) for key, group in by_key.items()
        }
        table_json = WireTable.of(model.compact()).model_dump_json(exclude_none=True).encode()
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

    def nearest(self, dataset: DataSet, load: float) -> ServedLeaf:
        """The leaf for a data set under this load."""
        leaf = nearest_leaf(
            (served.model.leaf for served in self.leaves),
            mean_file_bytes=dataset.mean_file_bytes,
            file_count=dataset.file_count,
            load=load,
        )
        return next(served for served in self.leaves if served.model.leaf is leaf)


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
    """The release in force without its lattices, as the store has it."""

    release: int | None
    models: Mapping[LinkKey, IndexedModel]
    aliases: Mapping[str, str]


@dataclass(frozen=True)
class Snapshot:
    """Everything one tenant's recommendations need; ``index.aliases`` lead from any name of an endpoint to its own."""

    index: Index
    shelf: Shelf = field(default_factory=Shelf)

    @property
    def release(self) -> int | None:
        return self.index.release

    def indexed(self, asked: LinkKey) -> IndexedModel | None:
        """The link between two endpoints under any of their names, if it has a model."""
        aliases = self.index.aliases
        ends = aliases.get(asked.source, asked.source), aliases.get(asked.destination, asked.destination)
        return self.index.models.get(LinkKey(*ends, asked.network, asked.mover))

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

    def held(self, tenant_id: UUID) -> Snapshot | None:
        """The tenant's snapshot if there is a fresh one; asks no database."""
        found = self._held.get(tenant_id)
        if found is None or found[1] < self._monotonic():
            return None
        return found[0]

    def load(self, tenant_id: UUID) -> Snapshot:
        """Read the index again; notices may be lost, so this also happens after a while."""
        asked_at = self._monotonic()
        snapshot = Snapshot(self._load_index(tenant_id), self._shelf)
        self._held[tenant_id] = (snapshot, asked_at + self._fresh_for_s)
        return snapshot

    def fetch(self, tenant_id: UUID, model_id: UUID) -> None:
        """Put a model on the shelf."""
        self._shelf.put(model_id, ServedModel.of(self._load_model(tenant_id, model_id)))

    def forget(self, tenant_id: UUID) -> None:
        """Another release is in force."""
        self._held.pop(tenant_id, None)

    def forget_all(self) -> None:
        self._held.clear()
