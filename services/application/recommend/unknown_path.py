"""Recommend for paths or data sets without history: from the nearest links, else by the closed-form rules.

Nothing here is certified: the probability is the model's own, ``feasible`` is false, and the rationale says why.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from services.application.recommend.chunks import (
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
from tradewind.dataset import Chunk
from tradewind.energy.ends import PowerByEnd
from tradewind.model import list_compact_settings
from tradewind.path import Path
from tradewind.prediction import PredictedSetting, Prediction, Quantity, predict
from tradewind.recommendation import AnswerSource, ChunkPlan, CompactTable, Recommendation, SlaAnswer
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tiers.setting_table import QUANTITY_OF, SettingTable
from tradewind.transfer import LinkKey
from tradewind.units import format_bps, format_joules
from tradewind.unknown_path import prior
from tradewind.unknown_path.borrowing import (
    OTHER_MOVER_LOG_SD,
    Lender,
    borrow_table,
    find_power_by_end,
    select_power_lenders,
)
from tradewind.unknown_path.rules import describe_assumptions, fill_in_assumptions, plan_cold_start
from tradewind.wire.recommendations import serialize_table

_LEAST_ENERGY = frozenset({SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY})


@dataclass(frozen=True, slots=True)
class _Estimate:
    """A solution and a table for each chunk.

    ``sla`` : what was solved, on a named energy basis.
    ``origin`` : where they come from, in the words of the rationale.
    """

    source: AnswerSource
    sla: Sla
    solutions: Sequence[Solution]
    tables: Sequence[SettingTable]
    power_by_end: Sequence[PowerByEnd]
    origin: str
    distance: float | None = None


def recommend_unknown_path(
    request: TransferRequest, snapshot: Snapshot, new_transfer_id: Callable[[], UUID]
) -> PricedRecommendation:
    """Answer without history of this path or data set.

    Raises
    ------
    NotInMemory : models have to be fetched first.
    """
    known_path = complete_path(request.path, request.link, snapshot)
    history_chunks = request.split_into_chunks(known_path)  # the ones that the path's own history had no answer for
    request = replace(request, path=known_path.limit_bandwidth(request.rate_limit_bps))
    path, load = fill_in_assumptions(request.path), request.load or 0.0
    chunks = request.split_into_chunks(path)
    estimate = _estimate_from_neighbours(request, snapshot, chunks, path) or _estimate_by_rules(
        request, snapshot, chunks, path
    )
    request = replace(request, sla=estimate.sla)
    estimate = _choose_cheaper(request, estimate, snapshot, chunks, path)
    solutions = estimate.solutions
    plan = tuple(map(plan_chunk, chunks, solutions))
    predicted = _predict(request, chunks, solutions, path)
    recommendation = Recommendation(
        transfer_id=new_transfer_id(),
        plan=plan,
        predicted=predicted,
        sla=SlaAnswer(sla=request.sla, probability=min(solution.probability for solution in solutions), feasible=False),
        tables={},
        source=estimate.source,
        rationale=(
            f"{explain_unknown_path(request, snapshot, history_chunks, load)}, {estimate.origin}: {format_plan(plan)};"
            f" expects about {format_bps(predicted.throughput_bps.mean)}, not certified"
            f"{request.format_ceiling(known_path, is_reached=False)}{request.caps_text}"
        ),
        release=snapshot.release if estimate.source is AnswerSource.NEIGHBOUR else None,
        nearest_data_distance=estimate.distance,
    )
    compact = {
        chunk.kind: serialize_table(
            CompactTable(
                predicted=SettingTable(list_compact_settings(table.settings), table.base_power_w),
                power_by_end=power_by_end,
            )
        )
        for chunk, table, power_by_end in zip(chunks, estimate.tables, estimate.power_by_end, strict=True)
    }
    return PricedRecommendation(recommendation, compact)


def explain_unknown_path(request: TransferRequest, snapshot: Snapshot, chunks: Sequence[Chunk], load: float) -> str:
    """Return why the current release has no answer of its own, as one phrase of the rationale.

    Raises
    ------
    NotInMemory : the link's model has to be fetched first.
    """
    indexed = snapshot.find_link(request.link)
    if indexed is None:
        movers = [link.mover for link in snapshot.list_models_of_other_movers(request.link)]
        if not movers:
            return "no model of this path yet"
        hint = "that mover" if len(movers) == 1 else "one of them"
        return (
            f"no model of this path for mover {request.link.mover} yet; "
            f"there is one for mover {', '.join(movers)}: use {hint}"
        )
    nearest = [snapshot.get_model(indexed).find_nearest(chunk.dataset, load) for chunk in chunks]
    leaves = [leaf.model for leaf, _ in nearest]
    if needs_power(request.sla) and not all(leaf.table.knows_power for leaf in leaves):
        return f"the logs of this path have no energy, which {request.sla.kind} needs"
    total_bytes = max(request.dataset.total_bytes, 1)
    for chunk, leaf in zip(chunks, leaves, strict=True):
        caps = request.caps.take_part(chunk.dataset.total_bytes / total_bytes, len(chunks))
        if not any(caps.allow(setting.parameters) for setting in leaf.table.settings):
            return "the caps are below every setting in the logs of this path"
    distance = max(doublings for _, doublings in nearest)
    return f"the data set is {distance:.1f} doublings away from the nearest in the logs of this path"


def _predict(
    request: TransferRequest, chunks: Sequence[Chunk], solutions: Sequence[Solution], path: Path
) -> Prediction:
    ceiling_bps = (path.bandwidth_bps or math.inf) * (1 - (request.load or 0.0))
    predicted = predict_together(chunks, solutions, request.dataset, request.sla, ceiling_bps)
    return bound_by_bandwidth(predicted, path.bandwidth_bps)


def _choose_cheaper(
    request: TransferRequest, estimate: _Estimate, snapshot: Snapshot, chunks: Sequence[Chunk], path: Path
) -> _Estimate:
    """Return the estimate, or that of the fastest plan where least energy is requested and the fastest needs less.

    Each chunk's most frugal setting is chosen as if it were alone; together they may take longer, and so more energy.
    """
    if request.sla.kind not in _LEAST_ENERGY or estimate.source is not AnswerSource.NEIGHBOUR:
        return estimate
    energy_j = _predict(request, chunks, estimate.solutions, path).energy_j
    for_speed = replace(request, sla=replace(request.sla, kind=SlaKind.MAX_THROUGHPUT))
    nearest = _find_nearest(for_speed, snapshot, chunks, path)
    if all(any(leaf.model.powered[leaf.ordinal] for leaf in leaves) for leaves in nearest):
        fastest = _estimate_from_neighbours(for_speed, snapshot, chunks, path)
    else:  # the nearest for speed have no power in their logs; the neighbours of the estimate have
        fastest = replace(estimate, solutions=_solve_each(for_speed, chunks, estimate.tables))
    fastest_j = None if fastest is None else _predict(request, chunks, fastest.solutions, path).energy_j
    if fastest is None or energy_j is None or fastest_j is None or energy_j.mean <= fastest_j.mean:
        return estimate
    saved = f"the fastest plan is taken, which needs {format_joules(fastest_j.mean)} instead of"
    return replace(fastest, origin=f"{fastest.origin}; {saved} {format_joules(energy_j.mean)}")


def complete_path(path: Path, link: LinkKey, snapshot: Snapshot) -> Path:
    """Return ``path``, completed from what the owner of the source declares, and what the link's own logs and those of
    other movers show.

    The socket buffers of other movers are left out.
    """
    path = path.complete_from(snapshot.find_known_path(link)).complete_from(snapshot.find_logged_path(link))
    for model in snapshot.list_models_of_other_movers(link).values():
        path = path.complete_from(replace(model.path, buffer_bytes=None))
    return path


def _estimate_from_neighbours(
    request: TransferRequest, snapshot: Snapshot, chunks: Sequence[Chunk], path: Path
) -> _Estimate | None:
    """Estimate from the nearest leaves of each chunk; ``None`` where a chunk has none that certifies any setting."""
    nearest = _find_nearest(request, snapshot, chunks, path)
    if not all(nearest):
        return None
    models = snapshot.get_models(leaf.model for leaves in nearest for leaf in leaves)
    load = request.load or 0.0
    lenders = [[_to_lender(leaf, models[leaf.model.id], request) for leaf in leaves] for leaves in nearest]
    if needs_power(request.sla):  # settings from lenders without power cannot be compared by power
        lenders = [select_power_lenders(of_chunk) for of_chunk in lenders]
    tables = [
        borrow_table(of_chunk, path, chunk.dataset, load) for of_chunk, chunk in zip(lenders, chunks, strict=True)
    ]
    if not all(table.settings for table in tables):
        return None
    tables = [table.limit_throughputs(path.bandwidth_bps or math.inf) for table in tables]
    links = dict.fromkeys(leaf.link for leaves in nearest for leaf in leaves)
    request = replace(request, sla=snapshot.settle_basis(request.sla, request.link, tables))
    names = ", ".join(
        f"{link.source} → {link.destination}{'' if link.mover == request.link.mover else f' by {link.mover}'}"
        for link in links
    )
    return _Estimate(
        AnswerSource.NEIGHBOUR,
        request.sla,
        _solve_each(request, chunks, tables),
        tables,
        [find_power_by_end(of_chunk) for of_chunk in lenders],
        f"residuals of the nearest links ({names}) on the prior{describe_assumptions(request.path)}",
        max(leaves[0].distance for leaves in nearest),
    )


def _find_nearest(
    request: TransferRequest, snapshot: Snapshot, chunks: Sequence[Chunk], path: Path
) -> list[list[Neighbour]]:
    """Return the nearest leaves of each chunk; only leaves with power in their logs where the SLA needs it."""
    neighbourhood = snapshot.index.neighbourhoods.get(request.link.mover)
    others = Neighbourhood(snapshot.list_models_of_other_movers(request.link).items())
    powered = needs_power(request.sla)
    return [
        find_nearest_leaves(neighbourhood, others, locate(path, chunk.dataset.mean_file_bytes), powered=powered)
        for chunk in chunks
    ]


def _to_lender(neighbour: Neighbour, model: ServedModel, request: TransferRequest) -> Lender:
    leaf = model.leaves[neighbour.ordinal]
    own = neighbour.link.mover == request.link.mover
    return Lender(
        leaf.model, leaf.lendable, model.path, 1 / (1 + neighbour.distance), 0.0 if own else OTHER_MOVER_LOG_SD**2
    )


def _solve_each(request: TransferRequest, chunks: Sequence[Chunk], tables: Sequence[SettingTable]) -> list[Solution]:
    """Solve each chunk on its share of the caps; where they permit no setting seen, clamp the likeliest one."""
    total_bytes = max(request.dataset.total_bytes, 1)
    solutions = []
    for chunk, table in zip(chunks, tables, strict=True):
        share = chunk.dataset.total_bytes / total_bytes
        caps = request.caps.take_part(share, len(chunks))
        sla = scale_sla(request.sla, share, table.base_power_w)
        solution = solve(table, chunk, sla, caps) or solve(table, chunk, sla)
        assert solution is not None, "a neighbour's table has settings"
        clamped = replace(solution.setting, parameters=caps.clamp(solution.setting.parameters))
        solutions.append(replace(solution, setting=clamped, feasible=False))
    return solutions


def _estimate_by_rules(request: TransferRequest, snapshot: Snapshot, chunks: Sequence[Chunk], path: Path) -> _Estimate:
    """Estimate by the closed-form rule for the SLA, with the prior's prediction of its plan."""
    rule = plan_cold_start(request.sla, chunks, request.path, request.caps, request.load)
    load = request.load or 0.0
    return _Estimate(
        AnswerSource.HEURISTIC,
        snapshot.settle_basis(request.sla, request.link),
        [_predict_by_prior(request, chunk, plan, path) for chunk, plan in zip(chunks, rule.plan, strict=True)],
        [prior.build_table(path, chunk.dataset, load=load) for chunk in chunks],
        [{} for _ in chunks],
        f"none to borrow from; {rule.rationale}",
    )


def _predict_by_prior(request: TransferRequest, chunk: Chunk, plan: ChunkPlan, path: Path) -> Solution:
    """Return a chunk's plan with the prior's prediction of it."""
    expected_bps = prior.predict_throughput_bps(path, chunk.dataset, plan.parameters, request.load or 0.0)
    setting = PredictedSetting(
        parameters=plan.parameters,
        log_throughput_mean=math.log(expected_bps),
        log_throughput_sd=prior.PRIOR_LOG_SD,
        certified=False,
    )
    share = chunk.dataset.total_bytes / max(request.dataset.total_bytes, 1)
    return Solution(
        setting=setting,
        per_byte=predict(setting, dataset_bytes=1.0),
        base_power_w=None,
        probability=_compute_rate_probability(setting, chunk, scale_sla(request.sla, share, None)),
        feasible=False,
    )


def _compute_rate_probability(setting: PredictedSetting, chunk: Chunk, sla: Sla) -> float:
    """Return the probability under the prior that a rate is met: 0 for energy or power, even odds without a target."""
    if sla.target is None:
        return 0.5
    if QUANTITY_OF.get(sla.kind) is not Quantity.THROUGHPUT:
        return 0.0
    choice = solve(SettingTable((setting,)), chunk, sla)
    return choice.probability if choice is not None else 0.0
