"""Recommendations for paths or data sets without history: nearest links, else the closed-form rules, and it says so.

Nothing here is certified: the probability is the model's own, ``feasible`` is false.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from services.application.recommend.chunk_choice import (
    Solution,
    bound_by_bandwidth,
    format_plan,
    needs_power,
    plan_chunk,
    predict_together,
    scale_sla,
    solve,
)
from services.application.recommend.neighbours import Neighbour, Neighbourhood, find_nearest_leaves, locate
from services.application.recommend.request import PricedRecommendation, TransferRequest
from services.application.recommend.served_model import ServedModel
from services.application.recommend.snapshot import Snapshot
from services.application.recommend.unknown_path_reason import explain_unknown_path
from tradewind.dataset import Chunk
from tradewind.energy.ends import PowerByEnd
from tradewind.model import compacted
from tradewind.path import Path
from tradewind.prediction import PredictedSetting, Prediction, Quantity, predict
from tradewind.recommendation import AnswerSource, ChunkPlan, CompactTable, Recommendation, SlaAnswer
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tiers.selection import QUANTITY_OF, SettingTable
from tradewind.transfer import LinkKey
from tradewind.units import format_bps, format_joules
from tradewind.unknown_path import prior
from tradewind.unknown_path.borrowing import OTHER_MOVER_LOG_SD, Lender, borrowed, lenders_of_power, power_by_end_of
from tradewind.unknown_path.rules import assuming, cold_start, completed
from tradewind.wire.recommendations import table_json

_LEAST_ENERGY = frozenset({SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY})


@dataclass(frozen=True, slots=True)
class _Grounds:
    """What an answer stands on: a solution and a table for each chunk, and where they come from, in words."""

    source: AnswerSource
    solutions: Sequence[Solution]
    tables: Sequence[SettingTable]
    power_by_end: Sequence[PowerByEnd]
    origin: str
    distance: float | None = None


def recommend_unknown_path(
    enquiry: TransferRequest, snapshot: Snapshot, new_transfer_id: Callable[[], UUID]
) -> PricedRecommendation:
    """Answer without history of this very path or data set.

    Raises
    ------
    NotInMemory : models have to be fetched first.
    """
    told = complete_path(enquiry.path, enquiry.link, snapshot)
    weighed = enquiry.chunks(told)  # as the history of this very path was asked about them
    enquiry = replace(enquiry, path=told.at_most(enquiry.rate_limit_bps))
    path, load = completed(enquiry.path), enquiry.load or 0.0
    chunks = enquiry.chunks(path)
    grounds = _by_neighbours(enquiry, snapshot, chunks, path) or _by_rules(enquiry, chunks, path)
    grounds = _no_dearer_than_fastest(enquiry, grounds, snapshot, chunks, path)
    solutions = grounds.solutions
    plan = tuple(map(plan_chunk, chunks, solutions))
    predicted = _predict(enquiry, chunks, solutions, path)
    recommendation = Recommendation(
        transfer_id=new_transfer_id(),
        plan=plan,
        predicted=predicted,
        sla=SlaAnswer(agreement=enquiry.sla, probability=min(each.probability for each in solutions), feasible=False),
        tables={},
        source=grounds.source,
        rationale=(
            f"{explain_unknown_path(enquiry, snapshot, weighed, load)}, {grounds.origin}: {format_plan(plan)};"
            f" expects about {format_bps(predicted.throughput_bps.mean)}, not certified"
            f"{enquiry.ceiling(told, is_reached=False)}{enquiry.sharing}"
        ),
        release=snapshot.release if grounds.source is AnswerSource.NEIGHBOUR else None,
        nearest_data_distance=grounds.distance,
    )
    compact = {
        chunk.kind: table_json(
            CompactTable(
                predicted=SettingTable(compacted(table.settings), table.base_power_w), power_by_end=power_by_end
            )
        )
        for chunk, table, power_by_end in zip(chunks, grounds.tables, grounds.power_by_end, strict=True)
    }
    return PricedRecommendation(recommendation, compact)


def _predict(
    enquiry: TransferRequest, chunks: Sequence[Chunk], solutions: Sequence[Solution], path: Path
) -> Prediction:
    ceiling_bps = (path.bandwidth_bps or math.inf) * (1 - (enquiry.load or 0.0))
    predicted = predict_together(chunks, solutions, enquiry.dataset, enquiry.sla, ceiling_bps)
    return bound_by_bandwidth(predicted, path.bandwidth_bps)


def _no_dearer_than_fastest(
    enquiry: TransferRequest, grounds: _Grounds, snapshot: Snapshot, chunks: Sequence[Chunk], path: Path
) -> _Grounds:
    """Return the grounds, or those of the fastest plan where least energy was asked for and that takes less.

    Each chunk's most frugal setting is chosen as if it were alone; together they may take longer, and so more energy.
    """
    if enquiry.sla.kind not in _LEAST_ENERGY or grounds.source is not AnswerSource.NEIGHBOUR:
        return grounds
    energy_j = _predict(enquiry, chunks, grounds.solutions, path).energy_j
    for_speed = replace(enquiry, sla=replace(enquiry.sla, kind=SlaKind.MAX_THROUGHPUT))
    nearest = _nearest(for_speed, snapshot, chunks, path)
    if all(any(each.model.powered[each.ordinal] for each in found) for found in nearest):
        fastest = _by_neighbours(for_speed, snapshot, chunks, path)
    else:  # whoever asks for speed is told no energy; of the neighbours here it is known
        fastest = replace(grounds, solutions=_solve_each(for_speed, chunks, grounds.tables))
    fastest_j = None if fastest is None else _predict(enquiry, chunks, fastest.solutions, path).energy_j
    if fastest is None or energy_j is None or fastest_j is None or energy_j.mean <= fastest_j.mean:
        return grounds
    saved = f"the fastest plan is taken, which needs {format_joules(fastest_j.mean)} instead of"
    return replace(fastest, origin=f"{fastest.origin}; {saved} {format_joules(energy_j.mean)}")


def complete_path(path: Path, link: LinkKey, snapshot: Snapshot) -> Path:
    """``path`` with what the owner of the source and the logs of other movers tell of it.

    Their socket buffers are their own.
    """
    path = path.completed_by(snapshot.known_path(link))
    for model in snapshot.models_of_other_movers(link).values():
        path = path.completed_by(replace(model.path, buffer_bytes=None))
    return path


def _by_neighbours(
    enquiry: TransferRequest, snapshot: Snapshot, chunks: Sequence[Chunk], path: Path
) -> _Grounds | None:
    """From the nearest leaves of each chunk; ``None`` where a chunk has none that certifies any setting."""
    nearest = _nearest(enquiry, snapshot, chunks, path)
    if not all(nearest):
        return None
    models = snapshot.require(each.model for found in nearest for each in found)
    load = enquiry.load or 0.0
    lenders = [[_lender(each, models[each.model.id], enquiry) for each in found] for found in nearest]
    if needs_power(enquiry.sla):  # a setting that others alone lend has no power to choose it by
        lenders = [lenders_of_power(of_chunk) for of_chunk in lenders]
    tables = [borrowed(of_chunk, path, chunk.dataset, load) for of_chunk, chunk in zip(lenders, chunks, strict=True)]
    if not all(table.settings for table in tables):
        return None
    tables = [table.below(path.bandwidth_bps or math.inf) for table in tables]
    links = dict.fromkeys(each.link for found in nearest for each in found)
    names = ", ".join(
        f"{link.source} → {link.destination}{'' if link.mover == enquiry.link.mover else f' by {link.mover}'}"
        for link in links
    )
    return _Grounds(
        AnswerSource.NEIGHBOUR,
        _solve_each(enquiry, chunks, tables),
        tables,
        [power_by_end_of(of_chunk) for of_chunk in lenders],
        f"residuals of the nearest links ({names}) on the prior{assuming(enquiry.path)}",
        max(found[0].distance for found in nearest),
    )


def _nearest(
    enquiry: TransferRequest, snapshot: Snapshot, chunks: Sequence[Chunk], path: Path
) -> list[list[Neighbour]]:
    """Return the nearest leaves of each chunk, of those that know power where the agreement needs it."""
    of_mover = snapshot.index.neighbourhoods.get(enquiry.link.mover)
    others = Neighbourhood(snapshot.models_of_other_movers(enquiry.link).items())
    powered = needs_power(enquiry.sla)
    return [
        find_nearest_leaves(of_mover, others, locate(path, chunk.dataset.mean_file_bytes), powered=powered)
        for chunk in chunks
    ]


def _lender(neighbour: Neighbour, model: ServedModel, enquiry: TransferRequest) -> Lender:
    leaf = model.leaves[neighbour.ordinal]
    own = neighbour.link.mover == enquiry.link.mover
    return Lender(
        leaf.model, leaf.lendable, model.path, 1 / (1 + neighbour.distance), 0.0 if own else OTHER_MOVER_LOG_SD**2
    )


def _solve_each(enquiry: TransferRequest, chunks: Sequence[Chunk], tables: Sequence[SettingTable]) -> list[Solution]:
    """Each chunk solved on its share of the caps; where they permit nothing that was seen, the likeliest clamped."""
    whole = max(enquiry.dataset.total_bytes, 1)
    solutions = []
    for chunk, table in zip(chunks, tables, strict=True):
        share = chunk.dataset.total_bytes / whole
        caps = enquiry.caps.part(share, len(chunks))
        sla = scale_sla(enquiry.sla, share, table.base_power_w)
        solution = solve(table, chunk, sla, caps) or solve(table, chunk, sla)
        assert solution is not None, "a neighbour's table has settings"
        clamped = replace(solution.setting, parameters=caps.clamp(solution.setting.parameters))
        solutions.append(replace(solution, setting=clamped, feasible=False))
    return solutions


def _by_rules(enquiry: TransferRequest, chunks: Sequence[Chunk], path: Path) -> _Grounds:
    """The closed-form rule for what is agreed, with the prior's prediction of its plan."""
    ruled = cold_start(enquiry.sla, chunks, enquiry.path, enquiry.caps, enquiry.load)
    load = enquiry.load or 0.0
    return _Grounds(
        AnswerSource.HEURISTIC,
        [_expected(enquiry, chunk, plan, path) for chunk, plan in zip(chunks, ruled.plan, strict=True)],
        [prior.table(path, chunk.dataset, load=load) for chunk in chunks],
        [{} for _ in chunks],
        f"none to borrow from; {ruled.rationale}",
    )


def _expected(enquiry: TransferRequest, chunk: Chunk, plan: ChunkPlan, path: Path) -> Solution:
    """A chunk's plan with the prior's prediction of it."""
    expected_bps = prior.throughput_bps(path, chunk.dataset, plan.parameters, enquiry.load or 0.0)
    setting = PredictedSetting(
        parameters=plan.parameters,
        log_throughput_mean=math.log(expected_bps),
        log_throughput_sd=prior.PRIOR_LOG_SD,
        certified=False,
    )
    share = chunk.dataset.total_bytes / max(enquiry.dataset.total_bytes, 1)
    return Solution(
        setting=setting,
        per_byte=predict(setting, dataset_bytes=1.0),
        base_power_w=None,
        probability=_rate_probability(setting, chunk, scale_sla(enquiry.sla, share, None)),
        feasible=False,
    )


def _rate_probability(setting: PredictedSetting, chunk: Chunk, sla: Sla) -> float:
    """Probability under the prior that a rate is kept; nothing is known of energy or power: 0. No target: even odds."""
    if sla.target is None:
        return 0.5
    if QUANTITY_OF.get(sla.kind) is not Quantity.THROUGHPUT:
        return 0.0
    choice = solve(SettingTable((setting,)), chunk, sla)
    return choice.probability if choice is not None else 0.0
