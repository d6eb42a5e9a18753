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
    assess_together,
    bound_by_bandwidth,
    fits_caps_together,
    format_plan,
    needs_power,
    plan_chunk,
    predict_together,
    scale_sla,
    scale_target,
    solve,
)
from services.application.recommend.quote import PriceQuote, quote_price
from services.application.recommend.request import PricedRecommendation, TransferRequest
from services.application.recommend.served_model import ServedLeaf, ServedModel
from services.application.recommend.snapshot import Snapshot
from services.application.recommend.tier_of_answer import find_largest_chunk, find_tier
from services.application.recommend.unknown_path import complete_path, recommend_unknown_path
from tradewind.dataset import Chunk
from tradewind.parameters import NO_CAPS, Caps
from tradewind.path import Path
from tradewind.recommendation import AnswerSource, ChunkPlan, Recommendation, SlaAnswer
from tradewind.sla.kinds import Sla
from tradewind.tiers.partitions import PartitionKey, serving
from tradewind.units import format_bps, format_count

MAX_DOUBLINGS = 3.0
"""A data set farther than this from every leaf (doublings of size and count together) is answered as an unseen one."""


def recommend(
    enquiry: TransferRequest, snapshot: Snapshot, *, new_transfer_id: Callable[[], UUID]
) -> PricedRecommendation:
    """Answer from the release in force; an unseen path or data set from its neighbours, else from closed-form rules.

    Raises
    ------
    NotInMemory : models have to be fetched first.
    """
    found = recommend_from_history(enquiry, snapshot, new_transfer_id)
    return (
        found if isinstance(found, PricedRecommendation) else recommend_unknown_path(found, snapshot, new_transfer_id)
    )


def recommend_from_history(
    enquiry: TransferRequest, snapshot: Snapshot, new_transfer_id: Callable[[], UUID]
) -> PricedRecommendation | TransferRequest:
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
    leaves = [snapshot.model_cache.under_load(leaf, load).limited_to(enquiry.rate_limit_bps) for leaf, _ in nearest]
    octaves = max((away for _, away in nearest), default=0.0)
    ceiling_bps = path.at_most(enquiry.rate_limit_bps).bandwidth_bps
    solved = _solve(enquiry, chunks, leaves, ceiling_bps or math.inf) if octaves <= MAX_DOUBLINGS else None
    if solved is None:
        return replace(enquiry, path=path, load=load.share)
    solutions, agreed = solved
    plan = tuple(map(plan_chunk, chunks, solutions))
    room_bps = min(_ceiling_bps(model, path, load), enquiry.rate_limit_bps or math.inf)
    predicted = predict_together(chunks, solutions, enquiry.dataset, enquiry.sla, room_bps)
    probability, feasible = assess_together(solutions, predicted, enquiry.dataset, enquiry.sla, ceiling_bps)
    is_reached = ceiling_bps is not None and predicted.throughput_bps.mean >= ceiling_bps
    predicted = bound_by_bandwidth(predicted, ceiling_bps)
    sla = SlaAnswer(agreement=enquiry.sla, probability=probability, feasible=feasible)
    quote = None
    if feasible:
        most = find_largest_chunk(chunks)
        tier = find_tier(agreed[most], leaves[most], solutions, enquiry.dataset)
        priced = partial(quote_price, chunks=chunks, solutions=solutions, dataset=enquiry.dataset, sla=enquiry.sla)
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
    return PricedRecommendation(recommendation, tables, quote, indexed.link_id)


def _path_of(enquiry: TransferRequest, model: ServedModel, snapshot: Snapshot) -> Path:
    """As asked for, completed by what was learned of it or else told of its link."""
    path = enquiry.path.completed_by(model.path)
    return path if path.bdp_bytes is not None else complete_path(path, enquiry.link, snapshot)


def _in_tier(
    sla: SlaAnswer,
    tier: Solution | None,
    snapshot: Snapshot,
    priced: Callable[[PublishedBook, UUID | None], PriceQuote],
) -> tuple[SlaAnswer, PriceQuote | None]:
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
    enquiry: TransferRequest, chunks: Sequence[Chunk], leaves: Sequence[ServedLeaf], ceiling_bps: float
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
    if solutions is not None and caps is not NO_CAPS and not fits_caps_together(solutions, caps):
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
            part = scale_sla(sla, share, leaf.model.table.base_power_w)
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
        part_of_target=scale_target(sla, share, leaf.model.table.base_power_w),
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
        f"release {snapshot.release}: {format_plan(plan)} from {format_count(rows, 'log')} {octaves:.1f} octaves away"
        f" at {load.told(leaf.model.load_effect for leaf in leaves)}; expects {format_bps(mean_bps)}{kept}"
    )
