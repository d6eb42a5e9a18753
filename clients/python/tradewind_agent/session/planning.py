"""The parameters of a transfer come from the user, from the service, or else from closed-form rules.

A plan has one entry a chunk. What the user sets by hand holds for every chunk and wins over the service and the rules.
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
from tradewind.prediction import BAND, Interval, Prediction, compute_z
from tradewind.recommendation import ChunkPlan, combine_settings
from tradewind.sla.kinds import Sla
from tradewind.unknown_path import prior
from tradewind.unknown_path.rules import fill_in_assumptions, plan_cold_start, predict_total_bps
from tradewind_agent.errors import KeyRefused, ScopeMissing, ServiceProblem, ServiceUnreachable

if TYPE_CHECKING:
    from tradewind.wire.recommendations import RecommendRequest, RecommendResponse, WireInterval, WirePrediction
    from tradewind_agent.service.client import Client

LEAST_RTT_S = 1e-4
"""Below this (the same host or rack) a timed connection measures the machine, not the path."""

GIVEN, HEURISTIC = "given", "heuristic"
"""Sources of a plan that the service did not make."""

NO_SERVICE = "no service is configured"
"""Why the closed-form rules make a plan, where nothing is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parameters of each chunk, the predicted result, and the reason.

    ``source`` : release | neighbour | heuristic, or ``given`` when the user set the parameters.
    ``predicted`` : ``None`` where nothing can be predicted.
    ``is_assumed`` : the prediction rests on no history, and on an assumed rate of the path.
    ``feasible`` : whether the SLA can be met, where the service knows.
    """

    transfer_id: UUID
    chunks: tuple[ChunkPlan, ...]
    source: str
    rationale: str
    predicted: Prediction | None = None
    feasible: bool | None = None
    answer: "RecommendResponse | None" = None
    is_assumed: bool = False

    @property
    def founded_prediction(self) -> Prediction | None:
        """Return the prediction for people: ``None`` where only an assumed rate of the path stands behind it."""
        return None if self.is_assumed else self.predicted

    @property
    def parameters(self) -> Parameters:
        """One setting in place of the chunks'."""
        return combine_chunk_settings(self.chunks)

    @property
    def quote(self) -> str | None:
        """The id of the quote for this transfer, as its record carries it."""
        price = None if self.answer is None else self.answer.sla.price
        return None if price is None else price.quote


def combine_chunk_settings(chunks: Sequence[ChunkPlan]) -> Parameters:
    """Return one setting in place of several chunks': the sum of concurrency, the widest chunk's other values."""
    return combine_settings([chunk.parameters for chunk in chunks])


def request_plan(client: "Client | None", request: "RecommendRequest") -> Plan | str:
    """Return the service's plan, or one phrase that says why there is none.

    A key that is wrong or lacks a scope raises, since the user has to correct it; a service that is unreachable or
    fails does not.
    """
    if client is None:
        return NO_SERVICE
    try:
        answer = client.recommend(request)
    except (KeyRefused, ScopeMissing):
        raise
    except (ServiceUnreachable, ServiceProblem) as failure:
        return str(failure)
    chunks = tuple(chunk.to_plan() for chunk in answer.chunks)
    if not _cover_all_sizes(chunks):
        return "the service's plan has no chunk for some sizes"
    return Plan(
        transfer_id=answer.transfer_id,
        chunks=chunks,
        source=str(answer.source),
        rationale=answer.rationale,
        predicted=_build_prediction(answer.predicted),
        feasible=answer.sla.feasible,
        answer=answer,
        is_assumed=str(answer.source) == HEURISTIC and request.to_path().bandwidth_bps is None,
    )


def plan_set_by_hand(transfer_id: UUID, parameters: Parameters) -> Plan:
    """Return a plan with the user's setting for all files."""
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
    """Return the closed-form plan (HTTP data transfer services §4), for a path about which the service says nothing.

    Parameters
    ----------
    bins : sizes of the files, at least one file.
    load : share of the path that other traffic uses, 0..1, where known.
    because : why the service made no plan; the rationale begins with it.
    """
    if path.rtt_s is not None:
        path = replace(path, rtt_s=max(path.rtt_s, LEAST_RTT_S))
    bdp_bytes = fill_in_assumptions(path).bdp_bytes
    assert bdp_bytes is not None, "a completed path has a bandwidth and a round trip"
    chunks = split_by_bdp(bins, max(bdp_bytes, 1.0), caps.channels)
    ruled = plan_cold_start(sla, chunks, path, caps, load)
    return Plan(
        transfer_id=transfer_id,
        chunks=ruled.plan,
        source=HEURISTIC,
        rationale=f"{because}; {ruled.rationale}",
        predicted=Prediction(throughput_bps=_compute_band(chunks, ruled.plan, path, load), energy_j=None, power_w=None),
        is_assumed=path.bandwidth_bps is None,
    )


def _compute_band(chunks: Sequence[Chunk], plan: Sequence[ChunkPlan], path: Path, load: float | None) -> Interval:
    """Return the prior's expected rate with its spread, at most the path's rate, bit/s."""
    mean_bps = predict_total_bps(chunks, plan, path, load)
    spread = math.exp(compute_z((1 + BAND) / 2) * prior.PRIOR_LOG_SD)
    most_bps = max(fill_in_assumptions(path).bandwidth_bps or math.inf, mean_bps)
    return Interval(mean_bps, mean_bps / spread, min(mean_bps * spread, most_bps))


def override_settings(plan: Plan, by_hand: Parameters) -> Plan:
    """Return ``plan`` with the user's settings in every chunk."""
    known = by_hand.list_known()
    if not known:
        return plan
    listed = ", ".join(f"{name} {value}" for name, value in known.items())
    chunks = apply_user_settings(plan.chunks, by_hand)
    return replace(plan, chunks=chunks, rationale=f"{plan.rationale}; {listed} set by hand")


def apply_user_settings(chunks: tuple[ChunkPlan, ...], by_hand: Parameters) -> tuple[ChunkPlan, ...]:
    """Return ``chunks`` with the user's settings; a total concurrency is split in proportion to the chunks' own."""
    if by_hand.concurrency is not None:
        shares = _split(by_hand.concurrency, [chunk.parameters.concurrency or 1 for chunk in chunks])
        chunks = tuple(
            chunk._replace(parameters=replace(chunk.parameters, concurrency=share))
            for chunk, share in zip(chunks, shares, strict=True)
        )
    others = {name: value for name, value in by_hand.list_known().items() if name != "concurrency"}
    return tuple(
        chunk._replace(parameters=replace(chunk.parameters, **others))  # type: ignore[arg-type]  # keys are field names
        for chunk in chunks
    )


def replace_settings(plan: Plan, settings: Mapping[ChunkKind, Parameters]) -> Plan:
    """Return ``plan`` with other settings for some chunks."""
    chunks = tuple(chunk._replace(parameters=settings.get(chunk.chunk, chunk.parameters)) for chunk in plan.chunks)
    return replace(plan, chunks=chunks)


def find_chunk(chunks: Sequence[ChunkPlan], file_bytes: int) -> ChunkPlan:
    """Return the chunk of a file: the first whose largest size is not below the file's."""
    return next(chunk for chunk in chunks if chunk.max_file_bytes is None or file_bytes <= chunk.max_file_bytes)


def _cover_all_sizes(chunks: Sequence[ChunkPlan]) -> bool:
    """Return whether every file has a chunk: the largest sizes rise, and the last chunk has no limit."""
    limits = [math.inf if chunk.max_file_bytes is None else chunk.max_file_bytes for chunk in chunks]
    return bool(limits) and limits[-1] == math.inf and all(low < high for low, high in pairwise(limits))


def _build_prediction(wire: "WirePrediction") -> Prediction:
    return Prediction(
        throughput_bps=_build_interval(wire.throughput_bps),
        energy_j=_build_interval(wire.energy_j) if wire.energy_j else None,
        power_w=_build_interval(wire.power_w) if wire.power_w else None,
    )


def _build_interval(wire: "WireInterval") -> Interval:
    return Interval(wire.mean, wire.low, wire.high)


def _split(total: int, weights: Sequence[int]) -> list[int]:
    """Split ``total`` by weight, with at least 1 each; the largest remainders are rounded up first."""
    spare = max(total - len(weights), 0)
    total_weight = sum(weights)
    shares = [1 + spare * weight // total_weight for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: -(spare * weights[i] % total_weight))
    for i in by_remainder[: max(total - sum(shares), 0)]:
        shares[i] += 1
    return shares
