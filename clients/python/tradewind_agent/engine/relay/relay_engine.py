"""The engine of copies between two servers: one engine fetches, another sends, both by the same plan.

Each has the connections, limits and retries of its own side. They share the units that are under way. A file is
admitted to the fetching engine when it is one of the next, to the sending engine when its source has answered, and is
forgotten when it is over, so that a million files take no more memory than a thousand.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from tradewind.dataset import ChunkKind
from tradewind.recommendation import ChunkPlan
from tradewind.units import format_count
from tradewind_agent.engine.engine import TransferEngine
from tradewind_agent.engine.file_transfer import FileTransfer
from tradewind_agent.engine.jobs import Job, RelayJob, TransferResult, require_distinct
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.path_sample import PathSample
from tradewind_agent.engine.progress import ChunkSnapshot, Snapshot
from tradewind_agent.engine.relay.buffers import BufferPool
from tradewind_agent.engine.relay.legs import Instead, SendingLeg, ServerCopy
from tradewind_agent.engine.relay.reading import RelayReading
from tradewind_agent.engine.relay.receivers import RelayReceiver
from tradewind_agent.engine.relay.relayed_file import RelayedFile
from tradewind_agent.engine.relay.sending import PUT_RECEIVER

_ADMITTED_A_CHUNK = 256
"""Files of each chunk that are under way at most: enough for all connections, and few enough to forget."""

_ROUND_TRIPS = ("rtt_s", "min_rtt_s", "settled_rtt_s", "first_byte_s", "min_first_byte_s")


class _ReadingEngine(TransferEngine):
    """The engine that fetches, and asks servers to move files themselves.

    ``on_over`` : called when a file is done or failed; ``relay_instead`` : with a file that servers do not move.
    """

    def __init__(
        self,
        plan: Sequence[ChunkPlan],
        options: EngineOptions,
        on_over: Callable[[], None],
        relay_instead: Callable[[ServerCopy, Instead], None],
    ) -> None:
        super().__init__(plan, options)
        self._on_over, self._relay_instead = on_over, relay_instead
        self.bytes_by_servers: dict[ChunkKind, int] = {}

    def note_moved(self, file: FileTransfer, nbytes: int) -> None:
        super().note_moved(file, nbytes)
        if isinstance(file, ServerCopy):
            kind = self._files[file].kind
            self.bytes_by_servers[kind] = self.bytes_by_servers.get(kind, 0) + nbytes

    def note_done(self, file: FileTransfer, *, skipped: bool = False) -> None:
        super().note_done(file, skipped=skipped)
        self._on_over()

    def note_failure(self, file: FileTransfer, reason: str) -> None:
        if isinstance(file, ServerCopy) and file.instead is not None:
            self.forget(file)
            self._relay_instead(file, file.instead)
            return
        super().note_failure(file, reason)
        self._on_over()

    def forget(self, file: FileTransfer) -> None:
        """Forget a file that is neither done nor failed, as it will start again."""
        self._remove_file(file)

    def count_files(self, kind: ChunkKind) -> int:
        """Return how many files of a chunk are under way."""
        return sum(len(chunk.files) for chunk in self._chunks if chunk.kind is kind)


class _SendingEngine(TransferEngine):
    """The engine that sends; it reports to each file how its sending half has ended."""

    def __init__(self, plan: Sequence[ChunkPlan], options: EngineOptions) -> None:
        super().__init__(plan, options)
        self.files: dict[FileTransfer, RelayedFile] = {}

    def note_done(self, file: FileTransfer, *, skipped: bool = False) -> None:
        super().note_done(file, skipped=skipped)
        self.files.pop(file).note_sending_done(skipped=skipped)

    def note_failure(self, file: FileTransfer, reason: str) -> None:
        super().note_failure(file, reason)
        self._failures.clear()  # the fetching engine lists the file
        relayed = self.files.pop(file)
        relayed.reading.has_retryable_fault |= file.has_retryable_fault
        relayed.note_sending_failed(reason)


class RelayEngine:
    """An engine for files that go from one server to another; it is used as `TransferEngine` is."""

    def __init__(self, plan: Sequence[ChunkPlan], options: EngineOptions | None = None) -> None:
        self.options = options if options is not None else EngineOptions()
        self._plan = tuple(plan)
        self._reading = _ReadingEngine(plan, self.options, self._note_over, self._relay_instead)
        self._sending = _SendingEngine(plan, replace(self.options, early=None))
        self._buffers = BufferPool()
        self._pending: dict[ChunkKind, deque[RelayJob]] = {}
        self._pending_bytes: dict[ChunkKind, int] = {}
        self._left = 0
        self._server_copies: dict[ServerCopy, RelayJob] = {}
        self._by_servers = self.options.third_party
        self._notes: dict[str, int] = {}
        self._timers: set[asyncio.TimerHandle] = set()

    async def run(self, jobs: Iterable[Job]) -> TransferResult:
        """Move every file; return when each is done, skipped or failed, or when the transfer cannot continue.

        Raises
        ------
        InvalidValue : two jobs with the same destination.
        """
        listed = [job for job in require_distinct(jobs) if isinstance(job, RelayJob)]
        listed.sort(key=lambda job: -(job.size_bytes or 0))
        self._left = len(listed)
        self._sort_pending(listed)
        tasks = [asyncio.create_task(engine.run((), is_open_ended=True)) for engine in (self._reading, self._sending)]
        try:
            await asyncio.sleep(0)  # both have started
            self._admit()
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not tasks[0].done() or not tasks[1].done():
                self._stop_other(tasks)
            read, sent = await asyncio.gather(*tasks)
        finally:
            for timer in self._timers:
                timer.cancel()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._buffers.close()
        return self._join_results(read, sent)

    def _stop_other(self, tasks: "Sequence[asyncio.Task[TransferResult]]") -> None:
        """Stop the other side, after one could not continue; an error of a task is met where both are gathered."""
        done, left = tasks if tasks[0].done() else tasks[::-1]
        other = self._sending if done is tasks[0] else self._reading
        if done.cancelled() or done.exception() is not None:
            left.cancel()
        elif (stopped := done.result().stopped) is not None:
            other.stop(stopped)

    def _join_results(self, read: TransferResult, sent: TransferResult) -> TransferResult:
        return replace(
            read,
            bytes_moved=sent.bytes_moved + sum(self._reading.bytes_by_servers.values()),
            bytes_by_servers=sum(self._reading.bytes_by_servers.values()),
            notes=tuple(
                f"{format_count(files, 'file')} went through this host, as the servers do not move them: {reason}"
                for reason, files in self._notes.items()
            ),
            stopped=read.stopped or sent.stopped,
            permitted={**read.permitted, **sent.permitted},
        )

    # Files.

    def _sort_pending(self, jobs: Iterable[RelayJob]) -> None:
        """Assign jobs to the chunks of the plan."""
        self._pending = {each.chunk: deque() for each in self._plan}
        for job in jobs:
            self._pending[self._find_kind(job)].append(job)
        self._pending_bytes = {
            kind: sum(job.size_bytes or 0 for job in waiting) for kind, waiting in self._pending.items()
        }

    def _find_kind(self, job: RelayJob) -> ChunkKind:
        size = job.size_bytes
        for each in self._plan:
            if each.max_file_bytes is None or (size is not None and size <= each.max_file_bytes):
                return each.chunk
        return self._plan[-1].chunk

    def _admit(self) -> None:
        """Begin the next files of each chunk."""
        for kind, waiting in self._pending.items():
            room = _ADMITTED_A_CHUNK - self._reading.count_files(kind) if waiting else 0
            while waiting and room > 0:
                room -= 1
                job = waiting.popleft()
                self._pending_bytes[kind] -= job.size_bytes or 0
                self._begin(job)
        if not self._left:
            self._reading.close_intake()
            self._sending.close_intake()

    def _find_receiver(self, job: RelayJob) -> RelayReceiver:
        return self.options.hooks.find_receiver(job.destination.origin) or PUT_RECEIVER

    def _begin(self, job: RelayJob) -> None:
        """Begin a file: the servers move it if they can, else this host relays it."""
        copy = self._find_receiver(job).make_server_copy(job, self._reading) if self._by_servers else None
        if copy is None:
            self._relay(job)
            return
        self._server_copies[copy] = job
        self._reading.admit(copy)

    def _relay(self, job: RelayJob, tries: int = 0) -> None:
        receiver = self._find_receiver(job)
        file = RelayedFile(job, self, receiver, self._buffers, tries=tries)
        reading = RelayReading(file, self._reading)
        file.reading = reading
        self._reading.admit(reading)

    def start_sending(self, file: RelayedFile) -> SendingLeg:
        leg = file.receiver.make_sending(file, self._sending)
        self._sending.files[leg] = file
        self._sending.admit(leg)
        return leg

    def _relay_instead(self, copy: ServerCopy, instead: Instead) -> None:
        """Relay a file that the servers do not move themselves."""
        self._notes[instead.reason] = self._notes.get(instead.reason, 0) + 1
        self._by_servers = self._by_servers and not instead.holds_for_all
        self._relay(self._server_copies.pop(copy))

    def _note_over(self) -> None:
        self._left -= 1
        self._admit()

    def note_sent(self, file: RelayedFile, *, skipped: bool = False) -> None:
        self._reading.note_done(file.reading, skipped=skipped)

    def note_failed(self, file: RelayedFile, reason: str) -> None:
        self._reading.note_failure(file.reading, reason)

    def send_again(self, file: RelayedFile, reason: str) -> None:
        policy = self.options.retry
        tries = file.tries + 1
        if tries >= policy.most_tries:
            self.note_failed(file, f"{reason} (tried {tries} times)")
            return
        self._reading.forget(file.reading)
        loop = asyncio.get_running_loop()
        self._timers.add(loop.call_later(policy.wait_s(tries, self.options.rng), lambda: self._relay(file.job, tries)))

    # As `TransferEngine` has it.

    def retune(self, plan: Sequence[ChunkPlan]) -> None:
        """Apply another plan to both sides.

        Raises
        ------
        InvalidValue : a plan without chunks, or with the same chunk twice.
        """
        self._reading.retune(plan)
        self._sending.retune(plan)
        waiting = sorted(
            (job for waiting in self._pending.values() for job in waiting), key=lambda job: -(job.size_bytes or 0)
        )
        self._plan = tuple(plan)
        self._sort_pending(waiting)
        if self._left:
            self._admit()

    def limit_rate(self, rate_bytes_per_s: float | None) -> None:
        """Limit the rate of each side from now on; ``None`` lifts the limit.

        Raises
        ------
        InvalidValue : not above 0.
        """
        self._reading.limit_rate(rate_bytes_per_s)
        self._sending.limit_rate(rate_bytes_per_s)

    def take_snapshot(self) -> Snapshot:
        """Return the current counters; bytes count when they are sent."""
        read, sent = self._reading.take_snapshot(), self._sending.take_snapshot()
        by_kind = {chunk.chunk: chunk for chunk in sent.chunks}
        permitted = [each for each in (read.permitted_connections, sent.permitted_connections) if each is not None]
        return Snapshot(
            elapsed_s=read.elapsed_s,
            chunks=tuple(self._join_chunks(chunk, by_kind) for chunk in read.chunks),
            path=self._join_paths(read.path, sent.path),
            open_connections=read.open_connections + sent.open_connections,
            permitted_connections=min(permitted, default=None),
        )

    def _join_chunks(self, read: ChunkSnapshot, sent: Mapping[ChunkKind, ChunkSnapshot]) -> ChunkSnapshot:
        waiting = len(self._pending.get(read.chunk, ()))
        return replace(
            read,
            moved_bytes=self._reading.bytes_by_servers.get(read.chunk, 0)
            + (sent[read.chunk].moved_bytes if read.chunk in sent else 0),
            remaining_bytes=read.remaining_bytes + self._pending_bytes.get(read.chunk, 0),
            remaining_files=read.remaining_files + waiting,
            finished_s=None if waiting else read.finished_s,
        )

    def sample_path(self) -> PathSample:
        """Return a sample of both paths: the longer round trip, which limits, and the bytes that were sent."""
        return self._join_paths(self._reading.sample_path(), self._sending.sample_path())

    @staticmethod
    def _join_paths(read: PathSample, sent: PathSample) -> PathSample:
        longer = max(read, sent, key=lambda path: path.min_rtt_s or 0.0)
        return replace(sent, **{name: getattr(longer, name) for name in _ROUND_TRIPS})
