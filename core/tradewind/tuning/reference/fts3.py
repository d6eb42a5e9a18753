"""FTS3's optimizer: one more connection while the smoothed throughput does not fall, one fewer when it collapses.

Checks in its order; a sample reports no failures, so that the success rate is 1 and its checks never fire:

throughput above its cap → −1; nothing measured → hold; fewer files queued than the last decision → hold; fallen:
files ten times smaller → +1, throughput ten times lower → −1, else hold; risen or equal → +1 (aggressive: +2).
Each file gets ⌊connections / (active + queued)⌋ streams, 1 … 16. Decisions come every 60 s by default.
"""

from dataclasses import dataclass, replace

from tradewind.dataset import Chunk
from tradewind.heuristics import deal_channels
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind.tuning.reference.variant import Plan, list_chunks_left
from tradewind.tuning.sample import TickSample

INTERVAL_S = 60.0
MIN_CONNECTIONS = 2
MAX_CONNECTIONS = 60
MAX_STREAMS = 16
SMOOTHING = 0.1
"""Weight of the newest throughput in the moving average (FTS3's EMA alpha)."""

DECADE = 10.0


@dataclass(frozen=True, slots=True)
class Fts3State:
    """``ema_bps`` now, and ``decided_bps`` and ``decided_file_bytes`` when the last decision was taken."""

    connections: int
    elapsed_s: float = 0.0
    ema_bps: float = 0.0
    decided_bps: float = 0.0
    decided_file_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class Fts3:
    chunks: tuple[Chunk, ...]
    fewest: int = MIN_CONNECTIONS
    most: int = MAX_CONNECTIONS
    interval_s: float = INTERVAL_S
    throughput_cap_bps: float | None = None
    increase: int = 1

    def begin(self) -> tuple[Fts3State, Plan]:
        state = Fts3State(connections=(self.fewest + self.most) // 2)
        queued = sum(chunk.dataset.file_count for chunk in self.chunks)
        return state, self._build_plan(state, self.chunks, queued)

    def step(self, state: Fts3State, sample: TickSample) -> tuple[Fts3State, Plan]:
        ema = sample.throughput_bps
        if state.ema_bps > 0:
            ema = SMOOTHING * sample.throughput_bps + (1 - SMOOTHING) * state.ema_bps
        now = replace(state, elapsed_s=state.elapsed_s + sample.interval_s, ema_bps=ema)
        if now.elapsed_s >= self.interval_s:
            now = self._decide_connections(now, sample)
        left = list_chunks_left(self.chunks, sample) or self.chunks
        return now, self._build_plan(now, left, sample.remaining_files)

    def _decide_connections(self, state: Fts3State, sample: TickSample) -> Fts3State:
        file_bytes = sample.remaining_bytes / max(sample.remaining_files, 1)
        connections = max(
            self.fewest, min(state.connections + self._compute_change(state, sample, file_bytes), self.most)
        )
        return replace(
            state,
            connections=connections,
            elapsed_s=0.0,
            decided_bps=state.ema_bps,
            decided_file_bytes=file_bytes,
        )

    def _compute_change(self, state: Fts3State, sample: TickSample, file_bytes: float) -> int:
        if self.throughput_cap_bps is not None and sample.throughput_bps > self.throughput_cap_bps:
            return -1
        if state.ema_bps == 0 or sample.remaining_files < state.connections:
            return 0
        if state.ema_bps >= state.decided_bps:
            return self.increase
        if file_bytes * DECADE <= state.decided_file_bytes:
            return 1
        return -1 if state.ema_bps * DECADE <= state.decided_bps else 0

    def _build_plan(self, state: Fts3State, chunks: tuple[Chunk, ...], queued: int) -> Plan:
        streams = max(1, min(state.connections // max(queued, 1), MAX_STREAMS))
        counts = deal_channels(chunks, state.connections)
        return tuple(
            ChunkPlan(chunk.kind, chunk.max_file_bytes, Parameters(concurrency=count, parallelism=streams))
            for chunk, count in zip(chunks, counts, strict=True)
        )
