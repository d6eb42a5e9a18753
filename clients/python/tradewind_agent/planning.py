"""Where the parameters of a transfer come from: the user, the service, or the closed-form rules when neither says.

A plan has one entry a chunk. Whatever the user sets by hand holds for every chunk and wins over both others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from uuid import UUID

from tradewind import heuristics, prior
from tradewind.dataset import Chunk, ChunkKind, SizeBin, split_by_bdp
from tradewind.parameters import NO_CAPS, Caps, Parameters
from tradewind.path import Path
from tradewind.prediction import BAND, Interval, Prediction, z_of
from tradewind.recommendation import ChunkPlan
from tradewind.sla import Sla, SlaKind
from tradewind.units import BITS_PER_BYTE, format_bps
from tradewind.wire.recommendations import RecommendRequest, RecommendResponse, WireInterval, WirePrediction
from tradewind_agent.client import Client
from tradewind_agent.errors import KeyRefused, ScopeMissing, ServiceAway, ServiceProblem

ASSUMED_BANDWIDTH_BPS = 1e9
"""Where neither the user nor the network interface tells: the commonest access rate of a server."""

ASSUMED_RTT_S = 0.05
"""Where no connection could be timed: half-way between a continent's and an ocean's round trip."""

LEAST_RTT_S = 1e-4
"""Below this (the same host or rack) a timed connection measures the machine, not the path."""

EFFICIENT_SHARE = 0.9
"""Energy efficiency from a cold start: the fewest channels that the prior gives this share of its best level."""

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
        """One setting for the whole: concurrency added up, the widest chunk's other values."""
        widest = max(self.chunks, key=lambda chunk: chunk.parameters.streams).parameters
        return replace(widest, concurrency=sum(chunk.parameters.concurrency or 1 for chunk in self.chunks))


def ask(client: Client | None, request: RecommendRequest) -> Plan | str:
    """The service's plan, or one phrase saying why there is none.

    A wrong or powerless key is the user's to mend and raises; a service that is away or broken is not.
    """
    if client is None:
        return "no service is configured"
    try:
        answer = client.recommend(request)
    except (KeyRefused, ScopeMissing):
        raise
    except (ServiceAway, ServiceProblem) as failure:
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


def plan_given(transfer_id: UUID, parameters: Parameters) -> Plan:
    """One setting for all files, as the user wants it."""
    chunks = (ChunkPlan(ChunkKind.WHOLE, None, parameters),)
    return Plan(transfer_id=transfer_id, chunks=chunks, source=GIVEN, rationale="set by hand")


def plan_by_rules(
    transfer_id: UUID, bins: Sequence[SizeBin], path: Path, sla: Sla, caps: Caps = NO_CAPS, *, because: str
) -> Plan:
    """The closed-form plan (paper 002 §4) for a path of which the agent alone must judge.

    Parameters
    ----------
    bins : sizes of the files, at least one file.
    because : why the service was not asked or did not answer; told in the rationale.
    """
    known, assumed = _with_assumptions(path)
    chunks = split_by_bdp(bins, max(known.bdp_bytes or 0.0, 1.0))
    plans = tuple(each._replace(parameters=caps.clamp(each.parameters)) for each in _rule(sla, chunks, known, caps))
    mean_bps = _prior_bps(chunks, plans, known)
    spread = math.exp(z_of((1 + BAND) / 2) * prior.PRIOR_LOG_SD)
    band = Interval(mean_bps, mean_bps / spread, max(min(mean_bps * spread, known.bandwidth_bps or math.inf), mean_bps))
    return Plan(
        transfer_id=transfer_id,
        chunks=plans,
        source=HEURISTIC,
        rationale=f"{because}; closed-form rules for {sla.kind}{assumed}",
        predicted=Prediction(throughput_bps=band, energy_j=None, power_w=None),
    )


def with_overrides(plan: Plan, wanted: Parameters) -> Plan:
    """``plan`` with the user's settings in every chunk; a total concurrency is split by the chunks' shares."""
    known = wanted.known()
    if not known:
        return plan
    chunks = plan.chunks
    if wanted.concurrency is not None:
        shares = _split(wanted.concurrency, [chunk.parameters.concurrency or 1 for chunk in chunks])
        chunks = tuple(
            chunk._replace(parameters=replace(chunk.parameters, concurrency=share))
            for chunk, share in zip(chunks, shares, strict=True)
        )
    others = {name: value for name, value in known.items() if name != "concurrency"}
    chunks = tuple(
        chunk._replace(parameters=replace(chunk.parameters, **others))  # type: ignore[arg-type]  # keys are field names
        for chunk in chunks
    )
    told = ", ".join(f"{name} {value}" for name, value in known.items())
    return replace(plan, chunks=chunks, rationale=f"{plan.rationale}; {told} set by hand")


def chunk_of_size(chunks: Sequence[ChunkPlan], file_bytes: int) -> ChunkPlan:
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


def _with_assumptions(path: Path) -> tuple[Path, str]:
    """``path`` with what the rules cannot do without, and the phrase that admits it."""
    admitted = []
    if path.bandwidth_bps is None:
        admitted.append(f"bandwidth assumed {format_bps(ASSUMED_BANDWIDTH_BPS)}")
    if path.rtt_s is None:
        admitted.append(f"RTT assumed {1e3 * ASSUMED_RTT_S:g} ms")
    known = replace(
        path,
        bandwidth_bps=path.bandwidth_bps or ASSUMED_BANDWIDTH_BPS,
        rtt_s=max(path.rtt_s or ASSUMED_RTT_S, LEAST_RTT_S),
    )
    return known, f" ({', '.join(admitted)})" if admitted else ""


def _rule(sla: Sla, chunks: Sequence[Chunk], path: Path, caps: Caps) -> tuple[ChunkPlan, ...]:
    channels = heuristics.channels_allowed(caps)
    if sla.kind is SlaKind.MAX_THROUGHPUT:
        return heuristics.max_throughput(chunks, path, channels)
    if sla.kind in (SlaKind.THROUGHPUT_AT_LEAST, SlaKind.DEADLINE):
        return heuristics.flexible_throughput(chunks, path, _target_bps(sla, chunks, path), channels)
    if sla.kind is SlaKind.ENERGY_EFFICIENCY:
        return _efficient(chunks, path, channels)
    return heuristics.min_energy(chunks, path, channels)


def _efficient(chunks: Sequence[Chunk], path: Path, channels: int) -> tuple[ChunkPlan, ...]:
    levels = [heuristics.energy_efficiency(chunks, path, level) for level in heuristics.efficiency_levels(channels)]
    expected = [_prior_bps(chunks, plans, path) for plans in levels]
    enough = EFFICIENT_SHARE * max(expected)
    return next(plans for plans, bps in zip(levels, expected, strict=True) if bps >= enough)


def _target_bps(sla: Sla, chunks: Sequence[Chunk], path: Path) -> float:
    if sla.fraction is not None:
        return sla.fraction * (path.bandwidth_bps or ASSUMED_BANDWIDTH_BPS)
    target = sla.target or 0.0
    if sla.kind is SlaKind.DEADLINE:
        return max(BITS_PER_BYTE * sum(chunk.dataset.total_bytes for chunk in chunks) / target, 1.0)
    return target


def _prior_bps(chunks: Sequence[Chunk], plans: Sequence[ChunkPlan], path: Path) -> float:
    """Prior of the chunks moved side by side: their rates added up, within the path's."""
    rates = (
        prior.throughput_bps(path, chunk.dataset, plan.parameters) for chunk, plan in zip(chunks, plans, strict=True)
    )
    return min(sum(rates), path.bandwidth_bps or math.inf)


def _split(total: int, weights: Sequence[int]) -> list[int]:
    """``total`` by weight, at least one each, largest remainders first."""
    spare = max(total - len(weights), 0)
    whole = sum(weights)
    shares = [1 + spare * weight // whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: -(spare * weights[i] % whole))
    for i in by_remainder[: max(total - sum(shares), 0)]:
        shares[i] += 1
    return shares
