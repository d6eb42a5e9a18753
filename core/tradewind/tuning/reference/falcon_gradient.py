"""Falcon's gradient search (Arifuzzaman and Arslan, SC'21): probe n − 1 and n + 1, then move, faster if going well.

U = T/K^n − T · B · L with K = 1.02, B = 10: at a constant rate a worker it is highest at n = 1/ln K, about 50 workers.
The step is θ · ⌈n · |∂U| / U⌉, where θ counts moves in the same direction. A probe is a tick here, 3 s in the paper.
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from tradewind.dataset import Chunk
from tradewind.heuristics import MAX_CHANNELS, plan_max_throughput
from tradewind.path import Path
from tradewind.tuning.reference.variant import Plan, compute_loss, list_chunks_left
from tradewind.tuning.sample import TickSample

K = 1.02
B = 10.0
FIRST_WORKERS = 2


class Probe(StrEnum):
    BELOW = "below"
    ABOVE = "above"


@dataclass(frozen=True, slots=True)
class FalconState:
    """``workers`` is n, the centre; ``utility_below`` what n − 1 has shown; ``theta`` moves in a row, signed."""

    workers: int = FIRST_WORKERS
    probe: Probe = Probe.BELOW
    utility_below: float = 0.0
    theta: int = 0
    sent_bytes: int = 0
    retransmitted_bytes: int = 0

    @property
    def probed(self) -> int:
        return self.workers - 1 if self.probe is Probe.BELOW else self.workers + 1


def compute_utility(throughput_bps: float, workers: int, loss: float) -> float:
    """U of a probe."""
    return throughput_bps / K**workers - throughput_bps * B * loss


@dataclass(frozen=True, slots=True)
class FalconGradient:
    """``workers`` is the most it may use; they are dealt over chunks as MaxThr does."""

    chunks: tuple[Chunk, ...]
    path: Path
    workers: int = MAX_CHANNELS

    def begin(self) -> tuple[FalconState, Plan]:
        state = FalconState()
        return state, plan_max_throughput(self.chunks, self.path, state.probed)

    def step(self, state: FalconState, sample: TickSample) -> tuple[FalconState, Plan]:
        loss = compute_loss(sample, sent_bytes=state.sent_bytes, retransmitted_bytes=state.retransmitted_bytes)
        now = self._move_workers(state, compute_utility(sample.throughput_bps, state.probed, loss))
        now = replace(now, sent_bytes=sample.sent_bytes or 0, retransmitted_bytes=sample.retransmitted_bytes or 0)
        left = list_chunks_left(self.chunks, sample) or self.chunks
        return now, plan_max_throughput(left, self.path, now.probed)

    def _move_workers(self, state: FalconState, seen: float) -> FalconState:
        if state.probe is Probe.BELOW:
            return replace(state, probe=Probe.ABOVE, utility_below=seen)
        slope = (seen - state.utility_below) / 2
        direction = 1 if slope > 0 else -1
        theta = state.theta + direction if state.theta * direction > 0 else direction
        relative = abs(slope / state.utility_below) if state.utility_below else 1.0
        step = theta * math.ceil(state.workers * relative)
        workers = max(FIRST_WORKERS, min(state.workers + step, max(self.workers - 1, FIRST_WORKERS)))
        return FalconState(workers=workers, theta=theta)
