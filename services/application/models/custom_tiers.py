"""What a provider says of its tiers: names, and cuts of its own between them, which hold over refits.

Cuts are kept by the identities of the tiers between them. They are applied to the release in force at once, as a
release of its own, and again to every model that is fitted later.
"""

import itertools
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

from services.application.logs.ports import LinkRepository
from services.application.models.current_cluster import find_current_cluster
from services.application.models.learned_model import StoredLeaf, StoredModel, Tier
from services.application.models.sla_tiers import (
    format_path,
    list_link_tiers,
    list_named_tiers,
)
from services.application.models.tier_identity import list_tier_origins
from services.application.shared.jobs import PricesChanged, ReleaseChanged
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, InvalidValue, NotFound
from tradewind.model import LeafModel, LinkModel
from tradewind.tiers.custom import MIN_WIDTH, check_boundaries, solve_between
from tradewind.tiers.partitions import Partition, PartitionKey, has_moved, match_partitions, tier_name


@dataclass(frozen=True, slots=True)
class CustomBoundaries:
    """Where a provider cuts the targets of one key; tier n lies between the cuts n − 1 and n."""

    key: PartitionKey
    cuts: tuple[float, ...]
    tier_ids: tuple[UUID, ...]

    def between(self, lowest: float, highest: float) -> tuple[tuple[float, ...], tuple[UUID, ...]]:
        """Edges and tiers of what can be certified now; those beyond it are kept until it reaches them again."""
        inside = (cut for cut in self.cuts if cut - lowest > MIN_WIDTH * cut and highest - cut > MIN_WIDTH * highest)
        edges = (lowest, *inside, highest)
        middles = ((below + above) / 2 for below, above in itertools.pairwise(edges))
        return edges, tuple(self.tier_ids[bisect_right(self.cuts, middle)] for middle in middles)


@dataclass(frozen=True, slots=True)
class BoundedTier:
    """A tier and what serves it; ``is_new`` : it continues none, and inherits the price of what it was split from."""

    tier: Tier
    partition: Partition
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class BoundaryPreview:
    """The tiers of a key as they are and as they would be, both solved alike, so that their regrets compare."""

    before: Sequence[BoundedTier]
    after: Sequence[BoundedTier]


def list_cluster_tiers(leaf: StoredLeaf, key: PartitionKey) -> Sequence[BoundedTier]:
    """The tiers of a cluster for one key, ascending."""
    held = zip(leaf.tiers, leaf.model.partitions, strict=True)
    return sorted(
        (BoundedTier(tier, partition) for tier, partition in held if partition.key == key),
        key=lambda each: each.partition.lower,
    )


def preview_boundaries(leaf: StoredLeaf, key: PartitionKey, cuts: Sequence[float]) -> BoundaryPreview:
    """What other cuts would change: a tier goes on in the one that shares most with it.

    Raises
    ------
    InvalidValue : the kind cannot be cut, or not there.
    NotFound : the cluster has no tiers of this key.
    """
    held = list_cluster_tiers(leaf, key)
    if not held:
        raise NotFound("the cluster has no such tiers")
    edges = (held[0].partition.lower, *(each.partition.upper for each in held))
    check_boundaries(cuts, lowest=edges[0], highest=edges[-1])
    as_is = solve_between(leaf.model.table, key, edges)
    before = [replace(each, partition=partition) for each, partition in zip(held, as_is, strict=True)]
    tier_of = {id(each.partition): each.tier for each in before}
    after = []
    for match in match_partitions(as_is, solve_between(leaf.model.table, key, (edges[0], *cuts, edges[-1]))):
        if match.old is None:
            origin = None if match.split_from is None else tier_of[id(match.split_from)].id
            after.append(BoundedTier(Tier(uuid4(), needs_review=True, split_from=origin), match.new, is_new=True))
        else:
            tier = tier_of[id(match.old)]
            after.append(BoundedTier(replace(tier, needs_review=tier.needs_review or match.moved), match.new))
    return BoundaryPreview(before, after)


def set_boundaries(
    cluster_id: UUID, key: PartitionKey, cuts: Sequence[float], *, version: UUID, uow: UnitOfWork, clock: Clock
) -> UUID:
    """Cut the tiers of a cluster otherwise, from now on and after each fit; the cluster's id in the new release.

    Parameters
    ----------
    version : the model that the change was made on.

    Raises
    ------
    NotFound : the release in force has no such cluster, or no such tiers.
    InvalidValue : the cuts leave no tiers between them.
    Conflict : the link was fitted again, or somebody else changed its tiers.
    """
    release = uow.releases.current()
    model = None if release is None else uow.models.with_cluster(release, cluster_id)
    if release is None or model is None or model.id != version:
        raise Conflict("the link was fitted again or its tiers were changed meanwhile; look at them again")
    position = next(n for n, leaf in enumerate(model.leaves) if leaf.cluster_id == cluster_id)
    effect = preview_boundaries(model.leaves[position], key, cuts)
    own = CustomBoundaries(key, tuple(cuts), tuple(each.tier.id for each in effect.after))
    uow.custom_tiers.keep(model.link_id, own, replacing=[each.tier.id for each in effect.before])
    cut, tiers = apply_custom_boundaries(model.model(), [leaf.tiers for leaf in model.leaves], [own], model)
    model_id = uow.models.add(model.link_id, cut, tiers, fitted_at=model.fitted_at)
    uow.price_books.inherit(list_tier_origins([[each.tier for each in effect.after]]))
    now_in_force = uow.releases.with_model(
        model.link_id, model_id, built_on=release, at=clock.now(), why="tiers_cut", refits=False
    )
    uow.audit.note(
        "tier.cut",
        _in_words(key),
        link=_path(model.link_id, uow.links),
        before=[tier_name(each.partition) for each in effect.before],
        after=[tier_name(each.partition) for each in effect.after],
        release=now_in_force,
    )
    stored = uow.models.of_link(now_in_force, model.link_id)
    uow.publish(PricesChanged(uow.tenant_id))
    uow.publish(ReleaseChanged(uow.tenant_id, now_in_force))
    uow.commit()
    assert stored is not None, "it was stored just now"
    return stored.leaves[position].cluster_id


def reset_boundaries(cluster_id: UUID, key: PartitionKey, *, uow: UnitOfWork) -> None:
    """Let the next fit cut the tiers of a cluster as it proposes.

    Raises
    ------
    NotFound : the release in force has no such cluster.
    """
    _, model, leaf = find_current_cluster(cluster_id, uow)
    uow.custom_tiers.forget(model.link_id, key, [each.tier.id for each in list_cluster_tiers(leaf, key)])
    uow.audit.note("tier.cuts_given_up", _in_words(key), link=_path(model.link_id, uow.links))
    uow.commit()


def apply_custom_boundaries(
    model: LinkModel, tiers: Sequence[Sequence[Tier]], own: Collection[CustomBoundaries], before: StoredModel | None
) -> tuple[LinkModel, Sequence[Sequence[Tier]]]:
    """A model with the provider's own cuts in the clusters that continue those they were made for.

    Parameters
    ----------
    tiers : for each leaf one for each of its partitions; those of the model before where they continue them.
    before : by which bounds are told that moved.
    """
    known: Mapping[UUID, BoundedTier] = {
        tier.id: BoundedTier(tier, partition)
        for leaf in (() if before is None else before.leaves)
        for tier, partition in zip(leaf.tiers, leaf.model.partitions, strict=True)
    }
    cut = list(zip(model.leaves, tiers, strict=True))
    for each in own:
        cut = [_cut(leaf, of_leaf, each, known) for leaf, of_leaf in cut]
    return replace(model, leaves=tuple(leaf for leaf, _ in cut)), [of_leaf for _, of_leaf in cut]


def _cut(
    leaf: LeafModel, tiers: Sequence[Tier], own: CustomBoundaries, known: Mapping[UUID, BoundedTier]
) -> tuple[LeafModel, Sequence[Tier]]:
    whole = list(zip(leaf.partitions, tiers, strict=True))
    held = [(partition, tier) for partition, tier in whole if partition.key == own.key]
    if not {tier.id for _, tier in held} & {*own.tier_ids}:
        return leaf, tiers
    edges, tier_ids = own.between(
        min(partition.lower for partition, _ in held), max(partition.upper for partition, _ in held)
    )
    try:
        solved = solve_between(leaf.table, own.key, edges)
    except InvalidValue:  # nothing between them can be certified any more: what is proposed serves until it can
        return leaf, tiers
    mine = list(zip(solved, map(_marked, tier_ids, solved, [known] * len(solved)), strict=True))
    others = [pair for pair in whole if pair[0].key != own.key]
    first = whole.index(held[0])
    joined = others[:first] + mine + others[first:]
    return replace(leaf, partitions=tuple(partition for partition, _ in joined)), [tier for _, tier in joined]


def _marked(tier_id: UUID, partition: Partition, known: Mapping[UUID, BoundedTier]) -> Tier:
    """The tier, to be reviewed where its bounds have moved or nobody has seen it yet."""
    before = known.get(tier_id)
    if before is None:
        return Tier(tier_id, needs_review=True)
    return Tier(tier_id, needs_review=before.tier.needs_review or has_moved(before.partition, partition))


def rename_tier(tier_id: UUID, name: str | None, *, uow: UnitOfWork) -> None:
    """Call a tier otherwise; without a name it goes by its range.

    Raises
    ------
    NotFound : the tenant has no such tier.
    InvalidValue : another tier of its link goes by that name, so that customers could not tell them apart.
    """
    _known(tier_id, uow)
    if name is not None:
        _check_free(name, tier_id, uow)
    before = _named([tier_id], uow)
    uow.custom_tiers.rename(tier_id, name)
    uow.audit.note("tier.renamed", before, now=name or "by its range", id=str(tier_id))
    uow.publish(PricesChanged(uow.tenant_id))
    uow.commit()


def _check_free(name: str, tier_id: UUID, uow: UnitOfWork) -> None:
    """Refuse a name of another tier of the link in the release in force: nobody is told those of earlier ones."""
    release = uow.releases.current()
    mine = [] if release is None else uow.sla_tiers.of(release, [tier_id])
    for each in list_link_tiers(mine[0].link_id, uow) if mine else ():
        if each.tier.id != tier_id and each.name.casefold().split() == name.casefold().split():
            which = f"{each.range}, {each.cluster}"
            raise InvalidValue("name", f"{each.name!r} is another tier of this link ({which}); choose another name")


def accept_tiers(tier_ids: Iterable[UUID], *, uow: UnitOfWork) -> None:
    """Let tiers stand as they are: their moved bounds were looked at.

    Raises
    ------
    NotFound : the tenant has no such tier.
    """
    for tier_id in tier_ids:
        _known(tier_id, uow)
        uow.custom_tiers.accept(tier_id)
        uow.audit.note("tier.reviewed", _named([tier_id], uow), id=str(tier_id))
    uow.commit()


def _in_words(key: PartitionKey) -> str:
    return f"{key.kind.replace('_', ' ')} at {key.confidence:.0%} on {key.energy_basis} energy"


def _path(link_id: UUID, links: LinkRepository) -> str:
    return next(format_path(link.key) for link in links.all() if link.id == link_id)


def _named(tier_ids: Collection[UUID], uow: UnitOfWork) -> str:
    return "; ".join(each.in_words() for each in list_named_tiers(tier_ids, uow))


def _known(tier_id: UUID, uow: UnitOfWork) -> None:
    if not uow.price_books.knows_tiers([tier_id]):
        raise NotFound("no such tier")
