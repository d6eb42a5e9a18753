"""AIMD on completion: one connection more while files are completed as fast as before, half of them where not.

FTS3 decides on completed files first: it adds connections while its success rate stays above 97 % (its rates are over
windows of minutes), and gives up one where it falls. Its optimizer as it is in use, with an additive decrease, is
`fts3`. This is the form with a multiplicative decrease, on files completed per second, since the transfers compared
here complete all their files.
"""

from dataclasses import dataclass, replace

from tradewind.dataset import Chunk
from tradewind.heuristics import MAX_CHANNELS, plan_max_throughput
from tradewind.path import Path
from tradewind.tuning.reference.variant import Plan, list_chunks_left
from tradewind.tuning.sample import TickSample

FIRST_CONNECTIONS = 2
INCREASE = 1
DECREASE = 0.5
ENOUGH = 0.97
"""Share of the smoothed completion rate that counts as no fall: FTS3's threshold of its success rate."""

SMOOTHING = 0.3
"""Weight of the newest rate: some ten files are completed within a tick, so that one rate varies by a third."""


@dataclass(frozen=True, slots=True)
class AimdState:
    """``files_per_s`` : smoothed completion rate; ``remaining_files`` : of the last sample, −1 before the first."""

    connections: int = FIRST_CONNECTIONS
    files_per_s: float = 0.0
    remaining_files: int = -1


@dataclass(frozen=True, slots=True)
class Aimd:
    """``most`` connections at a time; they are dealt over chunks as MaxThr does."""

    chunks: tuple[Chunk, ...]
    path: Path
    most: int = MAX_CHANNELS

    def begin(self) -> tuple[AimdState, Plan]:
        state = AimdState()
        return state, plan_max_throughput(self.chunks, self.path, state.connections)

    def step(self, state: AimdState, sample: TickSample) -> tuple[AimdState, Plan]:
        now = replace(state, remaining_files=sample.remaining_files)
        if state.remaining_files >= 0 and sample.interval_s > 0:
            rate = max(state.remaining_files - sample.remaining_files, 0) / sample.interval_s
            smoothed = SMOOTHING * rate + (1 - SMOOTHING) * state.files_per_s if state.files_per_s else rate
            now = replace(
                now,
                files_per_s=smoothed,
                connections=self._move_connections(state, has_fallen=smoothed < ENOUGH * state.files_per_s),
            )
        left = list_chunks_left(self.chunks, sample) or self.chunks
        return now, plan_max_throughput(left, self.path, now.connections)

    def _move_connections(self, state: AimdState, *, has_fallen: bool) -> int:
        if has_fallen:
            return max(1, int(DECREASE * state.connections))
        return min(state.connections + INCREASE, self.most)
