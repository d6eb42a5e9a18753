"""Recommendations for paths or data sets without history: nearest links, else the closed-form rules, and it says so.

Nothing here is certified: the probability is the model's own, ``feasible`` is false.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from uuid import UUID

from services.application.chunk_choice import (
    Solution,
    channels_of,
    needs_power,
    planned,
    share_of,
    share_of_caps,
    solve,
    together,
    within_pipe,
)
from services.application.enquiry import Enquiry, Offer
from services.application.snapshot import ServedLeaf, Snapshot
from services.application.unseen_case import unseen_case
from tradewind import heuristics, prior
from tradewind.dataset import Chunk, DataSet
from tradewind.model import compacted
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.prediction import PredictedSetting, Quantity, predict
from tradewind.recommendation import AnswerSource, ChunkPlan, CompactTable, Recommendation, SlaAnswer
from tradewind.selection import QUANTITY_OF, SettingTable, unit_target
from tradewind.sla import Sla, SlaKind
from tradewind.transfer import LinkKey
from tradewind.units import format_bps
from tradewind.wire.recommendations import WireTable

NEIGHBOURS = 3
"""Leaves that lend their residuals (algorithms: the k nearest clusters)."""

MAX_NEIGHBOUR_DISTANCE = 3.0
"""Farthest leaf that still says something, in doublings of RTT, bandwidth and BDP/mean file size (Euclidean)."""

ASSUMED_PATH = Path(bandwidth_bps=1e9, rtt_s=0.05)
"""Taken for what neither caller nor logs know of a path; every use of it is told in the rationale."""


@dataclass(frozen=True, slots=True)
class _Neighbour:
    """A leaf of another link and its distance, in doublings."""

    distance: float
    link: LinkKey
    path: Path
    leaf: ServedLeaf


def recommend_unseen(enquiry: Enquiry, snapshot: Snapshot, new_transfer_id: Callable[[], UUID]) -> Offer:
    """Answer without history of this very path or data set."""
    enquiry = replace(enquiry, path=enquiry.path.completed_by(snapshot.known_path(enquiry.link)))
    path = enquiry.path.completed_by(ASSUMED_PATH)
    load = enquiry.load or 0.0
    chunks = enquiry.chunks(path)
    powered = needs_power(enquiry.sla)
    nearest = [_nearest(snapshot, path, chunk.dataset, enquiry.link.mover, powered=powered) for chunk in chunks]
    if all(nearest):
        source = AnswerSource.NEIGHBOUR
        tables = [_borrowed(found, path, chunk.dataset, load) for found, chunk in zip(nearest, chunks, strict=True)]
        solutions = _solve_each(enquiry, chunks, tables)
    else:
        source, tables = AnswerSource.HEURISTIC, [prior.table(path, chunk.dataset, load=load) for chunk in chunks]
        solutions = _by_rule(enquiry, chunks, path, load)
    plan = tuple(map(planned, chunks, solutions))
    bandwidth_bps = path.bandwidth_bps or math.inf
    predicted = together(chunks, solutions, enquiry.dataset, enquiry.sla, bandwidth_bps * (1 - load))
    predicted = within_pipe(predicted, path.bandwidth_bps)
    recommendation = Recommendation(
        transfer_id=new_transfer_id(),
        plan=plan,
        predicted=predicted,
        sla=SlaAnswer(agreement=enquiry.sla, probability=min(each.probability for each in solutions), feasible=False),
        tables={},
        source=source,
        rationale=_rationale(
            unseen_case(enquiry, snapshot, chunks, load),
            source=source,
            enquiry=enquiry,
            nearest=nearest,
            plan=plan,
            mean_bps=predicted.throughput_bps.mean,
        ),
        release=snapshot.release if source is AnswerSource.NEIGHBOUR else None,
        nearest_data_distance=max(found[0].distance for found in nearest) if all(nearest) else None,
    )
    compact = {
        chunk.kind: WireTable.of(CompactTable(predicted=SettingTable(compacted(table.settings)))).to_json()
        for chunk, table in zip(chunks, tables, strict=True)
    }
    return Offer(recommendation, compact)


def _nearest(snapshot: Snapshot, path: Path, dataset: DataSet, mover: str, *, powered: bool) -> list[_Neighbour]:
    """The nearest leaves of the same mover in log2 RTT, bandwidth and BDP over mean file size, nearest first.

    ``powered`` leaves out those without energy in their logs.
    """
    here = _position(path, dataset.mean_file_bytes)
    near = sorted(
        (
            (distance, i, key)
            for key, indexed in snapshot.index.models.items()
            if key.mover == mover and indexed.path.bdp_bytes is not None
            for i, leaf in enumerate(indexed.leaves)
            if (distance := math.dist(here, _position(indexed.path, 2.0**leaf.log2_mean_file_bytes)))
            <= MAX_NEIGHBOUR_DISTANCE
        ),
        key=itemgetter(0),
    )
    models = snapshot.index.models
    found = (
        _Neighbour(distance, key, models[key].path, snapshot.model(models[key]).leaves[i]) for distance, i, key in near
    )
    usable = (each for each in found if each.leaf.model.table.knows_power or not powered)
    return list(islice(usable, NEIGHBOURS))


def _position(path: Path, mean_file_bytes: float) -> tuple[float, float, float]:
    bdp_bytes = path.bdp_bytes or 1.0
    return (
        math.log2(path.rtt_s or 1.0),
        math.log2(path.bandwidth_bps or 1.0),
        math.log2(max(bdp_bytes / max(mean_file_bytes, 1.0), 1e-6)),
    )


def _borrowed(neighbours: Sequence[_Neighbour], path: Path, dataset: DataSet, load: float) -> SettingTable:
    """The prior of this path plus the residuals that the neighbours show against their own prior."""
    entries: dict[Parameters, list[tuple[float, PredictedSetting, float]]] = {}
    for each in neighbours:
        centre = each.leaf.model.leaf
        files = max(round(2.0**centre.log2_file_count), 1)
        theirs = DataSet(file_count=files, total_bytes=round(files * 2.0**centre.log2_mean_file_bytes))
        for setting in each.leaf.model.table.settings:
            if setting.certified:
                own = prior.throughput_bps(each.path, theirs, setting.parameters, centre.load)
                lent = (1 / (1 + each.distance), setting, math.log(own))
                entries.setdefault(setting.parameters, []).append(lent)
    return prior.transferred(entries, path, dataset, load)


def _solve_each(enquiry: Enquiry, chunks: Sequence[Chunk], tables: Sequence[SettingTable]) -> list[Solution]:
    """Each chunk solved on its share of the caps; where they permit nothing that was seen, the likeliest clamped."""
    whole = max(enquiry.dataset.total_bytes, 1)
    solutions = []
    for chunk, table in zip(chunks, tables, strict=True):
        share = chunk.dataset.total_bytes / whole
        caps = share_of_caps(enquiry.caps, share, len(chunks))
        sla = share_of(enquiry.sla, share, table.base_power_w)
        solution = solve(table, chunk, sla, caps) or solve(table, chunk, sla)
        assert solution is not None, "a neighbour's table has settings"
        clamped = replace(solution.setting, parameters=caps.clamp(solution.setting.parameters))
        solutions.append(replace(solution, setting=clamped, feasible=False))
    return solutions


def _by_rule(enquiry: Enquiry, chunks: Sequence[Chunk], path: Path, load: float) -> list[Solution]:
    """The plan of the closed-form rule for the kind of agreement, with the prior's prediction of it."""
    plans = _rule_plan(enquiry, chunks, path)
    whole = max(enquiry.dataset.total_bytes, 1)
    solutions = []
    for chunk, plan in zip(chunks, plans, strict=True):
        share = chunk.dataset.total_bytes / whole
        caps = share_of_caps(enquiry.caps, share, len(chunks))
        parameters = caps.clamp(plan.parameters)
        setting = PredictedSetting(
            parameters=parameters,
            log_throughput_mean=math.log(prior.throughput_bps(path, chunk.dataset, parameters, load)),
            log_throughput_sd=prior.PRIOR_LOG_SD,
            certified=False,
        )
        solutions.append(
            Solution(
                setting=setting,
                per_byte=predict(setting, dataset_bytes=1.0),
                base_power_w=None,
                probability=_rate_probability(setting, chunk, share_of(enquiry.sla, share, None)),
                feasible=False,
            )
        )
    return solutions


def _rule_plan(enquiry: Enquiry, chunks: Sequence[Chunk], path: Path) -> tuple[ChunkPlan, ...]:
    """MaxThr, MinE, EE or FlexibleThr of paper 002, by what is agreed."""
    sla, channels = enquiry.sla, heuristics.channels_allowed(enquiry.caps)
    if sla.kind is SlaKind.MAX_THROUGHPUT:
        return heuristics.max_throughput(chunks, path, channels)
    if sla.kind is SlaKind.ENERGY_EFFICIENCY:
        return heuristics.energy_efficiency(chunks, path, channels)
    if sla.kind in {SlaKind.THROUGHPUT_AT_LEAST, SlaKind.DEADLINE}:
        wanted = unit_target(sla, dataset_bytes=enquiry.dataset.total_bytes, certifiable_bps=path.bandwidth_bps)
        return heuristics.flexible_throughput(chunks, path, wanted or 1.0, channels)
    return heuristics.min_energy(chunks, path, channels)


def _rate_probability(setting: PredictedSetting, chunk: Chunk, sla: Sla) -> float:
    """Probability under the prior that a rate is kept; nothing is known of energy or power: 0. No target: even odds."""
    if sla.target is None:
        return 0.5
    if QUANTITY_OF.get(sla.kind) is not Quantity.THROUGHPUT:
        return 0.0
    choice = solve(SettingTable((setting,)), chunk, sla)
    return choice.probability if choice is not None else 0.0


def _rationale(
    case: str,
    *,
    source: AnswerSource,
    enquiry: Enquiry,
    nearest: Sequence[Sequence[_Neighbour]],
    plan: Sequence[ChunkPlan],
    mean_bps: float,
) -> str:
    if source is AnswerSource.NEIGHBOUR:
        links = dict.fromkeys(each.link for found in nearest for each in found)
        names = (f"{link.source} → {link.destination}" for link in links)
        origin = f"{case}; residuals of the nearest links ({', '.join(names)}) on the prior"
    else:
        origin = f"{case}, none to borrow from; closed-form rule for {enquiry.sla.kind}"
    assumed = [
        f"{name} {text}"
        for name, known, text in (
            ("bandwidth", enquiry.path.bandwidth_bps, format_bps(ASSUMED_PATH.bandwidth_bps or 0.0)),
            ("RTT", enquiry.path.rtt_s, f"{1000 * (ASSUMED_PATH.rtt_s or 0.0):.0f} ms"),
        )
        if known is None
    ]
    assuming = f", assuming {' and '.join(assumed)}" if assumed else ""
    return f"{origin}{assuming}: {channels_of(plan)}; expects about {format_bps(mean_bps)}, not certified"
