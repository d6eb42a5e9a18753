"""MaxThr (HTTP data transfer services §4.2): channels dealt Large–Medium–Small.

Those of a finished sub-group are dealt again.
"""

from dataclasses import dataclass

from tradewind.dataset import Chunk
from tradewind.heuristics import MAX_CHANNELS, plan_max_throughput
from tradewind.path import Path
from tradewind.tuning.reference.variant import Plan, list_chunks_left
from tradewind.tuning.sample import TickSample


@dataclass(frozen=True, slots=True)
class MaxThr:
    """The state is the plan: it changes only when a chunk is done."""

    chunks: tuple[Chunk, ...]
    path: Path
    channels: int = MAX_CHANNELS

    def begin(self) -> tuple[Plan, Plan]:
        plan = plan_max_throughput(self.chunks, self.path, self.channels)
        return plan, plan

    def step(self, state: Plan, sample: TickSample) -> tuple[Plan, Plan]:
        left = list_chunks_left(self.chunks, sample)
        if not left or [chunk.kind for chunk in left] == [chunk_plan.chunk for chunk_plan in state]:
            return state, state
        plan = plan_max_throughput(left, self.path, self.channels)
        return plan, plan
