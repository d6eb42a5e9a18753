"""Recommendations for paths or data sets without history: nearest links, else the closed-form rules, and it says so.

Nothing here is certified: the probability is the model's own, ``feasible`` is false.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import UUID

from services.application.chunk_choice import (
    ChunkChoice,
    channels_of,
    needs_power,
    share_of,
    solve,
    together,
    within_pipe,
)
from services.application.enquiry import Enquiry, Offer
from services.application.neighbours import Neighbour, position
from services.application.served_model import ServedModel
from services.application.snapshot import Snapshot
from services.application.unseen_case import unseen_case
from tradewind import prior
from tradewind.cold_start import assuming, cold_start, completed
from tradewind.dataset import Chunk, DataSet
from tradewind.model import compacted
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.prediction import PredictedSetting, Quantity, predict
from tradewind.recommendation import AnswerSource, ChunkPlan, CompactTable, Recommendation, SlaAnswer
from tradewind.selection import QUANTITY_OF, SettingTable
from tradewind.sla import Sla
from tradewind.units import format_bps
from tradewind.wire.recommendations import WireTable


def recommend_unseen(enquiry: Enquiry, snapshot: Snapshot, new_transfer_id: Callable[[], UUID]) -> Offer:
    """Answer without history of this very path or data set."""
    enquiry = replace(enquiry, path=enquiry.path.completed_by(snapshot.known_path(enquiry.link)))
    path = completed(enquiry.path)
    load = enquiry.load or 0.0
    chunks = enquiry.chunks(path)
    nearest = [_nearest(enquiry, snapshot, path, chunk) for chunk in chunks]
    if all(nearest):
        source = AnswerSource.NEIGHBOUR
        models = snapshot.require(each.model for found in nearest for each in found)
        tables = [
            _borrowed([(each, models[each.model.id]) for each in found], path, chunk.dataset, load)
            for found, chunk in zip(nearest, chunks, strict=True)
        ]
        choices = _solve_each(enquiry, chunks, tables)
        origin = _borrowed_from(nearest, enquiry.path)
    else:
        source, tables = AnswerSource.HEURISTIC, [prior.table(path, chunk.dataset, load=load) for chunk in chunks]
        ruled = cold_start(enquiry.sla, chunks, enquiry.path, enquiry.caps, enquiry.load)
        choices = _by_rule(enquiry, chunks, ruled.plan, path)
        origin = f"none to borrow from; {ruled.rationale}"
    plan = tuple(choice.plan() for choice in choices)
    bandwidth_bps = path.bandwidth_bps or math.inf
    predicted = together(choices, enquiry.dataset, enquiry.sla, bandwidth_bps * (1 - load))
    predicted = within_pipe(predicted, path.bandwidth_bps)
    recommendation = Recommendation(
        transfer_id=new_transfer_id(),
        plan=plan,
        predicted=predicted,
        sla=SlaAnswer(agreement=enquiry.sla, probability=min(choice.probability for choice in choices), feasible=False),
        tables={},
        source=source,
        rationale=(
            f"{unseen_case(enquiry, snapshot, chunks, load)}, {origin}: {channels_of(plan)};"
            f" expects about {format_bps(predicted.throughput_bps.mean)}, not certified"
        ),
        release=snapshot.release if source is AnswerSource.NEIGHBOUR else None,
        nearest_data_distance=max(found[0].distance for found in nearest) if all(nearest) else None,
    )
    compact = {
        chunk.kind: WireTable.of(CompactTable(predicted=SettingTable(compacted(table.settings)))).to_json()
        for chunk, table in zip(chunks, tables, strict=True)
    }
    return Offer(recommendation, compact)


def _nearest(enquiry: Enquiry, snapshot: Snapshot, path: Path, chunk: Chunk) -> list[Neighbour]:
    """The nearest leaves of the same mover that can tell what the agreement needs."""
    leaves = snapshot.index.neighbourhoods.get(enquiry.link.mover)
    if leaves is None:
        return []
    return leaves.nearest(position(path, chunk.dataset.mean_file_bytes), powered=needs_power(enquiry.sla))


def _borrowed(
    neighbours: Sequence[tuple[Neighbour, ServedModel]], path: Path, dataset: DataSet, load: float
) -> SettingTable:
    """The prior of this path plus the residuals that the neighbours show against their own prior."""
    entries: dict[Parameters, list[tuple[float, PredictedSetting, float]]] = {}
    for each, served in neighbours:
        leaf = served.leaves[each.ordinal]
        centre = leaf.model.leaf
        files = max(round(2.0**centre.log2_file_count), 1)
        theirs = DataSet(file_count=files, total_bytes=round(files * 2.0**centre.log2_mean_file_bytes))
        for setting in leaf.model.table.settings:
            if setting.certified:
                own = prior.throughput_bps(served.path, theirs, setting.parameters, centre.load)
                lent = (1 / (1 + each.distance), setting, math.log(own))
                entries.setdefault(setting.parameters, []).append(lent)
    return prior.transferred(entries, path, dataset, load)


def _solve_each(enquiry: Enquiry, chunks: Sequence[Chunk], tables: Sequence[SettingTable]) -> list[ChunkChoice]:
    """Each chunk solved on its share of the caps; where they permit nothing that was seen, the likeliest clamped."""
    whole = max(enquiry.dataset.total_bytes, 1)
    choices = []
    for chunk, table in zip(chunks, tables, strict=True):
        share = chunk.dataset.total_bytes / whole
        caps = enquiry.caps.part(share, len(chunks))
        sla = share_of(enquiry.sla, share, table.base_power_w)
        choice = solve(table, chunk, sla, caps) or solve(table, chunk, sla)
        assert choice is not None, "a neighbour's table has settings"
        clamped = replace(choice.setting, parameters=caps.clamp(choice.setting.parameters))
        choices.append(replace(choice, setting=clamped, feasible=False))
    return choices


def _by_rule(enquiry: Enquiry, chunks: Sequence[Chunk], plan: Sequence[ChunkPlan], path: Path) -> list[ChunkChoice]:
    """The plan of the closed-form rule with the prior's prediction of it."""
    whole = max(enquiry.dataset.total_bytes, 1)
    choices = []
    for chunk, planned in zip(chunks, plan, strict=True):
        expected_bps = prior.throughput_bps(path, chunk.dataset, planned.parameters, enquiry.load or 0.0)
        setting = PredictedSetting(
            parameters=planned.parameters,
            log_throughput_mean=math.log(expected_bps),
            log_throughput_sd=prior.PRIOR_LOG_SD,
            certified=False,
        )
        agreed = share_of(enquiry.sla, chunk.dataset.total_bytes / whole, None)
        choices.append(
            ChunkChoice(
                chunk=chunk,
                setting=setting,
                per_byte=predict(setting, dataset_bytes=1.0),
                base_power_w=None,
                probability=_rate_probability(setting, chunk, agreed),
                feasible=False,
            )
        )
    return choices


def _rate_probability(setting: PredictedSetting, chunk: Chunk, sla: Sla) -> float:
    """Probability under the prior that a rate is kept; nothing is known of energy or power: 0. No target: even odds."""
    if sla.target is None:
        return 0.5
    if QUANTITY_OF.get(sla.kind) is not Quantity.THROUGHPUT:
        return 0.0
    choice = solve(SettingTable((setting,)), chunk, sla)
    return choice.probability if choice is not None else 0.0


def _borrowed_from(nearest: Sequence[Sequence[Neighbour]], path: Path) -> str:
    links = dict.fromkeys(each.link for found in nearest for each in found)
    names = (f"{link.source} → {link.destination}" for link in links)
    return f"residuals of the nearest links ({', '.join(names)}) on the prior{assuming(path)}"
