"""Channels of each chunk: its own concurrency, and channels that other chunks have no files for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class ChunkDemand:
    """The channels that one chunk can use.

    ``concurrency`` and ``parallelism`` are its plan; ``files_left`` counts files neither done nor failed.
    """

    concurrency: int
    parallelism: int
    files_left: int
    remaining_bytes: int


def limit_demands(demands: Sequence[ChunkDemand], permitted: int) -> list[ChunkDemand]:
    """Return the demands cut to the connections that the origins permit, those with most bytes a channel first."""
    cut = [replace(demand, concurrency=0, parallelism=min(demand.parallelism, permitted)) for demand in demands]
    left = permitted
    while True:
        takers = [
            index
            for index, demand in enumerate(cut)
            if demand.concurrency < min(demands[index].concurrency, demand.files_left) and demand.parallelism <= left
        ]
        if not takers:
            return cut
        neediest = max(takers, key=lambda index: cut[index].remaining_bytes / (cut[index].concurrency + 1))
        cut[neediest] = replace(cut[neediest], concurrency=cut[neediest].concurrency + 1)
        left -= cut[neediest].parallelism


def deal_channels(demands: Sequence[ChunkDemand]) -> list[int]:
    """Return the channels for each chunk, in the order given; together never more streams than planned, Σ cc · p.

    A chunk never has more channels than files. The streams this frees go, a channel at a time, to the chunk with the
    most bytes a channel that still has files waiting (Promc's redistribution; algorithms: channels are dealt again
    when a chunk is done).
    """
    channels = [min(demand.concurrency, demand.files_left) for demand in demands]
    free_streams = sum(
        (demand.concurrency - dealt) * demand.parallelism for demand, dealt in zip(demands, channels, strict=True)
    )
    while True:
        takers = [
            index
            for index, demand in enumerate(demands)
            if channels[index] < demand.files_left and demand.parallelism <= free_streams
        ]
        if not takers:
            return channels
        neediest = max(takers, key=lambda index: demands[index].remaining_bytes / (channels[index] + 1))
        channels[neediest] += 1
        free_streams -= demands[neediest].parallelism


def count_spare_streams(demands: Sequence[ChunkDemand], channels: Sequence[int]) -> int:
    """Return the planned streams that no channel has, because there are fewer files left than channels planned."""
    planned = sum(demand.concurrency * demand.parallelism for demand in demands)
    dealt = sum(demand.parallelism * count for demand, count in zip(demands, channels, strict=True))
    return max(planned - dealt, 0)
