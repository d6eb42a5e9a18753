"""Custom tiers of a provider: names, and boundaries between tiers, which hold over refits.

Boundaries are stored with the ids of the tiers between them. They are applied to the current release at once, as a new
release, and to every model that is fitted later.
"""

import itertools
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID, uuid4

from services.application.logs.ports import LinkRepository
from services.application.models.current_cluster import find_current_cluster
from services.application.models.learned_model import StoredLeaf, StoredModel, Tier
from services.application.models.sla_tiers import (
    format_path,
    list_link_tiers,
    list_named_tiers,
)
from services.application.models.tier_identity import list_tier_origins, separate_tiers
from services.application.shared.jobs import PricesChanged, ReleaseChanged
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, InvalidValue, NameTaken, NotFound
from tradewind.model import LeafModel, LinkModel
from tradewind.names import check_name, fold_name
from tradewind.tiers.custom import MIN_WIDTH, check_boundaries, solve_between
from tradewind.tiers.partitions import Partition, PartitionKey, format_tier_name, match_partitions


@dataclass(frozen=True, slots=True)
class CustomBoundaries:
    """A provider's boundaries of the targets of one key; tier n lies between ``cuts`` n − 1 and n."""

    key: PartitionKey
    cuts: tuple[float, ...]
    tier_ids: tuple[UUID, ...]

    def list_between(self, lowest: float, highest: float) -> tuple[tuple[float, ...], tuple[UUID, ...]]:
        """Return edges and tiers within the certifiable range; the others stay stored until it reaches them again."""
        inside = (cut for cut in self.cuts if cut - lowest > MIN_WIDTH * cut and highest - cut > MIN_WIDTH * highest)
        edges = (lowest, *inside, highest)
        middles = ((below + above) / 2 for below, above in itertools.pairwise(edges))
        return edges, tuple(self.tier_ids[bisect_right(self.cuts, middle)] for middle in middles)


class CustomizedModel(NamedTuple):
    """A model with custom boundaries.

    ``tiers`` : for each leaf one for each of its partitions. ``split`` : the boundaries of clusters that were split
    from another one that has them; they are stored when the model is to serve.
    """

    model: LinkModel
    tiers: Sequence[Sequence[Tier]]
    split: Sequence[CustomBoundaries] = ()


@dataclass(frozen=True, slots=True)
class BoundedTier:
    """A tier and its partition; ``is_new`` : it is no continuation, and inherits the price of its origin."""

    tier: Tier
    partition: Partition
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class BoundaryPreview:
    """The current and the future tiers of a key, solved in the same way, so that their regrets compare."""

    before: Sequence[BoundedTier]
    after: Sequence[BoundedTier]


def list_cluster_tiers(leaf: StoredLeaf, key: PartitionKey) -> Sequence[BoundedTier]:
    """Return the tiers of a cluster for one key, ascending."""
    pairs = zip(leaf.tiers, leaf.model.partitions, strict=True)
    return sorted(
        (BoundedTier(tier, partition) for tier, partition in pairs if partition.key == key),
        key=lambda bounded: bounded.partition.lower,
    )


def preview_boundaries(leaf: StoredLeaf, key: PartitionKey, cuts: Sequence[float]) -> BoundaryPreview:
    """Return what other boundaries would change: a tier continues in the one that shares most with it.

    Raises
    ------
    InvalidValue : the kind has no boundaries, or they are out of range.
    NotFound : the cluster has no tiers of this key.
    """
    tiers = list_cluster_tiers(leaf, key)
    if not tiers:
        raise NotFound("the cluster has no such tiers")
    edges = (tiers[0].partition.lower, *(bounded.partition.upper for bounded in tiers))
    check_boundaries(cuts, lowest=edges[0], highest=edges[-1])
    unchanged = solve_between(leaf.model.table, key, edges)
    before = [replace(bounded, partition=partition) for bounded, partition in zip(tiers, unchanged, strict=True)]
    tier_of = {id(bounded.partition): bounded.tier for bounded in before}
    after = []
    for match in match_partitions(unchanged, solve_between(leaf.model.table, key, (edges[0], *cuts, edges[-1]))):
        if match.old is None:
            origin = None if match.split_from is None else tier_of[id(match.split_from)].id
            after.append(BoundedTier(Tier(uuid4(), needs_review=True, split_from=origin), match.new, is_new=True))
        else:
            after.append(BoundedTier(tier_of[id(match.old)].move(match.old, match.new), match.new))
    return BoundaryPreview(before, after)


def set_boundaries(
    cluster_id: UUID, key: PartitionKey, cuts: Sequence[float], *, version: UUID, uow: UnitOfWork, clock: Clock
) -> UUID:
    """Set the boundaries of a cluster's tiers, now and after each fit; return the cluster's id in the new release.

    Parameters
    ----------
    version : the model that the change is based on.

    Raises
    ------
    NotFound : the current release has no such cluster, or no such tiers.
    InvalidValue : the boundaries leave no tiers between them.
    Conflict : the link was fitted again, or its tiers were changed meanwhile.
    """
    release = uow.releases.find_current()
    model = None if release is None else uow.models.with_cluster(release, cluster_id)
    if release is None or model is None or model.id != version:
        raise Conflict("the link was fitted again or its tiers were changed meanwhile; look at them again")
    position = next(n for n, leaf in enumerate(model.leaves) if leaf.cluster_id == cluster_id)
    preview = preview_boundaries(model.leaves[position], key, cuts)
    own = CustomBoundaries(key, tuple(cuts), tuple(bounded.tier.id for bounded in preview.after))
    uow.custom_tiers.keep(model.link_id, own, replacing=[bounded.tier.id for bounded in preview.before])
    stored_tiers = separate_tiers([leaf.tiers for leaf in model.leaves])
    cut = apply_custom_boundaries(model.model(), stored_tiers, [own], model)
    model_id = uow.models.add(model.link_id, cut.model, cut.tiers, fitted_at=model.fitted_at)
    store_split_boundaries(model.link_id, cut, uow)
    uow.price_books.inherit(list_tier_origins([[bounded.tier for bounded in preview.after]]))
    new_release = uow.releases.with_model(
        model.link_id, model_id, built_on=release, at=clock.now(), why="tiers_cut", refits=False
    )
    uow.audit.note(
        "tier.cut",
        _format_key(key),
        link=_format_link(model.link_id, uow.links),
        before=[format_tier_name(bounded.partition) for bounded in preview.before],
        after=[format_tier_name(bounded.partition) for bounded in preview.after],
        release=new_release,
    )
    stored = uow.models.of_link(new_release, model.link_id)
    uow.publish(PricesChanged(uow.tenant_id))
    uow.publish(ReleaseChanged(uow.tenant_id, new_release))
    uow.commit()
    assert stored is not None, "the model was stored in this transaction"
    return stored.leaves[position].cluster_id


def reset_boundaries(cluster_id: UUID, key: PartitionKey, *, uow: UnitOfWork) -> None:
    """Remove custom boundaries, so that the next fit sets its own.

    Raises
    ------
    NotFound : the current release has no such cluster.
    """
    _, model, leaf = find_current_cluster(cluster_id, uow)
    uow.custom_tiers.forget(model.link_id, key, [bounded.tier.id for bounded in list_cluster_tiers(leaf, key)])
    uow.audit.note("tier.cuts_given_up", _format_key(key), link=_format_link(model.link_id, uow.links))
    uow.commit()


def apply_custom_boundaries(
    model: LinkModel, tiers: Sequence[Sequence[Tier]], own: Collection[CustomBoundaries], before: StoredModel | None
) -> CustomizedModel:
    """Return a model with the custom boundaries in the clusters that continue those they were set for, or are split
    from them.

    Parameters
    ----------
    tiers : for each leaf one for each of its partitions; the previous model's where they continue them.
    before : the previous model, which shows what bounds have moved.
    """
    known: Mapping[UUID, BoundedTier] = {
        tier.id: BoundedTier(tier, partition)
        for leaf in (() if before is None else before.leaves)
        for tier, partition in zip(leaf.tiers, leaf.model.partitions, strict=True)
    }
    cut, split = list(zip(model.leaves, tiers, strict=True)), []
    for boundaries in own:
        for n, (leaf, of_leaf) in enumerate(cut):
            mine = [
                tier
                for partition, tier in zip(leaf.partitions, of_leaf, strict=True)
                if partition.key == boundaries.key
            ]
            if {tier.id for tier in mine} & {*boundaries.tier_ids}:
                cut[n] = _apply_to_leaf(leaf, of_leaf, boundaries, known)
            elif {tier.split_from for tier in mine} & {*boundaries.tier_ids}:
                origins = {uuid4(): origin for origin in boundaries.tier_ids}
                part = replace(boundaries, tier_ids=tuple(origins))
                cut[n] = _apply_to_leaf(leaf, of_leaf, part, known, origins)
                split.append(part)
    return CustomizedModel(
        replace(model, leaves=tuple(leaf for leaf, _ in cut)), [of_leaf for _, of_leaf in cut], split
    )


def store_split_boundaries(link_id: UUID, customized: CustomizedModel, uow: UnitOfWork) -> None:
    """Store the boundaries of clusters that were split off, so that the next fit has them too."""
    for boundaries in customized.split:
        uow.custom_tiers.keep(link_id, boundaries, replacing=())


def _apply_to_leaf(
    leaf: LeafModel,
    tiers: Sequence[Tier],
    own: CustomBoundaries,
    known: Mapping[UUID, BoundedTier],
    origins: Mapping[UUID, UUID] = MappingProxyType({}),
) -> tuple[LeafModel, Sequence[Tier]]:
    """Return a leaf with these boundaries; ``origins`` : by each tier that is split off, the one it is split from."""
    pairs = list(zip(leaf.partitions, tiers, strict=True))
    held = [(partition, tier) for partition, tier in pairs if partition.key == own.key]
    edges, tier_ids = own.list_between(
        min(partition.lower for partition, _ in held), max(partition.upper for partition, _ in held)
    )
    try:
        solved = solve_between(leaf.table, own.key, edges)
    except InvalidValue:  # nothing between them can be certified now: the fit's own tiers serve until it can
        return leaf, tiers
    mine = [
        (partition, _mark_for_review(tier_id, partition, known, origins.get(tier_id)))
        for partition, tier_id in zip(solved, tier_ids, strict=True)
    ]
    others = [pair for pair in pairs if pair[0].key != own.key]
    first = pairs.index(held[0])
    joined = others[:first] + mine + others[first:]
    return replace(leaf, partitions=tuple(partition for partition, _ in joined)), [tier for _, tier in joined]


def _mark_for_review(
    tier_id: UUID, partition: Partition, known: Mapping[UUID, BoundedTier], origin: UUID | None
) -> Tier:
    """Return the tier, marked for review where it is new or its bounds have moved."""
    before = known.get(tier_id)
    if before is None:
        return Tier(tier_id, needs_review=True, split_from=origin)
    return before.tier.move(before.partition, partition)


def rename_tier(tier_id: UUID, name: str | None, *, uow: UnitOfWork) -> None:
    """Rename a tier; without a name it is named by its range.

    Raises
    ------
    NotFound : the tenant has no such tier.
    InvalidValue : nothing of the name is seen, or it has control characters.
    NameTaken : another tier of its link has that name, so that customers could not distinguish them.
    """
    _require_known(tier_id, uow)
    if name is not None:
        name = check_name(name)
        _check_free(name, tier_id, uow)
    before = _format_tiers([tier_id], uow)
    uow.custom_tiers.rename(tier_id, name)
    uow.audit.note("tier.renamed", before, now=name or "by its range", id=str(tier_id))
    uow.publish(PricesChanged(uow.tenant_id))
    uow.commit()


def _check_free(name: str, tier_id: UUID, uow: UnitOfWork) -> None:
    """Reject the name of another tier of the link in the current release; names of earlier ones are not shown."""
    release = uow.releases.find_current()
    mine = [] if release is None else uow.sla_tiers.of(release, [tier_id])
    for tier in list_link_tiers(mine[0].link_id, uow) if mine else ():
        if tier.tier.id != tier_id and fold_name(tier.name) == fold_name(name):
            which = f"{tier.range}, {tier.cluster}"
            raise NameTaken("name", f"{tier.name!r} is another tier of this link ({which}); choose another name")


def accept_tiers(tier_ids: Collection[UUID], *, seen_in: int, uow: UnitOfWork) -> None:
    """Accept tiers with their moved bounds after a review.

    Parameters
    ----------
    seen_in : the release whose bounds were reviewed.

    Raises
    ------
    NotFound : the tenant has no such tier.
    Conflict : the current release has other bounds, which nobody has seen.
    """
    current = uow.releases.find_current()
    seen, bounds = (
        {} if release is None else {each.tier.id: each.bounds for each in uow.sla_tiers.of(release, tier_ids)}
        for release in (seen_in, current)
    )
    for tier_id in tier_ids:
        _require_known(tier_id, uow)
        if tier_id not in seen or seen[tier_id] != bounds.get(tier_id):
            raise Conflict("the limits of these tiers have moved again meanwhile; look at them again")
        uow.custom_tiers.accept(tier_id, seen[tier_id])
        uow.audit.note("tier.reviewed", _format_tiers([tier_id], uow), id=str(tier_id))
    uow.commit()


def _format_key(key: PartitionKey) -> str:
    return f"{key.kind.replace('_', ' ')} at {key.confidence:.0%} on {key.energy_basis} energy"


def _format_link(link_id: UUID, links: LinkRepository) -> str:
    return next(format_path(link.key) for link in links.list_all() if link.id == link_id)


def _format_tiers(tier_ids: Collection[UUID], uow: UnitOfWork) -> str:
    return "; ".join(named.format() for named in list_named_tiers(tier_ids, uow))


def _require_known(tier_id: UUID, uow: UnitOfWork) -> None:
    if not uow.price_books.knows_tiers([tier_id]):
        raise NotFound("no such tier")
