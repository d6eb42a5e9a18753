"""Find what a new model of a link would change of its priced tiers.

A price is given for a promise. A model that would remove such a tier, or move it so far that it is another promise,
does not serve until a provider has decided. Small drifts of bounds are accepted and marked for review.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from services.application.models.learned_model import StoredModel, Tier
from tradewind.model import LinkModel
from tradewind.tiers.partitions import Bounds, Partition, compute_shared_length
from tradewind.units import format_count
from tradewind.wire.releases import ChangeKind, TierBounds, TierChange

LEAST_SHARED = 0.5
"""Share of all old and new targets that both have in common; a tier that shares less is another promise."""

DRIFT = 0.1
"""A bound may drift by this share of itself: a narrow tier is then the same promise even if it shares little."""

LEVEL_DRIFT = 0.25
"""The same of the level of a kind that has no target, such as max_throughput."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecidedModel:
    """A stored model that serves only if a provider decides so: what it would change, and the release that waits."""

    model_id: UUID
    release_id: int
    raised_at: datetime
    changes: Sequence[TierChange]


class _Range(NamedTuple):
    lower: float
    upper: float


def list_priced_tier_changes(
    before: StoredModel | None, model: LinkModel, tiers: Sequence[Sequence[Tier]], priced: Collection[UUID]
) -> Sequence[TierChange]:
    """Return the priced tiers that a link would lose, or that would move to another promise.

    Parameters
    ----------
    before : the model that serves the link now.
    tiers : of the new model, for each leaf one for each of its partitions.
    priced : the tiers that have a price in the current book or in one to come.
    """
    if before is None or not priced:
        return ()
    after = [
        list(zip(leaf.partitions, of_leaf, strict=True)) for leaf, of_leaf in zip(model.leaves, tiers, strict=True)
    ]
    found: dict[UUID, TierChange | None] = {}
    for old, tier in _iterate_tiers(before):
        if tier.id in priced and found.get(tier.id, ...) is not None:
            successors = [parts for pairs in after if (parts := _find_successors(pairs, tier.id, old))]
            found[tier.id] = _describe_change(before.link_id, tier, old, successors)
    return tuple(change for change in found.values() if change is not None)


def format_wait_reason(changes: Sequence[TierChange]) -> str:
    """Return why the link keeps its model, for the pages and `GET /v1/links`."""
    lost = sum(tier.change is ChangeKind.LOST for tier in changes)
    counts = [(lost, "take away"), (len(changes) - lost, "move")]
    what = " and ".join(f"{verb} {format_count(count, 'tier')}" for count, verb in counts if count)
    return f"the new model would {what} with a price; the model before serves until a provider has decided"


def _iterate_tiers(model: StoredModel) -> Iterator[tuple[Partition, Tier]]:
    for leaf in model.leaves:
        yield from zip(leaf.model.partitions, leaf.tiers, strict=True)


def _find_successors(pairs: Sequence[tuple[Partition, Tier]], tier_id: UUID, old: Partition) -> Sequence[Partition]:
    """Return the partitions of one leaf that have the price of the old one: its successor, and what was split off."""
    own = [partition for partition, tier in pairs if tier.id == tier_id and partition.key == old.key]
    return [*own, *(partition for partition, tier in pairs if tier.split_from == tier_id)] if own else []


def _describe_change(
    link_id: UUID, tier: Tier, old: Partition, successors: Sequence[Sequence[Partition]]
) -> TierChange | None:
    """Return the change of a tier that becomes another promise; of several leaves the best one counts."""
    if any(_is_same_promise(old, parts) for parts in successors):
        return None
    hull = _build_hull(successors[0]) if successors else None
    return TierChange(
        tier_id=tier.id,
        link_id=link_id,
        name=tier.name,
        kind=old.kind,
        confidence=old.confidence,
        energy_basis=old.energy_basis,
        change=ChangeKind.LOST if hull is None else ChangeKind.CHANGED,
        before=TierBounds(lower=old.lower, upper=old.upper),
        after=None if hull is None else TierBounds(lower=hull.lower, upper=hull.upper),
    )


def _build_hull(parts: Sequence[Bounds]) -> _Range:
    return _Range(min(part.lower for part in parts), max(part.upper for part in parts))


def _is_same_promise(old: Bounds, parts: Sequence[Bounds]) -> bool:
    """Return whether targets that were promised in the old range are by and large those of the new ranges."""
    drift = LEVEL_DRIFT if old.lower == old.upper else DRIFT
    hull = _build_hull(parts)
    if all(
        abs(one - other) <= drift * max(abs(one), abs(other))
        for one, other in ((old.lower, hull.lower), (old.upper, hull.upper))
    ):
        return True
    shared = sum(compute_shared_length(old, part) for part in parts)
    joint = (old.upper - old.lower) + sum(part.upper - part.lower for part in parts) - shared
    return joint > 0 and shared >= LEAST_SHARED * joint
