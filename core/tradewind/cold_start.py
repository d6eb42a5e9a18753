"""What to do without history: the closed-form rule for what is agreed, and what it takes for granted.

A service without logs of a path and an agent without its service both ask here, so that they say the same.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tradewind import heuristics, prior
from tradewind.cluster import LOAD_MAX
from tradewind.dataset import Chunk
from tradewind.parameters import NO_CAPS, Caps
from tradewind.path import BOUNDS, Path
from tradewind.recommendation import ChunkPlan
from tradewind.selection import unit_target
from tradewind.sla import Sla, SlaKind
from tradewind.units import format_bps

ASSUMED_PATH = Path(bandwidth_bps=1e9, rtt_s=0.05)
"""Taken for what nobody knows of a path, and told: the commonest access rate of a server, and half-way between a
continent's round trip and an ocean's."""

EFFICIENT_SHARE = 0.9
"""Energy efficiency: the fewest channels that the prior gives this share of its best level."""


@dataclass(frozen=True, slots=True)
class ColdStart:
    """A plan of the closed-form rules, in the order of its chunks, and why it is so."""

    plan: tuple[ChunkPlan, ...]
    rationale: str


def cold_start(
    sla: Sla, chunks: Sequence[Chunk], path: Path, caps: Caps = NO_CAPS, load: float | None = None
) -> ColdStart:
    """The plan of the rule for an agreement (002 §4): MaxThr, MinE, EE or FlexibleThr.

    The rules see the bandwidth that the load leaves, BW · (1 − ℓ). A rate, a deadline or a fraction is FlexibleThr's
    target; caps on energy and power have no rule of their own and get MinE.

    Parameters
    ----------
    chunks : at least one, no more than the channels that ``caps`` allow (see ``split_by_bdp``).
    path : what is not known of it is taken from ``ASSUMED_PATH``.
    caps : of all chunks together.
    load : external load ℓ, 0..1, of which no more than ``LOAD_MAX`` is believed; ``None``: not known, so none.
    """
    taken = min(load or 0.0, LOAD_MAX)
    free = _without_load(completed(path), taken)
    name, ruled = _by_rule(sla, chunks, free, heuristics.channels_allowed(caps))
    by_kind = {each.chunk: each for each in ruled}
    whole = max(sum(chunk.dataset.total_bytes for chunk in chunks), 1)
    plan = []
    for chunk in chunks:
        planned = by_kind[chunk.kind]
        parameters = planned.parameters
        files = min(parameters.concurrency or 1, chunk.dataset.file_count)  # more channels than files would stand idle
        part = caps.part(chunk.dataset.total_bytes / whole, len(chunks))
        plan.append(planned._replace(parameters=part.clamp(replace(parameters, concurrency=files))))
    at_load = f" at load {taken:.2f}" if taken else ""
    return ColdStart(tuple(plan), f"closed-form rule {name} for {sla.kind}{at_load}{assuming(path)}")


def completed(path: Path) -> Path:
    """``path`` with what the rules cannot do without."""
    return path.completed_by(ASSUMED_PATH)


def assuming(path: Path) -> str:
    """The phrase that admits what is assumed of ``path``, to be put behind a statement; empty where nothing is."""
    assumed = [
        f"{name} {text}"
        for name, known, text in (
            ("bandwidth", path.bandwidth_bps, format_bps(ASSUMED_PATH.bandwidth_bps or 0.0)),
            ("RTT", path.rtt_s, f"{1000 * (ASSUMED_PATH.rtt_s or 0.0):.0f} ms"),
        )
        if known is None
    ]
    return f", assuming {' and '.join(assumed)}" if assumed else ""


def expected_bps(chunks: Sequence[Chunk], plan: Sequence[ChunkPlan], path: Path, load: float | None = None) -> float:
    """Prior mean of chunks that run side by side, bit/s: their rates added up, within what the load leaves."""
    known, taken = completed(path), min(load or 0.0, LOAD_MAX)
    rates = (
        prior.throughput_bps(known, chunk.dataset, each.parameters, taken)
        for chunk, each in zip(chunks, plan, strict=True)
    )
    return min(sum(rates), (known.bandwidth_bps or math.inf) * (1 - taken))


def _without_load(path: Path, load: float) -> Path:
    if not load or path.bandwidth_bps is None:
        return path
    return replace(path, bandwidth_bps=max(path.bandwidth_bps * (1 - load), BOUNDS["bandwidth_bps"][0]))


def _by_rule(sla: Sla, chunks: Sequence[Chunk], path: Path, channels: int) -> tuple[str, tuple[ChunkPlan, ...]]:
    """The rule's name and its plan."""
    if sla.kind is SlaKind.MAX_THROUGHPUT:
        return "MaxThr", heuristics.max_throughput(chunks, path, channels)
    if sla.kind is SlaKind.ENERGY_EFFICIENCY:
        return "EE", _efficient(chunks, path, channels)
    if sla.kind in {SlaKind.THROUGHPUT_AT_LEAST, SlaKind.DEADLINE}:
        total_bytes = sum(chunk.dataset.total_bytes for chunk in chunks)
        wanted_bps = unit_target(sla, dataset_bytes=total_bytes, certifiable_bps=path.bandwidth_bps)
        return "FlexibleThr", heuristics.flexible_throughput(chunks, path, max(wanted_bps or 0.0, 1.0), channels)
    return "MinE", heuristics.min_energy(chunks, path, channels)


def _efficient(chunks: Sequence[Chunk], path: Path, channels: int) -> tuple[ChunkPlan, ...]:
    """EE, whose level is searched online, begun at the level that the prior thinks enough."""
    levels = [heuristics.energy_efficiency(chunks, path, level) for level in heuristics.efficiency_levels(channels)]
    expected = [expected_bps(chunks, plan, path) for plan in levels]
    enough = EFFICIENT_SHARE * max(expected)
    return next(plan for plan, bps in zip(levels, expected, strict=True) if bps >= enough)
