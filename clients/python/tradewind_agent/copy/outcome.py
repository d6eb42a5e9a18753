"""The outcome of one run of the engine: of each chunk of the plan, and of all files."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from tradewind.dataset import ChunkKind, DataSet
from tradewind.failure import Failure, FailureKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind.transfer import Direction, Status, TransferOutcome
from tradewind.units import compute_throughput_bps, format_count
from tradewind_agent.copy.listing import Listing
from tradewind_agent.copy.moving import Movement
from tradewind_agent.copy.stage import TransferStage
from tradewind_agent.engine.progress import ChunkSnapshot
from tradewind_agent.failure_kinds import describe_failure, find_failure_kind
from tradewind_agent.session.planning import Plan, find_chunk
from tradewind_agent.session.records import LEAST_DURATION, MovedChunk


def summarize_chunks(
    plan: Plan, listing: Listing, movement: Movement, status: Status
) -> tuple[MovedChunk, tuple[MovedChunk, ...]]:
    """Return the outcome of the entire transfer, and that of each chunk that moved anything."""
    sizes_by_chunk: dict[ChunkKind, list[int]] = {chunk.chunk: [] for chunk in plan.chunks}
    for size in listing.sizes_bytes:
        sizes_by_chunk[find_chunk(plan.chunks, size).chunk].append(size)
    snapshots = {snapshot.chunk: snapshot for snapshot in movement.last.chunks}
    exact = listing.sizes_are_exact
    chunks = tuple(
        _summarize_chunk(chunk, snapshots[chunk.chunk], sizes_by_chunk[chunk.chunk] if exact else (), movement)
        for chunk in plan.chunks
        if snapshots[chunk.chunk].moved_bytes or snapshots[chunk.chunk].files_done
    )
    result = movement.result
    files_failed = movement.last.files_failed
    # Only the sender's kernel counts retransmissions; in a download the sender is the other end.
    retransmitted = movement.last.path.retransmitted_bytes if listing.direction is Direction.UPLOAD else None
    total = MovedChunk(
        chunk=ChunkKind.WHOLE,
        dataset=_build_dataset(
            listing.sizes_bytes if exact and not result.files_skipped else (),
            result.files_done + files_failed,
            result.bytes_moved,
        ),
        parameters=_complete_parameters(plan.parameters, _combine_seen(movement.last.chunks)),
        started_at=movement.started_at,
        ended_at=movement.ended_at,
        outcome=TransferOutcome(
            status=status,
            bytes_moved=result.bytes_moved,
            files_done=result.files_done,
            files_failed=files_failed,
            throughput_bps=_compute_rate_bps(result.bytes_moved, result.duration_s),
            retransmitted_bytes=retransmitted,
        ),
    )
    return total, chunks


def find_status(movement: Movement) -> Status:
    """Return how a copy ended."""
    if movement.cancelled:
        return Status.CANCELLED
    return Status.SUCCEEDED if movement.result.succeeded else Status.FAILED


def find_failure(movement: Movement, format_address: Callable[[str], str]) -> Failure | None:
    """Return why a copy was stopped, or why its first file failed; ``None`` where all arrived."""
    result = movement.result
    if movement.cancelled:
        return describe_failure("the user stopped it", kind=FailureKind.CANCELLED)
    if result.stopped is not None:
        return describe_failure(str(result.stopped))
    if not result.failures:
        return None
    first, tried = result.failures[0], result.files_done + len(result.failures)
    count = f"{len(result.failures)} of {format_count(tried, 'file')} failed"
    sentence = f"{count}, first {format_address(first.url)}: {first.reason}"
    return describe_failure(sentence, kind=find_failure_kind(first.reason))


def add_codecs(
    plan: Plan, total: MovedChunk, chunks: tuple[MovedChunk, ...], stage: TransferStage
) -> tuple[MovedChunk, tuple[MovedChunk, ...]]:
    """Return the same with the codec that most bytes of the encoded files were sent with, in all and in each chunk."""

    def add(moved: MovedChunk, holds: Callable[[int], bool]) -> MovedChunk:
        return replace(moved, parameters=replace(moved.parameters, codec=stage.find_codec(holds)))

    return add(total, lambda _: True), tuple(
        add(moved, lambda size, kind=moved.chunk: find_chunk(plan.chunks, size).chunk is kind)  # type: ignore[misc]
        for moved in chunks
    )


def _summarize_chunk(
    plan: ChunkPlan, seen: ChunkSnapshot, sizes_bytes: Sequence[int], movement: Movement
) -> MovedChunk:
    finished_s = movement.chunk_finished_s[plan.chunk]
    status = Status.CANCELLED if movement.cancelled else Status.FAILED
    return MovedChunk(
        chunk=plan.chunk,
        dataset=_build_dataset(
            () if seen.files_skipped else sizes_bytes, seen.files_done + seen.files_failed, seen.moved_bytes
        ),
        parameters=_complete_parameters(plan.parameters, seen.parameters),
        started_at=movement.started_at,
        ended_at=movement.started_at + timedelta(seconds=finished_s),
        outcome=TransferOutcome(
            status=status if seen.remaining_files or seen.files_failed else Status.SUCCEEDED,
            bytes_moved=seen.moved_bytes,
            files_done=seen.files_done,
            files_failed=seen.files_failed,
            throughput_bps=_compute_rate_bps(seen.moved_bytes, finished_s),
        ),
    )


def _complete_parameters(planned: Parameters, seen: Parameters) -> Parameters:
    """Return the plan's setting, with the I/O block that the engine chose if the plan left it open.

    The size of parts is that of the files that went in parts: a plan for smaller files has moved none.
    """
    return replace(planned, io_block_bytes=planned.io_block_bytes or seen.io_block_bytes, part_bytes=seen.part_bytes)


def _combine_seen(chunks: Sequence[ChunkSnapshot]) -> Parameters:
    """Return what the first chunk ran with, and the size of parts of the last one that had any: it has larger files."""
    parts = [chunk.parameters.part_bytes for chunk in chunks if chunk.parameters.part_bytes is not None]
    return replace(chunks[0].parameters, part_bytes=parts[-1] if parts else None)


def _build_dataset(sizes_bytes: Sequence[int], files: int, bytes_moved: int) -> DataSet:
    """Return the listed data set; without exact sizes of all files, return what was moved."""
    if sizes_bytes:
        return DataSet.of_sizes(sizes_bytes)
    return DataSet(file_count=max(files, 1), total_bytes=bytes_moved)


def _compute_rate_bps(moved_bytes: int, duration_s: float) -> float:
    return compute_throughput_bps(moved_bytes, max(duration_s, LEAST_DURATION.total_seconds()))
