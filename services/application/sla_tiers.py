"""The SLA tiers of the release in force, with where each belongs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from services.application.learned import Tier
from tradewind.sla_partitions import Partition, tier_name

MAX_OF_LINK = 5_000
"""A link has some hundred."""


@dataclass(frozen=True, slots=True)
class TierOfLink:
    """A tier as one cluster of a link has it."""

    link_id: UUID
    cluster_id: UUID
    tier: Tier
    partition: Partition

    @property
    def name(self) -> str:
        return self.tier.name or self.range

    @property
    def range(self) -> str:
        return tier_name(self.partition)


def by_cluster(tiers: Iterable[TierOfLink]) -> Mapping[UUID, Sequence[TierOfLink]]:
    """The same by cluster, in their order."""
    found: dict[UUID, list[TierOfLink]] = {}
    for each in tiers:
        found.setdefault(each.cluster_id, []).append(each)
    return found
