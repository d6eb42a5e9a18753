"""SLAEE, called FlexibleThr in paper 002 §4.4: from one channel to the target by proportion, then by one a check."""

from dataclasses import dataclass

from tradewind.dataset import Chunk
from tradewind.heuristics import MAX_CHANNELS, flexible_throughput_concurrency, min_energy
from tradewind.path import Path
from tradewind.tuning.reference.variant import Plan, chunks_left
from tradewind.tuning.sample import Sample


@dataclass(frozen=True, slots=True)
class FlexibleState:
    """``channels`` in use; ``jumped`` once the first check has compared target and throughput."""

    channels: int = 1
    jumped: bool = False


@dataclass(frozen=True, slots=True)
class SLAEE:
    """``target_bps`` is the share of the maximum that was agreed; channels go to small files first, as in MinE."""

    chunks: tuple[Chunk, ...]
    path: Path
    target_bps: float
    channels: int = MAX_CHANNELS

    def begin(self) -> tuple[FlexibleState, Plan]:
        return FlexibleState(), min_energy(self.chunks, self.path, 1)

    def step(self, state: FlexibleState, sample: Sample) -> tuple[FlexibleState, Plan]:
        wanted = state.channels
        if sample.throughput_bps < self.target_bps:
            wanted += 1
            if not state.jumped and sample.throughput_bps > 0:
                wanted = flexible_throughput_concurrency(self.target_bps, sample.throughput_bps, state.channels)
        now = FlexibleState(min(wanted, self.channels), jumped=True)
        return now, min_energy(chunks_left(self.chunks, sample) or self.chunks, self.path, now.channels)
