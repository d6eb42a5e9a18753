"""Where the parameters of a transfer come from: the user, the service, or the closed-form rules when neither says.

A plan has one entry a chunk. Whatever the user sets by hand holds for every chunk and wins over both others.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING
from uuid import UUID

from tradewind.dataset import Chunk, ChunkKind, SizeBin, split_by_bdp
from tradewind.parameters import NO_CAPS, Caps, Parameters
from tradewind.path import Path
from tradewind.prediction import BAND, Interval, Prediction, z_of
from tradewind.recommendation import ChunkPlan, whole_setting
from tradewind.sla.kinds import Sla
from tradewind.unknown_path import prior
from tradewind.unknown_path.rules import cold_start, completed, expected_bps
from tradewind.wire.recommendations import RecommendRequest, RecommendResponse, WireInterval, WirePrediction
from tradewind_agent.errors import KeyRefused, ScopeMissing, ServiceProblem, ServiceUnreachable

if TYPE_CHECKING:
    from tradewind_agent.service.client import Client

LEAST_RTT_S = 1e-4
"""Below this (the same host or rack) a timed connection measures the machine, not the path."""

GIVEN, HEURISTIC = "given", "heuristic"
"""Sources of a plan beside those of the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Parameters of each chunk, what to expect of them, and why.

    ``source`` : release | neighbour | heuristic, or ``given`` when the user set them.
    ``predicted`` : ``None`` where nothing can be said.
    ``feasible`` : whether the agreement can be kept, where the service knows.
    """

    transfer_id: UUID
    chunks: tuple[ChunkPlan, ...]
    source: str
    rationale: str
    predicted: Prediction | None = None
    feasible: bool | None = None
    answer: RecommendResponse | None = None

    @property
    def parameters(self) -> Parameters:
        """One setting for the whole."""
        return setting_for_all(self.chunks)

    @property
    def quote(self) -> str | None:
        """What the transfer was offered for, as its log carries it."""
        price = None if self.answer is None else self.answer.sla.price
        return None if price is None else price.quote


def setting_for_all(chunks: Sequence[ChunkPlan]) -> Parameters:
    """One setting in place of several chunks': concurrency added up, the widest chunk's other values."""
    return whole_setting([chunk.parameters for chunk in chunks])


def request_plan(client: "Client | None", request: RecommendRequest) -> Plan | str:
    """The service's plan, or one phrase saying why there is none.

    A wrong or powerless key is the user's to mend and raises; a service that is away or broken is not.
    """
    if client is None:
        return "no service is configured"
    try:
        answer = client.recommend(request)
    except (KeyRefused, ScopeMissing):
        raise
    except (ServiceUnreachable, ServiceProblem) as failure:
        return str(failure)
    chunks = tuple(chunk.to_plan() for chunk in answer.chunks)
    if not _in_order(chunks):
        return "the service's plan has no chunk for some sizes"
    return Plan(
        transfer_id=answer.transfer_id,
        chunks=chunks,
        source=str(answer.source),
        rationale=answer.rationale,
        predicted=_prediction(answer.predicted),
        feasible=answer.sla.feasible,
        answer=answer,
    )


def plan_set_by_hand(transfer_id: UUID, parameters: Parameters) -> Plan:
    """One setting for all files, as the user wants it."""
    chunks = (ChunkPlan(ChunkKind.WHOLE, None, parameters),)
    return Plan(transfer_id=transfer_id, chunks=chunks, source=GIVEN, rationale="set by hand")


def plan_by_rules(
    transfer_id: UUID,
    bins: Sequence[SizeBin],
    path: Path,
    sla: Sla,
    caps: Caps = NO_CAPS,
    *,
    load: float | None = None,
    because: str,
) -> Plan:
    """The closed-form plan (paper 002 §4) for a path of which the agent alone must judge.

    Parameters
    ----------
    bins : sizes of the files, at least one file.
    load : share of the path that others use, 0..1, where known.
    because : why the service was not asked or did not answer; told in the rationale.
    """
    if path.rtt_s is not None:
        path = replace(path, rtt_s=max(path.rtt_s, LEAST_RTT_S))
    bdp_bytes = completed(path).bdp_bytes
    assert bdp_bytes is not None, "a completed path has a bandwidth and a round trip"
    chunks = split_by_bdp(bins, max(bdp_bytes, 1.0), caps.channels)
    ruled = cold_start(sla, chunks, path, caps, load)
    return Plan(
        transfer_id=transfer_id,
        chunks=ruled.plan,
        source=HEURISTIC,
        rationale=f"{because}; {ruled.rationale}",
        predicted=Prediction(throughput_bps=_band(chunks, ruled.plan, path, load), energy_j=None, power_w=None),
    )


def _band(chunks: Sequence[Chunk], plan: Sequence[ChunkPlan], path: Path, load: float | None) -> Interval:
    """What the prior expects with its spread, within the path's rate."""
    mean_bps = expected_bps(chunks, plan, path, load)
    spread = math.exp(z_of((1 + BAND) / 2) * prior.PRIOR_LOG_SD)
    most_bps = max(completed(path).bandwidth_bps or math.inf, mean_bps)
    return Interval(mean_bps, mean_bps / spread, min(mean_bps * spread, most_bps))


def override_settings(plan: Plan, wanted: Parameters) -> Plan:
    """``plan`` with the user's settings in every chunk."""
    known = wanted.known()
    if not known:
        return plan
    told = ", ".join(f"{name} {value}" for name, value in known.items())
    return replace(
        plan, chunks=apply_user_settings(plan.chunks, wanted), rationale=f"{plan.rationale}; {told} set by hand"
    )


def apply_user_settings(chunks: tuple[ChunkPlan, ...], wanted: Parameters) -> tuple[ChunkPlan, ...]:
    """``chunks`` with the user's settings; a total concurrency is split by the chunks' shares."""
    if wanted.concurrency is not None:
        shares = _split(wanted.concurrency, [chunk.parameters.concurrency or 1 for chunk in chunks])
        chunks = tuple(
            chunk._replace(parameters=replace(chunk.parameters, concurrency=share))
            for chunk, share in zip(chunks, shares, strict=True)
        )
    others = {name: value for name, value in wanted.known().items() if name != "concurrency"}
    return tuple(
        chunk._replace(parameters=replace(chunk.parameters, **others))  # type: ignore[arg-type]  # keys are field names
        for chunk in chunks
    )


def replace_settings(plan: Plan, settings: Mapping[ChunkKind, Parameters]) -> Plan:
    """``plan`` with other settings for some chunks."""
    chunks = tuple(each._replace(parameters=settings.get(each.chunk, each.parameters)) for each in plan.chunks)
    return replace(plan, chunks=chunks)


def find_chunk(chunks: Sequence[ChunkPlan], file_bytes: int) -> ChunkPlan:
    """The chunk that a file belongs to: the first whose upper end holds it."""
    return next(each for each in chunks if each.max_file_bytes is None or file_bytes <= each.max_file_bytes)


def _in_order(chunks: Sequence[ChunkPlan]) -> bool:
    """Whether upper ends rise and the last chunk has none, so that every file has a home."""
    ends = [math.inf if each.max_file_bytes is None else each.max_file_bytes for each in chunks]
    return bool(ends) and ends[-1] == math.inf and all(low < high for low, high in pairwise(ends))


def _prediction(wire: WirePrediction) -> Prediction:
    return Prediction(
        throughput_bps=_interval(wire.throughput_bps),
        energy_j=_interval(wire.energy_j) if wire.energy_j else None,
        power_w=_interval(wire.power_w) if wire.power_w else None,
    )


def _interval(wire: WireInterval) -> Interval:
    return Interval(wire.mean, wire.low, wire.high)


def _split(total: int, weights: Sequence[int]) -> list[int]:
    """``total`` by weight, at least one each, largest remainders first."""
    spare = max(total - len(weights), 0)
    whole = sum(weights)
    shares = [1 + spare * weight // whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: -(spare * weights[i] % whole))
    for i in by_remainder[: max(total - sum(shares), 0)]:
        shares[i] += 1
    return shares
