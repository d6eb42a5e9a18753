"""Answer a request from the link's own history: chunks, the nearest leaf of each, its SLA partition, the prediction.

No I/O: the snapshot and the maker of ids are arguments.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from services.application.billing.price_list import CustomerPrices, PublishedBook
from services.application.recommend.chunks import (
    Solution,
    assess_together,
    bound_by_bandwidth,
    fits_caps_together,
    format_plan,
    needs_power,
    plan_chunk,
    predict_together,
    scale_sla,
    solve,
)
from services.application.recommend.pricing import PriceQuote, find_largest_chunk, find_tier, quote_price
from services.application.recommend.request import PricedRecommendation, TransferRequest
from services.application.recommend.served_model import AssumedLoad, ServedLeaf, ServedModel
from services.application.recommend.snapshot import Snapshot
from services.application.recommend.unknown_path import complete_path
from tradewind.dataset import Chunk
from tradewind.parameters import NO_CAPS, Caps
from tradewind.path import Path
from tradewind.prediction import Prediction
from tradewind.recommendation import AnswerSource, Recommendation, SlaAnswer
from tradewind.sla.kinds import Sla
from tradewind.tiers.partitions import PartitionKey
from tradewind.tiers.setting_table import QUANTITY_OF
from tradewind.units import format_bps, format_count

MAX_DOUBLINGS = 3.0
"""A data set farther than this from every leaf (doublings of size and count together) counts as an unknown path."""


def recommend_from_history(
    request: TransferRequest, snapshot: Snapshot, new_transfer_id: Callable[[], UUID]
) -> PricedRecommendation | TransferRequest:
    """Answer from the link's own history; where that cannot, return the request with the known path and load.

    Raises
    ------
    NotInMemory : the link's model has to be fetched first.
    """
    request = _apply_caps(request, snapshot)
    if (indexed := snapshot.find_link(request.link)) is None:
        return request
    model = snapshot.get_model(indexed)
    path = _complete_path(request, model, snapshot)
    load = model.assume_load(request.load)
    chunks = request.split_into_chunks(path)
    leaves, distance = _find_nearest_leaves(request, chunks, model, load, snapshot)
    settled = replace(
        request, sla=snapshot.settle_basis(request.sla, request.link, [leaf.model.table for leaf in leaves])
    )
    ceiling_bps = path.limit_bandwidth(request.rate_limit_bps).bandwidth_bps
    solved = _solve(settled, chunks, leaves, ceiling_bps or math.inf) if distance <= MAX_DOUBLINGS else None
    if solved is None:
        return replace(request, path=path, load=load.share)
    request = settled
    solutions, chunk_slas = solved
    room_bps = min(_compute_available_bps(model, path, load), request.rate_limit_bps or math.inf)
    predicted = predict_together(chunks, solutions, request.dataset, request.sla, room_bps)
    probability, feasible = assess_together(solutions, predicted, request.dataset, request.sla, ceiling_bps)
    is_ceiling_reached = ceiling_bps is not None and predicted.throughput_bps.mean >= ceiling_bps
    predicted = bound_by_bandwidth(predicted, ceiling_bps)
    sla, quote = SlaAnswer(sla=request.sla, probability=probability, feasible=feasible), None
    if feasible:
        largest = find_largest_chunk(chunks)
        tier = find_tier(chunk_slas[largest], leaves[largest], solutions, request.dataset)
        negotiated = snapshot.find_negotiated(request.key_id)
        price_by_tier = _prepare_price(request, predicted, chunks, solutions, room_bps=room_bps, negotiated=negotiated)
        sla, quote = _add_tier_and_price(sla, tier, snapshot, price_by_tier)
    recommendation = Recommendation(
        transfer_id=new_transfer_id(),
        plan=tuple(map(plan_chunk, chunks, solutions)),
        predicted=predicted,
        sla=sla,
        tables={},
        source=AnswerSource.RELEASE,
        rationale="",
        release=snapshot.release,
        nearest_data_distance=distance,
    )
    rationale = (
        _format_rationale(recommendation, leaves, load)
        + request.format_ceiling(path, is_reached=is_ceiling_reached)
        + request.caps_text
        + (quote.unpriced if quote else "")
    )
    tables = {chunk.kind: leaf.table_json for chunk, leaf in zip(chunks, leaves, strict=True)}
    return PricedRecommendation(recommendation._replace(rationale=rationale), tables, quote, indexed.link_id)


def _apply_caps(request: TransferRequest, snapshot: Snapshot) -> TransferRequest:
    """Return the request within the caps that are set for its link, and within the streams that servers permit."""
    if (permitted := snapshot.compute_permitted_caps(request.link, request.weight)) is not None:
        request = request.tighten(*permitted)
    return request.limit_streams(snapshot.find_learned_streams(request.link, request.key_id))


def _find_nearest_leaves(
    request: TransferRequest, chunks: Sequence[Chunk], model: ServedModel, load: AssumedLoad, snapshot: Snapshot
) -> tuple[list[ServedLeaf], float]:
    """Return the nearest leaf of each chunk under the load, and the longest distance to them, in doublings."""
    nearest = [model.find_nearest(chunk.dataset, load.share) for chunk in chunks]
    leaves = [snapshot.model_cache.apply_load(leaf, load).limit_rate(request.rate_limit_bps) for leaf, _ in nearest]
    return leaves, max((doublings for _, doublings in nearest), default=0.0)


def _complete_path(request: TransferRequest, model: ServedModel, snapshot: Snapshot) -> Path:
    """Return the requested path, completed by what was learned of it, else by what is known of its link."""
    path = request.path.complete_from(model.path)
    return path if path.bdp_bytes is not None else complete_path(path, request.link, snapshot)


def _prepare_price(
    request: TransferRequest,
    predicted: Prediction,
    chunks: Sequence[Chunk],
    solutions: Sequence[Solution],
    *,
    room_bps: float,
    negotiated: CustomerPrices | None,
) -> Callable[[PublishedBook, UUID | None], PriceQuote]:
    """Return what quotes this transfer by a price book in a tier, under what is negotiated with its customer."""
    return partial(
        quote_price,
        predicted=predicted,
        chunks=chunks,
        solutions=solutions,
        dataset=request.dataset,
        sla=request.sla,
        room_bps=room_bps,
        negotiated=negotiated,
    )


def _add_tier_and_price(
    sla: SlaAnswer,
    tier: Solution | None,
    snapshot: Snapshot,
    price_by_tier: Callable[[PublishedBook, UUID | None], PriceQuote],
) -> tuple[SlaAnswer, PriceQuote | None]:
    """Return the SLA with its tier and price, and the quote of the current price book, if there is one."""
    tier_id = None
    if tier is not None and tier.tier_id is not None:
        tier_id = tier.tier_id
        sla = sla._replace(tier_id=tier_id, tier=snapshot.index.tier_names.get(tier_id, tier.tier))
    if snapshot.book is None:
        return sla, None
    quote = price_by_tier(snapshot.book, tier_id)
    return sla._replace(price=quote.price), quote


def _compute_available_bps(model: ServedModel, path: Path, load: AssumedLoad) -> float:
    """Return what all chunks together cannot exceed: the pipe less the load, or the fastest setting if that is more.

    The load of a link is an upper bound where transfers did not fill the pipe, so what was reached counts too.
    """
    return max(model.find_fastest_bps(load), (path.bandwidth_bps or 0.0) * (1 - load.share))


def _solve(
    request: TransferRequest, chunks: Sequence[Chunk], leaves: Sequence[ServedLeaf], ceiling_bps: float
) -> tuple[list[Solution], list[Sla]] | None:
    """Return a solution and the SLA of each chunk; where the sum exceeds the caps, each chunk gets its share of them.

    ``None`` where the leaves have no answer: no power in their logs, or caps below every setting seen.
    """
    if needs_power(request.sla) and not all(leaf.model.table.knows_power for leaf in leaves):
        return None
    total_bytes = max(request.dataset.total_bytes, 1)
    shares = [chunk.dataset.total_bytes / total_bytes for chunk in chunks]
    chunk_slas = [
        _build_sla_of_chunk(request.sla, leaf, ceiling_bps, share) for leaf, share in zip(leaves, shares, strict=True)
    ]
    caps = request.caps
    solutions = _solve_within(chunk_slas, chunks, leaves, [caps] * len(chunks))
    if solutions is not None and caps is not NO_CAPS and not fits_caps_together(solutions, caps):
        parts = [caps.take_part(share, len(chunks)) for share in shares]
        solutions = _solve_within(chunk_slas, chunks, leaves, parts)
    return None if solutions is None else (solutions, [sla for sla, _ in chunk_slas])


def _build_sla_of_chunk(sla: Sla, leaf: ServedLeaf, ceiling_bps: float, share: float) -> tuple[Sla, float]:
    """Return the SLA of a chunk, and which share of its target the chunk has to meet.

    The logs may report more than the path carries or the user permits. A fraction of the maximum is then a fraction of
    what remains of it: a target that the chunk meets as it stands.
    """
    if sla.fraction is None:
        return sla, share
    most_bps = leaf.find_certifiable_bps(ceiling_bps, sla.confidence)
    return (sla, share) if most_bps is None else (sla.with_target(sla.fraction * most_bps), 1.0)


def _solve_within(
    chunk_slas: Sequence[tuple[Sla, float]],
    chunks: Sequence[Chunk],
    leaves: Sequence[ServedLeaf],
    caps: Sequence[Caps],
) -> list[Solution] | None:
    """Return each chunk's solution for its share of the SLA within its caps; ``None`` where the caps permit none."""
    solutions: list[Solution] = []
    for (sla, share), chunk, leaf, permitted in zip(chunk_slas, chunks, leaves, caps, strict=True):
        part = scale_sla(sla, share, leaf.model.table.base_power_w)
        solution = _find_promised(chunk, leaf, part)
        if solution is None or (permitted is not NO_CAPS and not permitted.allow(solution.setting.parameters)):
            solution = solve(leaf.table, chunk, part, permitted)
        if solution is None:
            return None
        solutions.append(solution)
    return solutions


def _find_promised(chunk: Chunk, leaf: ServedLeaf, sla: Sla) -> Solution | None:
    """Return the solution of an SLA that the tiers of a cluster promise; ``None`` where none of them does.

    A target is solved for itself: the setting of its tier keeps the tier's hardest target, which costs more. A fraction
    of the maximum is also about what is expected (`choose_setting`), tiers are about bounds alone.
    """
    partitions = leaf.find_partitions(PartitionKey.of(sla))
    if sla.fraction is not None or not partitions:
        return None
    if sla.kind not in QUANTITY_OF:
        return partitions[-1]
    solution = solve(leaf.promised, chunk, sla)
    return solution if solution is not None and solution.feasible else None


def _format_rationale(recommendation: Recommendation, leaves: Sequence[ServedLeaf], load: AssumedLoad) -> str:
    rows = sum([leaf.model.leaf.row_count for leaf in {*leaves}])
    reservation = "" if recommendation.sla.feasible else "; cannot be certified, this is the likeliest setting"
    return (
        f"release {recommendation.release}: {format_plan(recommendation.plan)} from {format_count(rows, 'log')}"
        f" {recommendation.nearest_data_distance:.1f} doublings away"
        f" at {load.describe(leaf.model.load_effect for leaf in leaves)};"
        f" expects {format_bps(recommendation.predicted.throughput_bps.mean)}{reservation}"
    )
