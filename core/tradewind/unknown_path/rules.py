"""Plans without history: the closed-form rule for an SLA, and its assumptions.

A service without logs of a path and an agent without its service both use this module, so that they agree.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, assert_never

from tradewind import heuristics
from tradewind.cluster import LOAD_MAX
from tradewind.dataset import Chunk
from tradewind.parameters import NO_CAPS, Caps
from tradewind.path import BOUNDS, Path
from tradewind.recommendation import ChunkPlan
from tradewind.shared_pipe import compute_end_times_s
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tiers.selection import compute_target_in_unit
from tradewind.units import format_bps, format_seconds
from tradewind.unknown_path import prior

ASSUMED_PATH = Path(bandwidth_bps=1e9, rtt_s=0.05)
"""Assumed where a path's values are unknown, and stated in the rationale: the commonest access rate of a server, and a
round trip between a continent's and an ocean's."""

EFFICIENT_SHARE = 0.9
"""Energy efficiency: the fewest channels that the prior gives this share of its best level."""

STREAM_POWER = 0.01
"""Power of an open stream as a share of its hosts' idle power: a judgement, on the low side of what testbeds show.

Where it is more, plans with few streams gain more."""

MOST_STREAMS = 128
"""Streams of a chunk at most: a small buffer asks for more of them than any measured path carries without collapse."""

ROUNDING = 1e-9
"""Relative; values that differ by less are equal."""

FRUGAL_CHANNELS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
"""Channel counts of MaxThr plans that are compared for little energy, in addition to all channels."""

_FRUGAL = frozenset({SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY, SlaKind.ENERGY_AT_MOST})
"""Kinds whose plan must take no more energy than that of the fastest rule."""


@dataclass(frozen=True, slots=True)
class ColdStartPlan:
    """A plan of the closed-form rules, in the order of its chunks, and why it is so."""

    plan: tuple[ChunkPlan, ...]
    rationale: str


def plan_cold_start(
    sla: Sla, chunks: Sequence[Chunk], path: Path, caps: Caps = NO_CAPS, load: float | None = None
) -> ColdStartPlan:
    """Return the plan of the rule for an SLA (002 §4): MaxThr, MinE, EE or FlexibleThr.

    The rules see the bandwidth that the load leaves, BW · (1 − ℓ). A rate, a deadline or a fraction is FlexibleThr's
    target; caps on energy and power have no rule of their own and get MinE. A plan for little energy is never
    expected to take more of it than MaxThr's, see `_choose_frugal`.

    Parameters
    ----------
    chunks : at least one, no more than the channels that ``caps`` allow (see ``split_by_bdp``).
    path : what is not known of it is taken from ``ASSUMED_PATH``.
    caps : of all chunks together.
    load : external load ℓ, 0..1, at most ``LOAD_MAX``; ``None``: not known, so none.
    """
    taken = min(load or 0.0, LOAD_MAX)
    free = _take_load_out(fill_in_assumptions(path), taken)
    channels = heuristics.count_allowed_channels(caps)
    name, ruled = _plan_by_rule(sla, chunks, free, channels)
    plan, why = _cut_to_caps(chunks, ruled, caps), ""
    if sla.kind in _FRUGAL:

        def rate(name: str, ruled: Sequence[ChunkPlan]) -> _ScoredPlan:
            return _rate_plan(name, chunks, _cut_to_caps(chunks, ruled, caps), fill_in_assumptions(path), taken)

        own = rate(name, ruled)
        chosen = _choose_frugal(own, chunks, free, channels, rate)
        plan = chosen.plan
        if chosen.name != own.name:
            name, why = (
                chosen.name,
                f": {own.name} is expected to take more energy, {_format_effort(own)} against {_format_effort(chosen)}",
            )
    at_load = f" at load {taken:.2f}" if taken else ""
    return ColdStartPlan(plan, f"closed-form rule {name} for {sla.kind}{at_load}{why}{describe_assumptions(path)}")


class _ScoredPlan(NamedTuple):
    """A rule's plan and what decides on its energy by the prior: ``stream_s`` adds up how long each stream is open."""

    name: str
    plan: tuple[ChunkPlan, ...]
    duration_s: float
    stream_s: float
    streams: int
    throughput_bps: float

    @property
    def modelled_energy(self) -> float:
        """Return the energy in multiples of what the hosts take idle in one second; without what they take for the
        bytes alone.
        """
        return self.duration_s + STREAM_POWER * self.stream_s

    def is_no_dearer_than(self, other: "_ScoredPlan") -> bool:
        """Return whether this plan should take no more energy, however energy divides between time and streams."""
        return (
            _is_at_most(self.duration_s, other.duration_s)
            and _is_at_most(self.modelled_energy, other.modelled_energy)
            and _is_at_most(self.stream_s, other.stream_s)
        )


def _rate_plan(name: str, chunks: Sequence[Chunk], plan: tuple[ChunkPlan, ...], path: Path, load: float) -> _ScoredPlan:
    rates_bps = [
        prior.predict_throughput_bps(path, chunk.dataset, chunk_plan.parameters, load)
        for chunk, chunk_plan in zip(chunks, plan, strict=True)
    ]
    ceiling_bps = (path.bandwidth_bps or math.inf) * (1 - load)
    ends_s = compute_end_times_s([chunk.dataset.total_bytes for chunk in chunks], rates_bps, ceiling_bps)
    streams = [chunk_plan.parameters.streams for chunk_plan in plan]
    return _ScoredPlan(
        name=name,
        plan=plan,
        duration_s=max(ends_s),
        stream_s=sum(count * end_s for count, end_s in zip(streams, ends_s, strict=True)),
        streams=sum(streams),
        throughput_bps=min(sum(rates_bps), ceiling_bps),
    )


def _choose_frugal(
    own: _ScoredPlan,
    chunks: Sequence[Chunk],
    path: Path,
    channels: int,
    rate: Callable[[str, Sequence[ChunkPlan]], _ScoredPlan],
) -> _ScoredPlan:
    """Return the plan for little energy: the SLA's own rule, unless MaxThr or MinE is expected to take less.

    In that case, of the plans that end no later than MaxThr's the one that keeps streams open for the least time is
    chosen. Whatever part of its hosts' power goes with time, open streams and bytes, it takes no more energy than
    MaxThr's.
    """
    fastest = rate("MaxThr", heuristics.plan_max_throughput(chunks, path, channels))
    frugal = rate("MinE", heuristics.plan_min_energy(chunks, path, channels))
    if not frugal.is_no_dearer_than(fastest):
        levels = [channels_tried for channels_tried in FRUGAL_CHANNELS if channels_tried < channels]
        frugal = _choose_least_streams(
            rate("EE", _plan_efficient(chunks, path, channels)),
            *(
                rate(f"MaxThr of {level} channels", heuristics.plan_max_throughput(chunks, path, level))
                for level in levels
            ),
            fastest,
        )
    return own if own.is_no_dearer_than(fastest) and own.is_no_dearer_than(frugal) else frugal


def _choose_least_streams(*plans: _ScoredPlan) -> _ScoredPlan:
    """Return the plan with the least stream time of those that are no worse than the last one in any respect."""
    fastest = plans[-1]
    no_worse = [
        plan
        for plan in plans
        if _is_at_most(plan.duration_s, fastest.duration_s)
        and _is_at_most(plan.stream_s, fastest.stream_s)
        and plan.streams <= fastest.streams
        and _is_at_most(fastest.throughput_bps, plan.throughput_bps)
    ]
    return min(no_worse, key=lambda each: (each.stream_s, each.duration_s))


def _format_effort(plan: _ScoredPlan) -> str:
    return f"{format_seconds(plan.duration_s)} with {plan.stream_s / plan.duration_s:.3g} streams"


def _is_at_most(value: float, bound: float) -> bool:
    return value <= bound * (1 + ROUNDING)


def _cut_to_caps(chunks: Sequence[Chunk], ruled: Sequence[ChunkPlan], caps: Caps) -> tuple[ChunkPlan, ...]:
    """Return a rule's plan in the order of the chunks, cut to the files that there are and to the caps."""
    by_kind = {chunk_plan.chunk: chunk_plan for chunk_plan in ruled}
    total_bytes = max(sum(chunk.dataset.total_bytes for chunk in chunks), 1)
    plan = []
    for chunk in chunks:
        planned = by_kind[chunk.kind]
        parameters = planned.parameters
        files = min(parameters.concurrency or 1, chunk.dataset.file_count)  # more channels than files would stand idle
        streams = min(parameters.parallelism or 1, max(MOST_STREAMS // files, 1))
        part = caps.take_part(chunk.dataset.total_bytes / total_bytes, len(chunks))
        plan.append(
            planned._replace(parameters=part.clamp(replace(parameters, concurrency=files, parallelism=streams)))
        )
    return tuple(plan)


def fill_in_assumptions(path: Path) -> Path:
    """Return the path with every missing value that the rules need taken from ``ASSUMED_PATH``."""
    return path.complete_from(ASSUMED_PATH)


def describe_assumptions(path: Path) -> str:
    """Return a phrase that states what is assumed of ``path``, to be appended to a sentence; empty without
    assumptions.
    """
    assumed = [
        f"{name} {text}"
        for name, known, text in (
            ("bandwidth", path.bandwidth_bps, format_bps(ASSUMED_PATH.bandwidth_bps or 0.0)),
            ("RTT", path.rtt_s, f"{1000 * (ASSUMED_PATH.rtt_s or 0.0):.0f} ms"),
        )
        if known is None
    ]
    return f", assuming {' and '.join(assumed)}" if assumed else ""


def predict_total_bps(
    chunks: Sequence[Chunk], plan: Sequence[ChunkPlan], path: Path, load: float | None = None
) -> float:
    """Return the prior mean of chunks that run side by side, bit/s: their rates added up, within what the load
    leaves.
    """
    known, taken = fill_in_assumptions(path), min(load or 0.0, LOAD_MAX)
    rates = (
        prior.predict_throughput_bps(known, chunk.dataset, chunk_plan.parameters, taken)
        for chunk, chunk_plan in zip(chunks, plan, strict=True)
    )
    return min(sum(rates), (known.bandwidth_bps or math.inf) * (1 - taken))


def _take_load_out(path: Path, load: float) -> Path:
    if not load or path.bandwidth_bps is None:
        return path
    return replace(path, bandwidth_bps=max(path.bandwidth_bps * (1 - load), BOUNDS["bandwidth_bps"][0]))


def _plan_by_rule(sla: Sla, chunks: Sequence[Chunk], path: Path, channels: int) -> tuple[str, tuple[ChunkPlan, ...]]:
    """Return the rule's name and its plan."""
    match sla.kind:
        case SlaKind.MAX_THROUGHPUT:
            return "MaxThr", heuristics.plan_max_throughput(chunks, path, channels)
        case SlaKind.ENERGY_EFFICIENCY:
            return "EE", _plan_efficient(chunks, path, channels)
        case SlaKind.THROUGHPUT_AT_LEAST | SlaKind.DEADLINE:
            total_bytes = sum(chunk.dataset.total_bytes for chunk in chunks)
            target_bps = compute_target_in_unit(sla, dataset_bytes=total_bytes, certifiable_bps=path.bandwidth_bps)
            plan = heuristics.plan_flexible_throughput(chunks, path, max(target_bps or 0.0, 1.0), channels)
            return "FlexibleThr", plan
        case SlaKind.MIN_ENERGY | SlaKind.ENERGY_AT_MOST | SlaKind.POWER_AT_MOST:
            return "MinE", heuristics.plan_min_energy(chunks, path, channels)
        case _:
            assert_never(sla.kind)


def _plan_efficient(chunks: Sequence[Chunk], path: Path, channels: int) -> tuple[ChunkPlan, ...]:
    """Return EE's plan, whose level is searched online, started at the level that the prior calls sufficient."""
    levels = [
        heuristics.plan_energy_efficiency(chunks, path, level) for level in heuristics.list_efficiency_levels(channels)
    ]
    expected = [predict_total_bps(chunks, plan, path) for plan in levels]
    enough = EFFICIENT_SHARE * max(expected)
    return next(plan for plan, bps in zip(levels, expected, strict=True) if bps >= enough)
