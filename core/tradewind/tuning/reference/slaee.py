"""SLAEE, called FlexibleThr in HTTP data transfer services §4.4.

It goes from one channel to the target by proportion, then by one a check.
"""

from dataclasses import dataclass, replace

from tradewind.dataset import Chunk
from tradewind.heuristics import MAX_CHANNELS, compute_flexible_throughput_concurrency, plan_min_energy
from tradewind.path import Path
from tradewind.tuning.reference.variant import Plan, list_chunks_left
from tradewind.tuning.sample import TickSample


@dataclass(frozen=True, slots=True)
class FlexibleState:
    """``channels`` in use; ``jumped`` once the first check has compared target and throughput."""

    channels: int = 1
    jumped: bool = False


@dataclass(frozen=True, slots=True)
class SLAEE:
    """``target_bps`` is the share of the maximum that was agreed; channels go to small files first."""

    chunks: tuple[Chunk, ...]
    path: Path
    target_bps: float
    channels: int = MAX_CHANNELS

    def begin(self) -> tuple[FlexibleState, Plan]:
        return FlexibleState(), self._build_plan(self.chunks, 1)

    def step(self, state: FlexibleState, sample: TickSample) -> tuple[FlexibleState, Plan]:
        channels = state.channels
        if sample.throughput_bps < self.target_bps:
            channels += 1
            if not state.jumped and sample.throughput_bps > 0:
                channels = compute_flexible_throughput_concurrency(
                    self.target_bps, sample.throughput_bps, state.channels
                )
        now = FlexibleState(min(channels, self.channels), jumped=True)
        return now, self._build_plan(list_chunks_left(self.chunks, sample) or self.chunks, now.channels)

    def _build_plan(self, chunks: tuple[Chunk, ...], channels: int) -> Plan:
        """Return the one channel for each chunk, all others to the smallest files that can take them."""
        spare = max(channels - len(chunks), 0)
        plan = []
        for chunk, rule in zip(chunks, plan_min_energy(chunks, self.path, len(chunks)), strict=True):
            taken = min(spare, chunk.dataset.file_count - 1)
            spare -= taken
            plan.append(rule._replace(parameters=replace(rule.parameters, concurrency=1 + taken)))
        return tuple(plan)
