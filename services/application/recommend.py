"""From an enquiry to parameters: link, chunks, nearest leaf of each, its SLA partition, and what to expect of all.

No I/O: the snapshot and the maker of ids are arguments.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import UUID

from services.application.assumed_load import AssumedLoad
from services.application.chunk_choice import (
    ChunkChoice,
    channels_of,
    kept_together,
    needs_power,
    share_of,
    solve,
    together,
    within_pipe,
    within_together,
)
from services.application.enquiry import Enquiry, Offer
from services.application.fresh_path import recommend_unseen
from services.application.served_model import ServedLeaf, ServedModel
from services.application.snapshot import Snapshot
from tradewind.dataset import Chunk
from tradewind.parameters import NO_CAPS, Caps
from tradewind.path import Path
from tradewind.recommendation import AnswerSource, ChunkPlan, Recommendation, SlaAnswer
from tradewind.sla import Sla
from tradewind.sla_partitions import PartitionKey, serving
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
    caps = snapshot.permitted(enquiry.link, enquiry.caps)
    if caps is not enquiry.caps:
        enquiry = replace(enquiry, caps=caps)
    indexed = snapshot.indexed(enquiry.link)
    if indexed is None:
        return enquiry
    model = snapshot.model(indexed)
    path = enquiry.path.completed_by(model.path)
    if path.bdp_bytes is None:
        path = path.completed_by(snapshot.known_path(enquiry.link))
    load = model.load(enquiry.load)
    chunks = enquiry.chunks(path)
    leaves, octaves = [], 0.0
    for chunk in chunks:
        leaf, away = model.nearest(chunk.dataset, load.share)
        leaves.append(snapshot.shelf.under(leaf, load))
        octaves = max(octaves, away)
    choices = _choose(enquiry, chunks, leaves) if octaves <= MAX_OCTAVES else None
    if choices is None:
        return replace(enquiry, path=path, load=load.share)
    plan = tuple(choice.plan() for choice in choices)
    predicted = together(choices, enquiry.dataset, enquiry.sla, _ceiling_bps(model, path, load))
    probability, feasible = kept_together(choices, predicted, enquiry.dataset, enquiry.sla)
    predicted = within_pipe(predicted, path.bandwidth_bps)
    weightiest = choices[0] if len(choices) == 1 else max(choices, key=_bytes)  # its tier stands for the whole
    recommendation = Recommendation(
        transfer_id=new_transfer_id(),
        plan=plan,
        predicted=predicted,
        sla=SlaAnswer(
            agreement=enquiry.sla,
            probability=probability,
            feasible=feasible,
            tier_id=weightiest.tier_id if feasible else None,
            tier=weightiest.tier if feasible else None,
        ),
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
        ),
        release=snapshot.release,
        nearest_data_distance=octaves,
    )
    return Offer(recommendation, {chunk.kind: leaf.table_json for chunk, leaf in zip(chunks, leaves, strict=True)})


def _bytes(choice: ChunkChoice) -> int:
    return choice.chunk.dataset.total_bytes


def _ceiling_bps(model: ServedModel, path: Path, load: AssumedLoad) -> float:
    """What all chunks together cannot exceed: the pipe less the load, or the fastest setting of any leaf if it is more.

    The load of a link is an upper bound where transfers did not fill the pipe, so what was reached counts too.
    """
    return max(model.fastest_bps(load), (path.bandwidth_bps or 0.0) * (1 - load.share))


def _choose(enquiry: Enquiry, chunks: Sequence[Chunk], leaves: Sequence[ServedLeaf]) -> list[ChunkChoice] | None:
    """A setting for each chunk; where their sum exceeds the caps, each is solved again on its share of them.

    ``None`` where the leaves cannot tell: no power in their logs, or caps below every setting seen.
    """
    if needs_power(enquiry.sla) and not all(leaf.model.table.knows_power for leaf in leaves):
        return None
    whole = max(enquiry.dataset.total_bytes, 1)
    shares = [chunk.dataset.total_bytes / whole for chunk in chunks]
    caps = enquiry.caps
    choices = _choose_within(enquiry.sla, chunks, leaves, shares, [caps] * len(chunks))
    if choices is None or caps is NO_CAPS or within_together(choices, caps):
        return choices
    parts = [caps.part(share, len(chunks)) for share in shares]
    return _choose_within(enquiry.sla, chunks, leaves, shares, parts)


def _choose_within(
    sla: Sla, chunks: Sequence[Chunk], leaves: Sequence[ServedLeaf], shares: Sequence[float], caps: Sequence[Caps]
) -> list[ChunkChoice] | None:
    """Each chunk's choice for its share of the agreement, within its caps."""
    choices = []
    for chunk, leaf, share, permitted in zip(chunks, leaves, shares, caps, strict=True):
        choice = _choose_one(chunk, leaf, share_of(sla, share, leaf.model.table.base_power_w), permitted)
        if choice is None:
            return None
        choices.append(choice)
    return choices


def _choose_one(chunk: Chunk, leaf: ServedLeaf, sla: Sla, caps: Caps) -> ChunkChoice | None:
    """The partition solved beforehand where its setting is permitted, else solved now on the permitted lattice."""
    found = serving(leaf.partitions(PartitionKey.of(sla)), sla, dataset_bytes=chunk.dataset.total_bytes)
    if found is None or (caps is not NO_CAPS and not caps.allow(found.setting.parameters)):
        return solve(leaf.table, chunk, sla, caps)
    return ChunkChoice(
        chunk=chunk,
        setting=found.setting,
        per_byte=found.per_byte,
        base_power_w=leaf.model.table.base_power_w,
        probability=found.probability,
        feasible=True,
        tier_id=found.tier_id,
        tier=found.tier,
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
    rows = sum({leaf.cluster_id: leaf.model.leaf.row_count for leaf in leaves}.values())
    kept = "" if feasible else "; cannot be certified, this is the likeliest setting"
    return (
        f"release {snapshot.release}: {channels_of(plan)} from {format_count(rows, 'log')} {octaves:.1f} octaves away"
        f" at {load.told(leaf.model.load_effect for leaf in leaves)}; expects {format_bps(mean_bps)}{kept}"
    )
