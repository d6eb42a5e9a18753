"""The transfer engine: files of all chunks together over live-tunable channels."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar
from weakref import WeakKeyDictionary

from tradewind.recommendation import ChunkPlan
from tradewind_agent.engine.dealing.chunks import (
    TransferChunk,
    assign_pending,
    find_chunk,
    give_up_files,
    list_pending,
    list_unfinished_origins,
    require_valid_plan,
)
from tradewind_agent.engine.dealing.pending_files import JobTable
from tradewind_agent.engine.file_transfer import FileTransfer
from tradewind_agent.engine.http.address import Origin, Url
from tradewind_agent.engine.http.connection import Connection
from tradewind_agent.engine.http.early_sockets import MAX_UNUSED_S
from tradewind_agent.engine.jobs import FileFailure, Job, TransferResult, UploadJob
from tradewind_agent.engine.local.folder_names import FolderNames
from tradewind_agent.engine.local.publishing import OnPublished, Publication, Publisher
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.origin.limits import OriginLimits
from tradewind_agent.engine.origin.traits import OriginTraits
from tradewind_agent.engine.path_sample import PathSample, PathSampler
from tradewind_agent.engine.plain_transfer import MakeTransfer, make_plain_transfer
from tradewind_agent.engine.pool import ChannelPool
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.engine.remote.folders import RemoteFolders
from tradewind_agent.errors import AgentError, RefusedByServer, StorageFailed

Outcome = TypeVar("Outcome")

_STORAGE_THREADS = 4  # syncs wait for the disk, not for the processor: a few in parallel are enough


class TransferEngine:
    """An engine that moves one set of files by a plan per chunk, which `retune` may change at any time.

    An engine runs once: make a new one for another transfer.
    """

    def __init__(
        self,
        plan: Sequence[ChunkPlan],
        options: EngineOptions | None = None,
        make_transfer: MakeTransfer = make_plain_transfer,
    ) -> None:
        self.options = options if options is not None else EngineOptions()
        self._make_transfer = make_transfer
        self.folder_names = FolderNames()
        self._chunks = [TransferChunk(each, self._make_file) for each in require_valid_plan(plan)]
        self._jobs = JobTable()
        self._files = WeakKeyDictionary[FileTransfer, TransferChunk]()
        self._is_open_ended = False
        self._refused_folders = 0  # files without a folder; one alone may be a server's whim
        self._failures: list[FileFailure] = []
        self._stopped: AgentError | None = None
        self._receiving = True
        self._started_at = 0.0
        self._finished_at: float | None = None
        self._finished: asyncio.Future[None] | None = None
        self._timers: dict[FileTransfer, asyncio.TimerHandle] = {}
        self._checkpoint_timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop  # these five exist from the start of `run` on
        self._pool: ChannelPool
        self._threads: ThreadPoolExecutor
        self._publisher: Publisher
        self._folders: RemoteFolders

    async def run(self, jobs: Iterable[Job], *, is_open_ended: bool = False) -> TransferResult:
        """Move every file; return when each is done, skipped or failed, or when the transfer cannot continue.

        With ``is_open_ended`` more files may be admitted, until `close_intake`. Cancelling is safe: connections are
        closed, and received bytes can be resumed.

        Raises
        ------
        InvalidValue : two jobs with the same destination.
        """
        self._loop = asyncio.get_running_loop()
        self._started_at = self._loop.time()
        self._is_open_ended = is_open_ended
        self._finished = self._loop.create_future()
        self._publisher = Publisher(self.run_blocking, durable=self.options.durable)
        self._pool = ChannelPool(self.options, self._crash, self._publisher.is_behind)
        self._folders = RemoteFolders(self.options)
        with ThreadPoolExecutor(_STORAGE_THREADS, "tradewind-storage") as self._threads:
            try:
                self._start(jobs)
                await self._finished
            finally:
                self._finished_at = self._loop.time()
                await self._shut()
        return self._build_result()

    def admit(self, file: FileTransfer) -> None:
        """Move one more file, in an open-ended run."""
        self._receiving = not isinstance(file.job, UploadJob)
        chunk = self._files[file] = find_chunk(self._chunks, file.size_bytes)
        chunk.add(file)
        if self._running:
            self._pool.deal_soon()

    def close_intake(self) -> None:
        """End an open-ended run with its last file: no more are admitted."""
        self._is_open_ended = False
        if not any(chunk.count for chunk in self._chunks):
            self._finish()

    def retune(self, plan: Sequence[ChunkPlan]) -> None:
        """Apply another plan, from the next request of each connection on.

        Raises
        ------
        InvalidValue : a plan without chunks, or with the same chunk twice.
        """
        known = {chunk.kind: chunk for chunk in self._chunks}
        followed = []
        for each in require_valid_plan(plan):
            chunk = known.pop(each.chunk, None) or TransferChunk(each, self._make_file)
            chunk.apply_plan(each)
            chunk.awaits_more = self._is_open_ended
            followed.append(chunk)
        for dismissed in known.values():
            dismissed.abandon()
        self._chunks = [*followed, *known.values()]
        self._reassign_files()
        if self._running:
            self._pool.chunks = self._chunks
            self._pool.deal_soon()

    def limit_rate(self, rate_bytes_per_s: float | None) -> None:
        """Limit the rate of all connections together from now on; ``None`` lifts the limit.

        Raises
        ------
        InvalidValue : not above 0.
        """
        self.options = replace(self.options, rate_bytes_per_s=rate_bytes_per_s)
        if self._running:
            self._pool.rate_limit.change(rate_bytes_per_s)

    def take_snapshot(self) -> Snapshot:
        """Return the current counters and path sample; before the start every counter is zero."""
        return Snapshot(
            elapsed_s=self._compute_elapsed_s(),
            chunks=tuple(chunk.take_snapshot() for chunk in self._chunks),
            path=self.sample_path(),
            open_connections=sum(connection.is_open for connection in self._list_connections()),
            permitted_connections=self._pool.most_streams if self._running else None,
        )

    def sample_path(self) -> PathSample:
        """Return a sample of the path, from the open connections."""
        connections = self._list_connections()
        sampler = self._pool.sampler if self._started else PathSampler()
        return sampler.sample(
            [connection.sample_tcp_info() for connection in connections],
            [wait_s for connection in connections if (wait_s := connection.first_byte_s) is not None],
            receiving=self._receiving,
        )

    def _list_connections(self) -> list[Connection]:
        return (
            [pipeline.connection for pipeline in self._pool.pipelines if pipeline.connection] if self._running else []
        )

    # Called by files.

    def get_traits(self, origin: Origin) -> OriginTraits:
        return self._pool.get_traits(origin)

    def get_limits(self, origin: Origin) -> OriginLimits:
        return self._pool.get_limits(origin)

    def count_connections_in_use(self, origin: Origin) -> int:
        return self._pool.count_connections_in_use(origin)

    def retry_alone(self, file: FileTransfer) -> None:
        self._pool.retry_alone(file)

    def make_available(self, file: FileTransfer) -> None:
        if self._running and not file.is_over:
            self._files[file].queue.add(file, first=True)
            self._pool.deal_soon()

    def make_available_later(self, file: FileTransfer, delay_s: float) -> None:
        if self._running:
            self._timers[file] = self._loop.call_later(delay_s, self._wake, file)

    def _wake(self, file: FileTransfer) -> None:
        del self._timers[file]
        file.is_waiting = False
        self.make_available(file)

    def note_moved(self, file: FileTransfer, nbytes: int) -> None:
        self._files[file].moved_bytes += nbytes
        if self._receiving:
            file.count_progress(nbytes)

    def charge_rate(self, nbytes: float) -> None:
        self._pool.rate_limit.charge(nbytes)

    def note_done(self, file: FileTransfer, *, skipped: bool = False) -> None:
        chunk = self._files[file]
        chunk.files_done += not skipped
        chunk.files_skipped += skipped
        chunk.used_part_bytes = file.used_part_bytes or chunk.used_part_bytes
        if not skipped:
            file.note_served()
        self._remove_file(file)

    def note_failure(self, file: FileTransfer, reason: str) -> None:
        self._files[file].files_failed += 1
        self._failures.append(FileFailure(str(file.job), reason, file.has_retryable_fault, file.is_forbidden))
        self._remove_file(file)

    def _remove_file(self, file: FileTransfer) -> None:
        """Remove a finished file; its chunk may have channels to spare now."""
        chunk = self._files[file]
        chunk.files.discard(file)
        if not chunk.count:
            chunk.finished_s = self._compute_elapsed_s()
        if not self._is_open_ended and not any(chunk.count for chunk in self._chunks):
            self._finish()
        if self._running:
            self._pool.deal_soon()

    def stop(self, error: AgentError) -> None:
        self._stopped = self._stopped or error
        self._finish()

    def give_up_origin(self, origin: Origin, error: AgentError) -> None:
        if self._is_open_ended or list_unfinished_origins(self._chunks) > {origin}:
            self._pool.get_limits(origin).given_up = str(error)
            give_up_files(self._chunks, origin, str(error))
        else:
            self.stop(error)

    def _crash(self, error: BaseException) -> None:
        if self._finished is not None and not self._finished.done():
            self._finished.set_exception(error)

    def _finish(self) -> None:
        if self._finished is not None and not self._finished.done():
            self._finished.set_result(None)

    def run_blocking(self, work: Callable[[], Outcome]) -> asyncio.Future[Outcome]:
        return self._loop.run_in_executor(self._threads, work)

    def make_remote_folder(self, url: Url, then: Callable[[str], None]) -> None:
        def go_on(refusal: str) -> None:
            self._refused_folders += bool(refusal)
            is_first = not (self._is_open_ended or any(chunk.files_done for chunk in self._chunks))
            if self._refused_folders > 1 and is_first and self._jobs.are_all_below(url):
                self.stop(RefusedByServer(refusal, retryable=False))
            elif self._running:
                then(refusal)

        self._folders.make_for(url, go_on)

    def publish(self, publication: Publication, on_published: OnPublished) -> None:
        self._publisher.publish(publication, on_published)

    def run_in_background(self, work: Callable[[], object]) -> None:
        self.run_blocking(work).add_done_callback(self._handle_outcome)

    def _handle_outcome(self, outcome: asyncio.Future[object]) -> None:
        error = None if outcome.cancelled() else outcome.exception()
        if isinstance(error, StorageFailed):
            self.stop(error)

    # Start and finish.

    @property
    def _started(self) -> bool:
        return self._finished is not None

    @property
    def _running(self) -> bool:
        return self._finished is not None and not self._finished.done()

    def _compute_elapsed_s(self) -> float:
        if not self._started:
            return 0.0
        return (self._finished_at if self._finished_at is not None else self._loop.time()) - self._started_at

    def _start(self, jobs: Iterable[Job]) -> None:
        """Assign files to chunks, the largest first so that none remains at the end, and open the channels."""
        self._jobs = JobTable(jobs)
        self._receiving = not self._jobs.has_uploads
        for chunk in self._chunks:
            chunk.awaits_more = self._is_open_ended
        assign_pending(self._chunks, self._jobs, range(len(self._jobs)))
        self._pool.chunks = self._chunks
        if not self._jobs and not self._is_open_ended:
            self._finish()
            return
        self._pool.deal_soon()
        self._checkpoint_later()
        if self.options.early is not None:
            self._loop.call_later(MAX_UNUSED_S, self.options.early.close)

    def _make_file(self, chunk: TransferChunk, job: Job) -> FileTransfer:
        file = self._make_transfer(job, self)
        self._files[file] = chunk
        return file

    def _reassign_files(self) -> None:
        """Move waiting files to the chunk of the new plan, and all files of an abandoned chunk."""
        assign_pending(self._chunks, self._jobs, list_pending(self._chunks))
        for chunk in self._chunks:
            waiting = {file for file in chunk.queue.drain() if not file.is_over}
            for file in waiting if chunk.concurrency else tuple(chunk.files):
                home = find_chunk(self._chunks, file.size_bytes)
                chunk.remove(file)
                home.add(file, queued=file in waiting)
                self._files[file] = home

    def _checkpoint_later(self) -> None:
        self._checkpoint_timer = self._loop.call_later(self.options.checkpoint_interval_s, self._checkpoint)

    def _checkpoint(self) -> None:
        for chunk in self._chunks:
            for file in chunk.files:
                file.checkpoint()
        self._checkpoint_later()

    async def _shut(self) -> None:
        """Close connections, then write the received ranges to the journals."""
        for timer in (*self._timers.values(), self._checkpoint_timer):
            if timer is not None:
                timer.cancel()
        self._publisher.close()
        self._folders.close()
        await self._pool.shut()
        self._pool.remember_origins()
        left = [self.run_blocking(file.make_closer()) for chunk in self._chunks for file in chunk.files]
        outcomes = await asyncio.gather(*left, return_exceptions=True)
        for error in outcomes:
            if isinstance(error, AgentError):
                self._stopped = self._stopped or error

    def _build_result(self) -> TransferResult:
        return TransferResult(
            bytes_moved=sum(chunk.moved_bytes for chunk in self._chunks),
            files_done=sum(chunk.files_done for chunk in self._chunks),
            files_skipped=sum(chunk.files_skipped for chunk in self._chunks),
            failures=tuple(self._failures),
            duration_s=self._compute_elapsed_s(),
            stopped=self._stopped,
            permitted={str(origin): known for origin, known in self._pool.list_known_limits().items()},
        )
