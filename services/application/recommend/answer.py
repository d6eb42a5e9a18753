"""From an enquiry to parameters: link, chunks, nearest leaf of each, its SLA partition, and what to expect of all.

No I/O: the snapshot and the maker of ids are arguments.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from services.application.billing.price_list import PublishedBook
from services.application.recommend.assumed_load import AssumedLoad
from services.application.recommend.chunk_choice import (
    Solution,
    channels_of,
    kept_together,
    needs_power,
    planned,
    share_of,
    solve,
    target_share,
    together,
    within_pipe,
    within_together,
)
from services.application.recommend.quote import Quoted, quoted
from services.application.recommend.request import Enquiry, Offer
from services.application.recommend.served_model import ServedLeaf, ServedModel
from services.application.recommend.snapshot import Snapshot
from services.application.recommend.tier_of_answer import tier_of, weightiest
from services.application.recommend.unknown_path import path_told, recommend_unseen
from tradewind.dataset import Chunk
from tradewind.parameters import NO_CAPS, Caps
from tradewind.path import Path
from tradewind.recommendation import AnswerSource, ChunkPlan, Recommendation, SlaAnswer
from tradewind.sla.kinds import Sla
from tradewind.tiers.partitions import PartitionKey, serving
from tradewind.units import format_bps, format_count

MAX_OCTAVES = 3.0
"""A data set farther than this from every leaf (doublings of size and count together) is answered as an unseen one."""


def recommend(enquiry: Enquiry, snapshot: Snapshot, *, new_transfer_id: Callable[[], UUID]) -> Offer:
    """Answer from the release in force; an unseen path or data set from its neighbours, else from closed-form rules.

    Raises
    ------
    NotInMemory : models have to be fetched first.
    """
    found = recommend_seen(enquiry, snapshot, new_transfer_id)
    return found if isinstance(found, Offer) else recommend_unseen(found, snapshot, new_transfer_id)


def recommend_seen(enquiry: Enquiry, snapshot: Snapshot, new_transfer_id: Callable[[], UUID]) -> Offer | Enquiry:
    """Answer from the link's own history; where that cannot tell, the enquiry with what is known of path and load.

    Raises
    ------
    NotInMemory : the link's model has to be fetched first.
    """
    if (permitted := snapshot.permitted(enquiry.link, enquiry.weight)) is not None:
        enquiry = enquiry.within(*permitted)
    if (indexed := snapshot.indexed(enquiry.link)) is None:
        return enquiry
    model = snapshot.model(indexed)
    path = _path_of(enquiry, model, snapshot)
    load = model.load(enquiry.load)
    chunks = enquiry.chunks(path)
    nearest = [model.nearest(chunk.dataset, load.share) for chunk in chunks]
    leaves = [snapshot.shelf.under(leaf, load).limited_to(enquiry.rate_limit_bps) for leaf, _ in nearest]
    octaves = max((away for _, away in nearest), default=0.0)
    ceiling_bps = path.at_most(enquiry.rate_limit_bps).bandwidth_bps
    solved = _solve(enquiry, chunks, leaves, ceiling_bps or math.inf) if octaves <= MAX_OCTAVES else None
    if solved is None:
        return replace(enquiry, path=path, load=load.share)
    solutions, agreed = solved
    plan = tuple(map(planned, chunks, solutions))
    room_bps = min(_ceiling_bps(model, path, load), enquiry.rate_limit_bps or math.inf)
    predicted = together(chunks, solutions, enquiry.dataset, enquiry.sla, room_bps)
    probability, feasible = kept_together(solutions, predicted, enquiry.dataset, enquiry.sla, ceiling_bps)
    is_reached = ceiling_bps is not None and predicted.throughput_bps.mean >= ceiling_bps
    predicted = within_pipe(predicted, ceiling_bps)
    sla = SlaAnswer(agreement=enquiry.sla, probability=probability, feasible=feasible)
    quote = None
    if feasible:
        most = weightiest(chunks)
        tier = tier_of(agreed[most], leaves[most], solutions, enquiry.dataset)
        priced = partial(quoted, chunks=chunks, solutions=solutions, dataset=enquiry.dataset, sla=enquiry.sla)
        sla, quote = _in_tier(sla, tier, snapshot, partial(priced, predicted=predicted, room_bps=room_bps))
    recommendation = Recommendation(
        transfer_id=new_transfer_id(),
        plan=plan,
        predicted=predicted,
        sla=sla,
        tables={},
        source=AnswerSource.RELEASE,
        rationale=_rationale(
            snapshot,
            leaves=leaves,
            plan=plan,
            feasible=feasible,
            load=load,
            octaves=octaves,
            mean_bps=predicted.throughput_bps.mean,
        )
        + enquiry.ceiling(path, is_reached=is_reached)
        + enquiry.sharing
        + (quote.unpriced if quote else ""),
        release=snapshot.release,
        nearest_data_distance=octaves,
    )
    tables = {chunk.kind: leaf.table_json for chunk, leaf in zip(chunks, leaves, strict=True)}
    return Offer(recommendation, tables, quote, indexed.link_id)


def _path_of(enquiry: Enquiry, model: ServedModel, snapshot: Snapshot) -> Path:
    """As asked for, completed by what was learned of it or else told of its link."""
    path = enquiry.path.completed_by(model.path)
    return path if path.bdp_bytes is not None else path_told(path, enquiry.link, snapshot)


def _in_tier(
    sla: SlaAnswer, tier: Solution | None, snapshot: Snapshot, priced: Callable[[PublishedBook, UUID | None], Quoted]
) -> tuple[SlaAnswer, Quoted | None]:
    """The answer with its tier, and what the book in force says of it; ``priced`` : the transfer by a book and tier."""
    tier_id = None
    if tier is not None and tier.tier_id is not None:
        tier_id = tier.tier_id
        sla = sla._replace(tier_id=tier_id, tier=snapshot.index.tier_names.get(tier_id, tier.tier))
    if snapshot.book is None:
        return sla, None
    quote = priced(snapshot.book, tier_id)
    return sla._replace(price=quote.price), quote


def _ceiling_bps(model: ServedModel, path: Path, load: AssumedLoad) -> float:
    """What all chunks together cannot exceed: the pipe less the load, or the fastest setting of any leaf if it is more.

    The load of a link is an upper bound where transfers did not fill the pipe, so what was reached counts too.
    """
    return max(model.fastest_bps(load), (path.bandwidth_bps or 0.0) * (1 - load.share))


def _solve(
    enquiry: Enquiry, chunks: Sequence[Chunk], leaves: Sequence[ServedLeaf], ceiling_bps: float
) -> tuple[list[Solution], list[Sla]] | None:
    """A solution for each chunk, and what each goes by; where the sum exceeds the caps, each has its share of them.

    ``None`` where the leaves cannot tell: no power in their logs, or caps below every setting seen.
    """
    if needs_power(enquiry.sla) and not all(leaf.model.table.knows_power for leaf in leaves):
        return None
    whole = max(enquiry.dataset.total_bytes, 1)
    shares = [chunk.dataset.total_bytes / whole for chunk in chunks]
    agreed = [_agreed(enquiry.sla, leaf, ceiling_bps, share) for leaf, share in zip(leaves, shares, strict=True)]
    caps = enquiry.caps
    solutions = _solve_within(agreed, chunks, leaves, [caps] * len(chunks))
    if solutions is not None and caps is not NO_CAPS and not within_together(solutions, caps):
        parts = [caps.part(share, len(chunks)) for share in shares]
        solutions = _solve_within(agreed, chunks, leaves, parts)
    return None if solutions is None else (solutions, [sla for sla, _ in agreed])


def _agreed(sla: Sla, leaf: ServedLeaf, ceiling_bps: float, share: float) -> tuple[Sla, float]:
    """What a chunk has to keep, and which share of its target.

    Where the logs tell of more than the path carries or the user permits, a share of the maximum is one of what is left
    of it: a target that the chunk keeps as it stands.
    """
    if sla.fraction is None:
        return sla, share
    most_bps = leaf.certifiable_below_bps(ceiling_bps, sla.confidence)
    return (sla, share) if most_bps is None else (sla.with_target(sla.fraction * most_bps), 1.0)


def _solve_within(
    agreed: Sequence[tuple[Sla, float]], chunks: Sequence[Chunk], leaves: Sequence[ServedLeaf], caps: Sequence[Caps]
) -> list[Solution] | None:
    """Each chunk's solution for its share of the agreement, within its caps."""
    solutions: list[Solution] = []
    for (sla, share), chunk, leaf, permitted in zip(agreed, chunks, leaves, caps, strict=True):
        key = PartitionKey.of(sla)
        solution = _solved_beforehand(key, chunk, leaf, sla, share)
        if solution is None or (permitted is not NO_CAPS and not permitted.allow(solution.setting.parameters)):
            part = share_of(sla, share, leaf.model.table.base_power_w)
            solution = solve(leaf.table, chunk, part, permitted)
        if solution is None:
            return None
        solutions.append(solution)
    return solutions


def _solved_beforehand(key: PartitionKey, chunk: Chunk, leaf: ServedLeaf, sla: Sla, share: float) -> Solution | None:
    """The partition that serves a chunk's share of the agreement, if it can be certified."""
    return serving(
        leaf.partitions(key),
        sla,
        dataset_bytes=chunk.dataset.total_bytes,
        part_of_target=target_share(sla, share, leaf.model.table.base_power_w),
    )


def _rationale(
    snapshot: Snapshot,
    *,
    leaves: Sequence[ServedLeaf],
    plan: Sequence[ChunkPlan],
    feasible: bool,
    load: AssumedLoad,
    octaves: float,
    mean_bps: float,
) -> str:
    rows = sum([leaf.model.leaf.row_count for leaf in {*leaves}])
    kept = "" if feasible else "; cannot be certified, this is the likeliest setting"
    return (
        f"release {snapshot.release}: {channels_of(plan)} from {format_count(rows, 'log')} {octaves:.1f} octaves away"
        f" at {load.told(leaf.model.load_effect for leaf in leaves)}; expects {format_bps(mean_bps)}{kept}"
    )
