"""The release in force, held in memory: all that a recommendation is made of."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from uuid import UUID

from tradewind.cluster import nearest_leaf
from tradewind.dataset import DataSet
from tradewind.model import LeafModel, LinkModel
from tradewind.sla_partitions import Partition, PartitionKey
from tradewind.transfer import LinkKey
from tradewind.wire.recommendations import WireTable


@dataclass(frozen=True)
class ServedPartition:
    """A partition with the identity of its tier, which providers name and price."""

    partition: Partition
    tier_id: UUID
    tier: str


@dataclass(frozen=True)
class ServedLeaf:
    """A leaf ready to answer: partitions by key, and its compact table as the JSON that goes out."""

    cluster_id: UUID
    model: LeafModel
    partitions: Mapping[PartitionKey, tuple[ServedPartition, ...]]
    table_json: bytes

    @classmethod
    def of(cls, cluster_id: UUID, model: LeafModel, partitions: Iterable[ServedPartition]) -> "ServedLeaf":
        by_key: dict[PartitionKey, list[ServedPartition]] = {}
        for served in partitions:
            by_key.setdefault(served.partition.key, []).append(served)
        ordered = {
            key: tuple(sorted(group, key=lambda served: served.partition.lower)) for key, group in by_key.items()
        }
        table_json = WireTable.of(model.compact()).model_dump_json(exclude_none=True).encode()
        return cls(cluster_id, model, MappingProxyType(ordered), table_json)


@dataclass(frozen=True)
class ServedLink:
    link_id: UUID
    key: LinkKey
    model: LinkModel
    leaves: tuple[ServedLeaf, ...]

    def nearest(self, dataset: DataSet, load: float) -> ServedLeaf:
        """The leaf for a data set under this load."""
        leaf = nearest_leaf(
            (served.model.leaf for served in self.leaves),
            mean_file_bytes=dataset.mean_file_bytes,
            file_count=dataset.file_count,
            load=load,
        )
        return next(served for served in self.leaves if served.model.leaf is leaf)


@dataclass(frozen=True)
class Snapshot:
    """Everything one tenant's recommendations need. ``aliases`` lead from any name of an endpoint to its own."""

    release: int | None = None
    links: Mapping[LinkKey, ServedLink] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)

    def link(self, asked: LinkKey) -> ServedLink | None:
        """The link between two endpoints under any of their names, if it has leaves."""
        key = replace(
            asked,
            source=self.aliases.get(asked.source, asked.source),
            destination=self.aliases.get(asked.destination, asked.destination),
        )
        found = self.links.get(key)
        return found if found is not None and found.leaves else None


EMPTY_SNAPSHOT = Snapshot()
