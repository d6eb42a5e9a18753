"""The SLA tiers of the release in force, with where each belongs."""

from dataclasses import dataclass
from uuid import UUID

from services.application.learned import Tier
from tradewind.sla_partitions import Partition, tier_name


@dataclass(frozen=True, slots=True)
class TierOfLink:
    """A tier as one cluster of a link has it."""

    link_id: UUID
    cluster_id: UUID
    tier: Tier
    partition: Partition

    @property
    def name(self) -> str:
        return tier_name(self.partition)
