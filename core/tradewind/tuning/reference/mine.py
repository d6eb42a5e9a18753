"""MinE (HTTP data transfer services §4.1): channels by ⌈BDP/mean⌉, small files first, set once."""

from dataclasses import dataclass

from tradewind.dataset import Chunk
from tradewind.heuristics import MAX_CHANNELS, plan_min_energy
from tradewind.path import Path
from tradewind.tuning.reference.variant import Plan
from tradewind.tuning.sample import TickSample


@dataclass(frozen=True, slots=True)
class MinE:
    chunks: tuple[Chunk, ...]
    path: Path
    channels: int = MAX_CHANNELS

    def begin(self) -> tuple[None, Plan]:
        return None, plan_min_energy(self.chunks, self.path, self.channels)

    def step(self, state: None, sample: TickSample) -> tuple[None, Plan]:  # noqa: ARG002 — MinE looks at nothing
        return None, plan_min_energy(self.chunks, self.path, self.channels)
