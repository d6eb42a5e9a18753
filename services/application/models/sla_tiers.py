"""The SLA tiers of the release in force, with where each belongs, and how many of them are told in one line."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from services.application.models.learned_model import Tier
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.tiers.partitions import Partition, tier_name
from tradewind.transfer import LinkKey
from tradewind.units import format_bytes, format_count

MAX_OF_LINK = 5_000
"""A link has some hundred."""

NAMED_OF_CLUSTER = 3
"""Tiers that a line names; the others are counted."""

NAMED_CLUSTERS = 4
"""Whose tiers an entry of the log names."""


@dataclass(frozen=True, slots=True)
class LinkTier:
    """A tier as one cluster of a link has it. ``cluster`` : its data sets in words."""

    link_id: UUID
    cluster_id: UUID
    tier: Tier
    partition: Partition
    cluster: str

    @property
    def name(self) -> str:
        return self.tier.name or self.range

    @property
    def range(self) -> str:
        return tier_name(self.partition)


def list_link_tiers(link_id: UUID, uow: UnitOfWork) -> Sequence[LinkTier]:
    """All tiers of a link in the release in force."""
    release = uow.releases.current()
    return [] if release is None else uow.sla_tiers.page(release, limit=MAX_OF_LINK, link_id=link_id)


def list_tier_names(tier_ids: Collection[UUID], uow: UnitOfWork) -> Mapping[UUID, str]:
    """What tiers of the release in force are called."""
    release = uow.releases.current()
    return {} if release is None else {each.tier.id: each.name for each in uow.sla_tiers.of(release, tier_ids)}


def group_by_cluster(tiers: Iterable[LinkTier]) -> Mapping[UUID, Sequence[LinkTier]]:
    """The same by cluster, in their order."""
    found: dict[UUID, list[LinkTier]] = {}
    for each in tiers:
        found.setdefault(each.cluster_id, []).append(each)
    return found


def format_cluster(log2_file_count: float, log2_mean_file_bytes: float, load: float) -> str:
    """The data sets of a cluster, such as ``8 files of 1.1 MB``, and the load it was seen at unless that is none."""
    files = f"{format_count(round(2**log2_file_count), 'file')} of {format_bytes(2**log2_mean_file_bytes)}"
    return files if round(100 * load) == 0 else f"{files} at {load:.0%} load"


def format_path(key: LinkKey) -> str:
    """A link, such as ``harbour → island (rclone)``."""
    return f"{key.source} → {key.destination} ({key.mover}{f', {key.network}' if key.network else ''})"


@dataclass(frozen=True, slots=True)
class NamedTiers:
    """Some tiers of one cluster. ``place`` : their link and cluster, ``None`` for tiers of no release in force."""

    place: str | None
    names: Sequence[str]

    def in_words(self) -> str:
        """Where they are and what they are called, such as ``a → b (rclone), 8 files of 1.1 MB: min energy at 90%``."""
        if self.place is None:
            return f"{format_count(len(self.names), 'tier')} of earlier releases"
        more = len(self.names) - NAMED_OF_CLUSTER
        names = ", ".join(self.names[:NAMED_OF_CLUSTER]) + (f" and {format_count(more, 'other')}" if more > 0 else "")
        return f"{self.place}: {names}"


def format_named_tiers(named: Sequence[NamedTiers]) -> Sequence[str]:
    """Those of some clusters by name, and how many there are of the others."""
    told, rest = named[:NAMED_CLUSTERS], named[NAMED_CLUSTERS:]
    tiers, clusters = sum(len(each.names) for each in rest), format_count(len(rest), "other cluster")
    return [*(each.in_words() for each in told), *([f"{format_count(tiers, 'tier')} of {clusters}"] if rest else [])]


def list_named_tiers(tier_ids: Collection[UUID], uow: UnitOfWork) -> Sequence[NamedTiers]:
    """What tiers are called, cluster by cluster; those of earlier releases have no name and come last."""
    release = uow.releases.current()
    known = [] if release is None else uow.sla_tiers.of(release, tier_ids)
    paths = {link.id: format_path(link.key) for link in uow.links.all()}
    found = [
        NamedTiers(f"{paths[tiers[0].link_id]}, {tiers[0].cluster}", [each.name for each in tiers])
        for tiers in group_by_cluster(known).values()
    ]
    gone = sorted(str(each) for each in {*tier_ids} - {each.tier.id for each in known})
    return [*found, NamedTiers(None, gone)] if gone else found
