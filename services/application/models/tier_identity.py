"""Identity of tiers over releases: names, edits and prices carry over, and moved bounds are marked for review.

A tier ID names one promise of one cluster. No two tiers of a model share it.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID, uuid4

from services.application.models.leaf_matches import LeafMatch, match_leaves
from services.application.models.learned_model import StoredModel, Tier
from tradewind.model import LeafModel, LinkModel
from tradewind.tiers.partitions import Match, match_partitions


def match_tiers(before: StoredModel | None, model: LinkModel) -> Sequence[Sequence[Tier]]:
    """Return for each leaf of ``model`` a tier for each partition: the one that it continues, or a new one.

    Where a fit splits a cluster, one leaf continues its tiers. Those of the others are new and inherit the prices.
    """
    if before is None:
        return [[Tier(uuid4()) for _ in leaf.partitions] for leaf in model.leaves]
    matches = match_leaves([old.model.leaf for old in before.leaves], [new.leaf for new in model.leaves])
    return separate_tiers([_match_leaf(before, match, leaf) for match, leaf in zip(matches, model.leaves, strict=True)])


def separate_tiers(tiers: Sequence[Sequence[Tier]]) -> Sequence[Sequence[Tier]]:
    """Return the tiers of a model with distinct ids: the second tier of an id is split from the first.

    A model that was fitted when ids could be shared may have a tier in two clusters.
    """
    seen: set[UUID] = set()
    separate: list[list[Tier]] = []
    for of_leaf in tiers:
        separate.append([split_tier(tier.id) if tier.id in seen else tier for tier in of_leaf])
        seen.update(tier.id for tier in of_leaf)
    return separate


def split_tier(origin: UUID | None) -> Tier:
    """Return a new tier that inherits the price of another one, for its provider to review."""
    return Tier(uuid4(), needs_review=origin is not None, split_from=origin)


def _match_leaf(before: StoredModel, match: LeafMatch | None, leaf: LeafModel) -> Sequence[Tier]:
    if match is None:
        return [split_tier(None) for _ in leaf.partitions]
    old = before.leaves[match.old]
    known = {id(partition): tier for partition, tier in zip(old.model.partitions, old.tiers, strict=True)}
    matched = match_partitions(old.model.partitions, leaf.partitions)
    return [_continue_tier(each, known, continues=match.continues) for each in matched]


def _continue_tier(match: Match, known: Mapping[int, Tier], *, continues: bool) -> Tier:
    if match.old is not None and continues:
        return known[id(match.old)].move(match.old, match.new)
    origin = match.old or match.split_from
    return split_tier(None if origin is None else known[id(origin)].id)


def list_tier_origins(tiers: Iterable[Sequence[Tier]]) -> Mapping[UUID, UUID]:
    """Return by each tier that was split from another one that other tier, whose price it inherits."""
    return {tier.id: tier.split_from for of_leaf in tiers for tier in of_leaf if tier.split_from is not None}
