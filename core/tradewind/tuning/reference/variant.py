"""What every reference variant is: a value with a first plan, and a step from one sample to the next plan."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias, TypeVar

from tradewind.dataset import Chunk
from tradewind.errors import InvalidValue
from tradewind.recommendation import ChunkPlan
from tradewind.tuning.sample import TickSample

Plan: TypeAlias = tuple[ChunkPlan, ...]

StateT = TypeVar("StateT")


class Variant(Protocol[StateT]):
    """One algorithm with its settings; ``StateT`` is all it remembers."""

    def begin(self) -> tuple[StateT, Plan]:
        """Return the state and plan before the first byte."""
        ...

    def step(self, state: StateT, sample: TickSample) -> tuple[StateT, Plan]:
        """Return the state and plan after one tick."""
        ...


def list_chunks_left(chunks: Sequence[Chunk], sample: TickSample) -> tuple[Chunk, ...]:
    """Return the chunks that still have bytes, with the files that these are likely to be; all if none was reported."""
    if not sample.chunks:
        return tuple(chunks)
    remaining = {progress.kind: progress.remaining_bytes for progress in sample.chunks}
    return tuple(
        chunk._replace(dataset=replace(chunk.dataset, file_count=files, total_bytes=nbytes))
        for chunk in chunks
        if (nbytes := remaining.get(chunk.kind, 0)) > 0
        and (files := max(1, -(-nbytes // max(int(chunk.dataset.mean_file_bytes), 1))))
    )


def compute_loss(sample: TickSample, *, sent_bytes: int, retransmitted_bytes: int) -> float:
    """Return the share of the tick's bytes that were sent again; the counters are those of the tick before."""
    sent = (sample.sent_bytes or 0) - sent_bytes
    again = (sample.retransmitted_bytes or 0) - retransmitted_bytes
    return min(max(again / sent, 0.0), 1.0) if sent > 0 else 0.0


def require_power_w(sample: TickSample) -> float:
    """Return the power of the tick.

    Raises
    ------
    InvalidValue : not measured; algorithms that rank by energy have nothing to go by.
    """
    if sample.power_w is None:
        raise InvalidValue("power_w", "this algorithm ranks by measured power")
    return sample.power_w
