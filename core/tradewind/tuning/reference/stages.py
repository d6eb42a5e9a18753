"""Read, network and write concurrency tuned apart, by rules: the idea of AutoMDT (Swargo et al., arXiv 2508.05546).

AutoMDT trains an agent on a simulator whose state is the concurrency, throughput and buffer of each stage, and whose
reward is the sum of T_s / K^n_s over the stages. Here rules take the agent's place: the stage that limits the others
climbs that utility by one step a tick, the others stay.

A mover of this project reads, sends and writes a file as one pipeline. Of its buffers it shows the network's: where
packets queue, the network limits; where none does, too few files are read or written at once. Files at once are
the concurrency of reading and of writing, streams that of the network.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from tradewind.dataset import Chunk
from tradewind.heuristics import MAX_CHANNELS, deal_channels
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.recommendation import ChunkPlan
from tradewind.tuning.reference.variant import Plan, list_chunks_left
from tradewind.tuning.sample import TickSample

K = 1.02
FIRST_FILES, FIRST_STREAMS = 2, 1
MAX_STREAMS_A_FILE = 8
QUEUE_S = 0.005
"""A queue of the network, s: below it a delay is a host's scheduler."""


class Stage(StrEnum):
    FILES = "files"
    NETWORK = "network"


@dataclass(frozen=True, slots=True)
class StagesState:
    """``files`` at once, ``streams`` of each; ``stage`` that the last step has moved, ``direction`` of each stage's
    steps, and the ``utility`` before the last step, 0 at first.
    """

    files: int = FIRST_FILES
    streams: int = FIRST_STREAMS
    stage: Stage = Stage.FILES
    files_direction: int = 1
    streams_direction: int = 1
    utility: float = 0.0


def compute_utility(throughput_bps: float, files: int, streams: int) -> float:
    """Return the sum over reading, network and writing; all three carry the same throughput."""
    return throughput_bps * (2 / K**files + 1 / K ** (files * streams))


@dataclass(frozen=True, slots=True)
class Stages:
    """``most`` files at a time; they are dealt over chunks as MaxThr does."""

    chunks: tuple[Chunk, ...]
    path: Path
    most: int = MAX_CHANNELS

    def begin(self) -> tuple[StagesState, Plan]:
        state = StagesState()
        return state, self._build_plan(state, self.chunks)

    def step(self, state: StagesState, sample: TickSample) -> tuple[StagesState, Plan]:
        utility = compute_utility(sample.throughput_bps, state.files, state.streams)
        now = state if utility >= state.utility else _turn_round(state)
        now = replace(self._move(now, _find_limiting_stage(sample)), utility=utility)
        left = list_chunks_left(self.chunks, sample) or self.chunks
        return now, self._build_plan(now, left)

    def _move(self, state: StagesState, stage: Stage) -> StagesState:
        if stage is Stage.FILES:
            files = max(1, min(state.files + state.files_direction, self.most))
            return replace(state, files=files, stage=stage)
        streams = max(1, min(state.streams + state.streams_direction, MAX_STREAMS_A_FILE))
        return replace(state, streams=streams, stage=stage)

    def _build_plan(self, state: StagesState, chunks: tuple[Chunk, ...]) -> Plan:
        counts = deal_channels(chunks, state.files)
        return tuple(
            ChunkPlan(chunk.kind, chunk.max_file_bytes, Parameters(concurrency=count, parallelism=state.streams))
            for chunk, count in zip(chunks, counts, strict=True)
        )


def _turn_round(state: StagesState) -> StagesState:
    if state.stage is Stage.FILES:
        return replace(state, files_direction=-state.files_direction)
    return replace(state, streams_direction=-state.streams_direction)


def _find_limiting_stage(sample: TickSample) -> Stage:
    delay_s = sample.queueing_delay_s
    return Stage.NETWORK if delay_s is not None and delay_s > QUEUE_S else Stage.FILES
