"""Chunks in transfer: queue of files, channels, plan and counters."""

import math
import statistics
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.engine.dealing.channels import ChunkDemand
from tradewind_agent.engine.dealing.pending_files import JobTable, PendingFiles
from tradewind_agent.engine.dealing.stream_rate import RecentRate
from tradewind_agent.engine.dealing.work_queue import WorkQueue
from tradewind_agent.engine.file_transfer import FileTransfer
from tradewind_agent.engine.http.address import Origin
from tradewind_agent.engine.http.connection import ReceiveBuffer
from tradewind_agent.engine.jobs import Job
from tradewind_agent.engine.options import DEFAULT_IO_BLOCK_BYTES
from tradewind_agent.engine.progress import ChunkSnapshot
from tradewind_agent.engine.request_pipeline import RequestPipeline
from tradewind_agent.engine.transfer_host import FileExchange

_READY_FILES = 64
"""Files that are made before a connection has room for them."""

_WORTH_DIVIDING_S = 1.0
"""To divide what ends sooner costs more, in a connection and in bytes on their way, than it gains."""

_FAR_BEHIND = 2.0
"""Multiple of the time that half of the others still need, idle ones none: streams that are about as slow end about as
soon."""

_RATED_EVERY_S, _RATED_OVER_S = 0.25, 2.0
"""How often the rate of a chunk is computed, and over how long."""

MakeFile = Callable[["TransferChunk", Job], FileTransfer]
"""Makes the transfer of a job that belongs to a chunk."""


class Channel:
    """The p pipelines that carry one file after another (p: parallelism of the chunk's plan).

    Towards the end it may have more, of channels that have no file any more.
    """

    def __init__(self, chunk: "TransferChunk") -> None:
        self.chunk = chunk
        self.pipelines: list[RequestPipeline] = []
        self._files: deque[FileTransfer] = deque()

    @property
    def pipelining(self) -> int:
        return self.chunk.pipelining

    @property
    def buffer(self) -> ReceiveBuffer:
        return self.chunk.buffer

    @property
    def bytes_per_pipeline(self) -> float:
        return self.chunk.bytes_per_pipeline

    def compute_time_left_s(self) -> float:
        return self.chunk.compute_time_left_s()

    @property
    def surplus(self) -> int:
        """How many pipelines it has more than planned."""
        return max(len(self.pipelines) - self.chunk.parallelism, 0)

    @property
    def shared_bytes(self) -> int:
        """Return what is left of its files that a further pipeline could take a part of."""
        if self.chunk.parallelism == 1:
            return 0
        if self._files:
            return sum(file.remaining_bytes for file in self._files)
        return sum(pipeline.divisible_bytes for pipeline in self.pipelines)

    @property
    def is_connected(self) -> bool:
        return any(pipeline.is_connected for pipeline in self.pipelines)

    @property
    def is_idle(self) -> bool:
        return not self._files and not any(pipeline.outstanding for pipeline in self.pipelines)

    def take_exchange(self, pipeline: RequestPipeline) -> FileExchange | None:
        """Return a range of the channel's own file, else the beginning of the next one in the queue."""
        for _ in range(len(self._files)):
            file = self._files[0]
            if not pipeline.can_serve(file.url.origin):
                break
            if (exchange := self._take(file, pipeline)) is not None:
                return exchange
        while (waiting := self.chunk.pop_file(pipeline)) is not None:
            self._files.append(waiting)
            waiting.is_placed = True
            if (exchange := self._take(waiting, pipeline)) is not None:
                return exchange
        return None

    def _take(self, file: FileTransfer, pipeline: RequestPipeline) -> FileExchange | None:
        if (reason := file.limits.given_up) is not None:
            file.has_retryable_fault = True
            file.give_up(reason)
        most_bytes = pipeline.compute_range_bytes(in_order=file.is_summed_in_order)
        streams = self.chunk.parallelism + self.surplus
        exchange = file.take(streams, most_bytes) if file.has_undealt else None
        if exchange is None or not file.has_undealt:
            self._files.remove(file)
            file.is_placed = False
        return exchange

    def divide_slowest(self, idle: RequestPipeline) -> bool:
        """Give up the request that would end last by far: its rest is dealt again, in parts for all that are idle.

        A stream that has lost its window would hold the end of a file up alone. Returns whether any is busy.
        """
        busy = [pipeline for pipeline in self.pipelines if pipeline.is_busy]
        if not busy or not all(pipeline.is_connected for pipeline in busy):
            return bool(busy)  # the rest of another one is about to be dealt, or a stream about to start
        left_s = {pipeline: pipeline.compute_time_left_s() for pipeline in self.pipelines}
        slowest = max(busy, key=lambda each: left_s[each])
        others_s = statistics.median([left_s[each] for each in self.pipelines if each is not slowest])
        is_far_behind = left_s[slowest] > max(_WORTH_DIVIDING_S, _FAR_BEHIND * others_s)
        if is_far_behind and slowest.origin is not None and idle.can_serve(slowest.origin):
            slowest.dismiss()
        return True

    def return_files(self) -> None:
        """Put files with undealt bytes back into the chunk's queue, for another channel."""
        while self._files:
            file = self._files.pop()
            file.is_placed = False
            self.chunk.queue.add(file, first=True)


class TransferChunk:
    """Files of one size class, moved by their own channels.

    Attributes
    ----------
    files : the files neither done nor failed that have been made; others are ``pending``.
    buffer : the I/O block that the connections receive into.
    awaits_more : more files may be admitted, for which its channels stay open.
    used_part_bytes : size of the parts of the last file that went in parts.
    most_streams : connections that the origins permit for all chunks together; ``None`` without a limit.
    """

    def __init__(self, plan: ChunkPlan, make_file: MakeFile) -> None:
        self._make_file = make_file
        self.queue = WorkQueue()
        self.pending = PendingFiles()
        self.channels: list[Channel] = []
        self.files: set[FileTransfer] = set()
        self.buffer = ReceiveBuffer(DEFAULT_IO_BLOCK_BYTES)
        self.planned_bytes = 0
        self.moved_bytes = 0
        self.files_done = 0
        self.files_skipped = 0
        self.files_failed = 0
        self.finished_s: float | None = None
        self.most_streams: int | None = None
        self.awaits_more = False
        self.used_part_bytes: int | None = None
        self._rate = RecentRate()
        self._rated_at_s, self._rated_bytes = time.monotonic(), 0
        self.apply_plan(plan)

    def apply_plan(self, plan: ChunkPlan) -> None:
        """Apply the settings of a plan; an unknown setting counts as 1."""
        self.kind = plan.chunk
        self.max_file_bytes = plan.max_file_bytes
        self.concurrency = plan.parameters.concurrency or 1
        self._planned_parallelism = plan.parameters.parallelism or 1
        self.pipelining = max(plan.parameters.pipelining or 1, 1)
        io_block_bytes = plan.parameters.io_block_bytes or DEFAULT_IO_BLOCK_BYTES
        if io_block_bytes != self.buffer.size_bytes:
            self.buffer.resize(io_block_bytes)
        self._planned_part_bytes = plan.parameters.part_bytes
        for file in self.files:
            file.plan_parts(self._planned_part_bytes)

    @property
    def parallelism(self) -> int:
        """Return the streams a file: as planned, within what the origins permit."""
        planned = self._planned_parallelism
        return planned if self.most_streams is None else min(planned, self.most_streams)

    def holds(self, size_bytes: int | None) -> bool:
        """Return whether a file of this size belongs here, provided that no smaller chunk holds it."""
        return self.max_file_bytes is None or (size_bytes is not None and size_bytes <= self.max_file_bytes)

    @property
    def pipelines(self) -> Iterator[RequestPipeline]:
        return (pipeline for channel in self.channels for pipeline in channel.pipelines)

    def abandon(self) -> None:
        """Return the channels' files and take no more: the plan has no such chunk any more."""
        self.concurrency = 0
        for channel in self.channels:
            channel.return_files()

    @property
    def count(self) -> int:
        """Return the files neither done nor failed."""
        return len(self.files) + len(self.pending)

    def list_waiting_origins(self) -> set[Origin]:
        """Return the origins that files wait for."""
        return self.queue.list_origins() | self.pending.list_origins()

    def pop_file(self, pipeline: RequestPipeline) -> FileTransfer | None:
        """Return the next file for a pipeline, made now or a little earlier."""
        while True:
            while self.pending and len(self.queue) < _READY_FILES:
                self._make_next()
            file = self.queue.pop(pipeline)
            if file is not None or self.pending.list_origins() <= self.queue.list_origins():
                return file
            self._make_next()

    def _make_next(self) -> None:
        """Make the next pending file, whose bytes are planned already."""
        file = self._make_file(self, self.pending.take())
        self.files.add(file)
        file.plan_parts(self._planned_part_bytes)
        self.queue.add(file)

    def fill(self, table: JobTable, positions: Iterable[int]) -> None:
        """Have files wait, in place of all others that do; the last of the positions comes first."""
        self.planned_bytes -= self.pending.total_bytes
        self.pending.fill(table, positions)
        self.planned_bytes += self.pending.total_bytes

    def add(self, file: FileTransfer, *, queued: bool = True) -> None:
        """Add a file; one in flight in another chunk's channel is not ``queued``."""
        self.files.add(file)
        file.plan_parts(self._planned_part_bytes)
        self.planned_bytes += file.remaining_bytes
        if queued:
            self.queue.add(file)

    def remove(self, file: FileTransfer) -> None:
        """Remove a file that moves to another chunk."""
        self.files.discard(file)
        self.planned_bytes -= file.remaining_bytes

    @property
    def remaining_bytes(self) -> int:
        """Exact, over all files left."""
        return sum(file.remaining_bytes for file in self.files) + self.pending.total_bytes

    def compute_demand(self) -> ChunkDemand:
        """Return the demand for channels; its bytes are a running count, because this is called after every file."""
        files = max(self.count, self.concurrency) if self.awaits_more else self.count
        return ChunkDemand(self.concurrency, self.parallelism, files, self._estimate_remaining_bytes)

    @property
    def bytes_per_pipeline(self) -> float:
        """Return an even part of what is left, by the running count."""
        return self._estimate_remaining_bytes / max(len(self.channels) * self.parallelism, 1)

    def compute_time_left_s(self) -> float:
        """Return how long what is left takes at the rate of the last while; infinite before that is known."""
        now_s = time.monotonic()
        if (passed_s := now_s - self._rated_at_s) >= _RATED_EVERY_S:
            self._rate.note(self.moved_bytes - self._rated_bytes, passed_s, _RATED_OVER_S)
            self._rated_at_s, self._rated_bytes = now_s, self.moved_bytes
        bytes_per_s = self._rate.compute_bytes_per_s(_RATED_EVERY_S)
        return math.inf if bytes_per_s is None else self._estimate_remaining_bytes / bytes_per_s

    @property
    def _estimate_remaining_bytes(self) -> int:
        return max(self.planned_bytes - self.moved_bytes, 0)

    def take_snapshot(self) -> ChunkSnapshot:
        return ChunkSnapshot(
            chunk=self.kind,
            parameters=self.get_current_parameters(),
            moved_bytes=self.moved_bytes,
            remaining_bytes=self.remaining_bytes,
            remaining_files=self.count,
            files_done=self.files_done,
            files_skipped=self.files_skipped,
            files_failed=self.files_failed,
            finished_s=None if self.count else self.finished_s,
        )

    def get_current_parameters(self) -> Parameters:
        """Return what runs now, channels of finished chunks included."""
        return Parameters(
            concurrency=max(len(self.channels), 1),
            parallelism=self.parallelism,
            pipelining=self.pipelining,
            io_block_bytes=self.buffer.size_bytes,
            part_bytes=self.used_part_bytes,
        )


def find_chunk(chunks: Sequence[TransferChunk], size_bytes: int | None) -> TransferChunk:
    """Return the chunk that files of a size belong to; ``None`` for a size that is not known."""
    serving = [chunk for chunk in chunks if chunk.concurrency]
    return next((chunk for chunk in serving if chunk.holds(size_bytes)), serving[-1])


def list_pending(chunks: Iterable[TransferChunk]) -> Iterator[int]:
    """Yield the positions of all jobs whose files are not made yet."""
    return (position for chunk in chunks for position in chunk.pending.positions)


def list_unfinished_origins(chunks: Iterable[TransferChunk]) -> set[Origin]:
    """Return the origins of all files that are neither done nor failed."""
    found = (chunk.list_waiting_origins() | {file.url.origin for file in chunk.files} for chunk in chunks)
    return set[Origin]().union(*found)


def give_up_files(chunks: Iterable[TransferChunk], origin: Origin, reason: str) -> None:
    """Fail the files of an origin that have been made; others when their turn comes."""
    for file in [file for chunk in chunks for file in chunk.files if file.url.origin == origin and not file.is_over]:
        file.has_retryable_fault = True
        file.give_up(reason)


def assign_pending(chunks: Sequence[TransferChunk], table: JobTable, positions: Iterable[int]) -> None:
    """Have the files of jobs wait in the chunks that they belong to, and no others."""
    found: dict[TransferChunk, array[int]] = {chunk: array("Q") for chunk in chunks}
    for position in table.sort(positions):
        found[find_chunk(chunks, table.get_size(position))].append(position)
    for chunk, waiting in found.items():
        chunk.fill(table, waiting)


def require_valid_plan(plan: Sequence[ChunkPlan]) -> Sequence[ChunkPlan]:
    if not plan:
        raise InvalidValue("chunks", "a plan needs at least one chunk")
    if len({each.chunk for each in plan}) < len(plan):
        raise InvalidValue("chunks", "the same chunk twice")
    return plan
