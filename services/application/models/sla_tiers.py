"""The SLA tiers of the current release with their link and cluster, and their names for one line of text."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from services.application.models.learned_model import ReviewedBounds, Tier
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.tiers.partitions import Partition, format_tier_name
from tradewind.transfer import LinkKey
from tradewind.units import format_bytes, format_count

MAX_OF_LINK = 5_000
"""Most tiers read of one link; a link has some hundred."""

NAMED_OF_CLUSTER = 3
"""Tiers of a cluster that a line names; the others are counted."""

NAMED_CLUSTERS = 4
"""Clusters whose tiers an audit entry names."""


@dataclass(frozen=True, slots=True)
class LinkTier:
    """A tier of one cluster of a link. ``cluster`` : its data sets as text."""

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
        return format_tier_name(self.partition)

    @property
    def bounds(self) -> ReviewedBounds:
        return ReviewedBounds(self.partition.lower, self.partition.upper)

    @property
    def reviewed_range(self) -> str | None:
        """The range that its provider has seen last, if it was another one."""
        seen = self.tier.reviewed
        return None if seen is None else format_tier_name(replace(self.partition, lower=seen.lower, upper=seen.upper))


class OpenTiers(NamedTuple):
    """The tiers of a link, and how many of them wait for the provider.

    ``to_review`` : their limits have moved. ``unpriced`` : without a price in the current book.
    """

    tiers: int
    to_review: int
    unpriced: int


def list_link_tiers(link_id: UUID, uow: UnitOfWork) -> Sequence[LinkTier]:
    """Return all tiers of a link in the current release."""
    release = uow.releases.find_current()
    return [] if release is None else uow.sla_tiers.list_page(release, limit=MAX_OF_LINK, link_id=link_id)


def list_tier_names(tier_ids: Collection[UUID], uow: UnitOfWork) -> Mapping[UUID, str]:
    """Return the names of tiers of the current release by id."""
    release = uow.releases.find_current()
    return {} if release is None else uow.sla_tiers.list_names(release, tier_ids)


def list_distinct_names(tier_ids: Collection[UUID], uow: UnitOfWork) -> Mapping[UUID, str]:
    """Return the names of tiers of the current release by id; those that several have, each with its data sets."""
    names = list_tier_names(tier_ids, uow)
    counts = Counter(names.values())
    shared = [tier_id for tier_id, name in names.items() if counts[name] > 1]
    release = uow.releases.find_current()
    if not shared or release is None:
        return names
    data_sets = uow.sla_tiers.list_data_sets(release, shared)
    return {**names, **{tier_id: f"{names[tier_id]}, {data_set}" for tier_id, data_set in data_sets.items()}}


def group_by_cluster(tiers: Iterable[LinkTier]) -> Mapping[UUID, Sequence[LinkTier]]:
    """Group tiers by cluster, in their order."""
    found: dict[UUID, list[LinkTier]] = {}
    for tier in tiers:
        found.setdefault(tier.cluster_id, []).append(tier)
    return found


def format_cluster(log2_file_count: float, log2_mean_file_bytes: float, load: float) -> str:
    """Return the data sets of a cluster, such as ``8 files of 1.1 MB``, and its load unless that is 0."""
    files = f"{format_count(round(2**log2_file_count), 'file')} of {format_bytes(2**log2_mean_file_bytes)}"
    return files if round(100 * load) == 0 else f"{files} at {load:.0%} load"


def format_path(key: LinkKey) -> str:
    """Return a link as text, such as ``harbour → island (rclone)``."""
    return f"{key.source} → {key.destination} ({key.mover}{f', {key.network}' if key.network else ''})"


@dataclass(frozen=True, slots=True)
class NamedTiers:
    """Some tiers of one cluster. ``place`` : their link and cluster; ``None`` for tiers of earlier releases."""

    place: str | None
    names: Sequence[str]

    def format(self) -> str:
        """Return place and names as text, such as ``a → b (rclone), 8 files of 1.1 MB: min energy at 90%``."""
        if self.place is None:
            return f"{format_count(len(self.names), 'tier')} of earlier releases"
        more = len(self.names) - NAMED_OF_CLUSTER
        names = ", ".join(self.names[:NAMED_OF_CLUSTER]) + (f" and {format_count(more, 'other')}" if more > 0 else "")
        return f"{self.place}: {names}"


def format_named_tiers(named: Sequence[NamedTiers]) -> Sequence[str]:
    """Return the tiers of some clusters by name, and the count of the others."""
    shown, rest = named[:NAMED_CLUSTERS], named[NAMED_CLUSTERS:]
    count, clusters = sum(len(tiers.names) for tiers in rest), format_count(len(rest), "other cluster")
    return [*(tiers.format() for tiers in shown), *([f"{format_count(count, 'tier')} of {clusters}"] if rest else [])]


def list_named_tiers(tier_ids: Collection[UUID], uow: UnitOfWork) -> Sequence[NamedTiers]:
    """Return the names of tiers by cluster; tiers of earlier releases have no name and come last."""
    release = uow.releases.find_current()
    known = [] if release is None else uow.sla_tiers.of(release, tier_ids)
    paths = {link.id: format_path(link.key) for link in uow.links.list_all()}
    found = [
        NamedTiers(f"{paths[tiers[0].link_id]}, {tiers[0].cluster}", [tier.name for tier in tiers])
        for tiers in group_by_cluster(known).values()
    ]
    gone = sorted(str(tier_id) for tier_id in {*tier_ids} - {tier.tier.id for tier in known})
    return [*found, NamedTiers(None, gone)] if gone else found
