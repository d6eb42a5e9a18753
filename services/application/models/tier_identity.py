"""Identity of tiers over releases: names, edits and prices carry over, and moved bounds are marked for review."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID, uuid4

from services.application.models.learned_model import StoredLeaf, StoredModel, Tier
from tradewind.model import LeafModel, LinkModel
from tradewind.tiers.partitions import Match, match_partitions


def match_tiers(before: StoredModel | None, model: LinkModel) -> Sequence[Sequence[Tier]]:
    """Return for each leaf of ``model`` a tier for each partition: the one that it continues, or a new one."""
    return [_match_leaf(_find_nearest(before, leaf), leaf) for leaf in model.leaves]


def _find_nearest(before: StoredModel | None, leaf: LeafModel) -> StoredLeaf | None:
    """Return the stored leaf with the nearest data sets, and then the nearest load."""
    if before is None:
        return None
    size, count = 2**leaf.leaf.log2_mean_file_bytes, 2**leaf.leaf.log2_file_count
    return min(
        before.leaves,
        key=lambda old: (old.model.leaf.compute_doublings_from(size, count), abs(old.model.leaf.load - leaf.leaf.load)),
    )


def _match_leaf(old: StoredLeaf | None, leaf: LeafModel) -> Sequence[Tier]:
    if old is None:
        return [Tier(uuid4()) for _ in leaf.partitions]
    known = {id(partition): tier for partition, tier in zip(old.model.partitions, old.tiers, strict=True)}
    return [_continue_tier(match, known) for match in match_partitions(old.model.partitions, leaf.partitions)]


def _continue_tier(match: Match, known: Mapping[int, Tier]) -> Tier:
    if match.old is not None:
        return known[id(match.old)].move(match.old, match.new)
    if match.split_from is not None:
        return Tier(uuid4(), needs_review=True, split_from=known[id(match.split_from)].id)
    return Tier(uuid4())


def list_tier_origins(tiers: Iterable[Sequence[Tier]]) -> Mapping[UUID, UUID]:
    """Return by each tier that was split from another one that other tier, whose price it inherits."""
    return {tier.id: tier.split_from for of_leaf in tiers for tier in of_leaf if tier.split_from is not None}
