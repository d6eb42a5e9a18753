"""What the chunks of a plan, and all of them together, came to in one run of the engine."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from tradewind.dataset import ChunkKind, DataSet
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind.transfer import Direction, Outcome, Status
from tradewind.units import throughput_bps
from tradewind_agent.copy.listing import Listing
from tradewind_agent.copy.moving import Movement
from tradewind_agent.engine.progress import ChunkSnapshot
from tradewind_agent.session.planning import Plan, find_chunk
from tradewind_agent.session.records import LEAST_DURATION, MovedChunk


def summarize_chunks(
    plan: Plan, listing: Listing, movement: Movement, status: Status
) -> tuple[MovedChunk, tuple[MovedChunk, ...]]:
    """The whole transfer, and each chunk that moved anything."""
    sizes_by_chunk: dict[ChunkKind, list[int]] = {chunk.chunk: [] for chunk in plan.chunks}
    for size in listing.sizes_bytes:
        sizes_by_chunk[find_chunk(plan.chunks, size).chunk].append(size)
    snapshots = {snapshot.chunk: snapshot for snapshot in movement.last.chunks}
    exact = listing.sizes_are_exact
    chunks = tuple(
        _chunk(each, snapshots[each.chunk], sizes_by_chunk[each.chunk] if exact else (), movement)
        for each in plan.chunks
        if snapshots[each.chunk].moved_bytes or snapshots[each.chunk].files_done
    )
    result = movement.result
    files_failed = movement.last.files_failed
    # Only the sender's kernel counts what was sent again; in a download that is the other end.
    resent = movement.last.path.retransmitted_bytes if listing.direction is Direction.UPLOAD else None
    whole = MovedChunk(
        chunk=ChunkKind.WHOLE,
        dataset=_dataset(
            listing.sizes_bytes if exact and not result.files_skipped else (),
            result.files_done + files_failed,
            result.bytes_moved,
        ),
        parameters=_in_force(plan.parameters, movement.last.chunks[0].parameters),
        started_at=movement.started_at,
        ended_at=movement.ended_at,
        outcome=Outcome(
            status=status,
            bytes_moved=result.bytes_moved,
            files_done=result.files_done,
            files_failed=files_failed,
            throughput_bps=_rate_bps(result.bytes_moved, result.duration_s),
            retransmitted_bytes=resent,
        ),
    )
    return whole, chunks


def _chunk(plan: ChunkPlan, seen: ChunkSnapshot, sizes_bytes: Sequence[int], movement: Movement) -> MovedChunk:
    ended_s = movement.chunk_ended_s[plan.chunk]
    status = Status.CANCELLED if movement.cancelled else Status.FAILED
    return MovedChunk(
        chunk=plan.chunk,
        dataset=_dataset(
            () if seen.files_skipped else sizes_bytes, seen.files_done + seen.files_failed, seen.moved_bytes
        ),
        parameters=_in_force(plan.parameters, seen.parameters),
        started_at=movement.started_at,
        ended_at=movement.started_at + timedelta(seconds=ended_s),
        outcome=Outcome(
            status=status if seen.remaining_files or seen.files_failed else Status.SUCCEEDED,
            bytes_moved=seen.moved_bytes,
            files_done=seen.files_done,
            files_failed=seen.files_failed,
            throughput_bps=_rate_bps(seen.moved_bytes, ended_s),
        ),
    )


def _in_force(planned: Parameters, seen: Parameters) -> Parameters:
    """The plan's setting, with the I/O block that the engine chose where the plan left it open."""
    return replace(planned, io_block_bytes=planned.io_block_bytes or seen.io_block_bytes)


def _dataset(sizes_bytes: Sequence[int], files: int, bytes_moved: int) -> DataSet:
    """What was listed; where some of it was there already, or its sizes were guesses, what was moved."""
    if sizes_bytes:
        return DataSet.of_sizes(sizes_bytes)
    return DataSet(file_count=max(files, 1), total_bytes=bytes_moved)


def _rate_bps(moved_bytes: int, duration_s: float) -> float:
    return throughput_bps(moved_bytes, max(duration_s, LEAST_DURATION.total_seconds()))
