"""A file as a packed stream: blocks are packed on all cores while earlier ones are sent; the codec may change.

The sender takes one piece after the other; the time until it returns shows the rate of the path.
"""

import math
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar
from zlib import crc32

from tradewind.compression.codecs import CODEC_LEVELS, CodecSetting
from tradewind.compression.model import MIN_BLOCK_BYTES, compute_block_bytes
from tradewind.compression.steering import PackedBlock, Steering
from tradewind.units import BITS_PER_BYTE, KIB
from tradewind_agent.compression.codecs import pack
from tradewind_agent.compression.cores import count_usable_cores
from tradewind_agent.compression.frames import Block, encode_block, encode_end, encode_failure
from tradewind_agent.compression.sampling import FileSample, sample_descriptor
from tradewind_agent.compression.totals import PackingTotals
from tradewind_agent.errors import FileFault
from tradewind_agent.system_errors import explain_os_error

SamplePlan = tuple[FileSample, Steering]
Made = TypeVar("Made")

OBSERVED_FROM_BYTES = 64 * KIB
"""Fewer bytes say little about a codec."""

LOOK_SHARE = 64
LEAST_LOOK_BYTES = 16 * KIB
"""Part of an unpacked block that is packed as a probe: a hundredth of the time of the full block."""

LEAST_SEEN_S = 0.02
"""A piece that left in less went into a buffer: that says nothing of the path's rate."""
IDLE_SHARE = 0.1
"""Of the time, spent on sending: where it is less, the path waits for the packing."""
MAX_LOOK_WAIT_S = 1.0
LONGEST_PACK_S = 5.0
"""Of a block on one core: where several files share it, the other end still hears of each in time."""


@dataclass(slots=True)
class _PackedBlock:
    """``tried``, ``ratio``, ``pack_s`` : of what was packed, whatever is sent; 1 to 1 where it became no smaller."""

    block: Block
    tried: CodecSetting | None = None
    ratio: float = 1.0
    pack_s: float = 0.0


class PackedFile:
    """The stream of an open file, from ``first`` on.

    Parameters
    ----------
    steering : decides on each block where ``adapt``; else its setting is that of all blocks.
    status : of the file as the other end knows it: one that has another size or time in the end has changed.
    pool : of threads that pack, shared with other files; by default one of its own.
    at_once : files that share path and cores; steering gets the rate of the path of all together. ``files_at_once`` may
        change meanwhile.
    sample : of the file. samples_late : whether one is taken for the history alone, while the last blocks are sent.
    make_plan : takes a sample, and plans by it while the first block is sent, which is packed as ``steering`` says.
    sends_sample : whether the end of the stream carries the sample.

    Attributes
    ----------
    work, sample : what packing came to, and a sample that was taken on the way, once the stream has ended.
    failure : why the stream was not sent to its end.
    """

    def __init__(
        self,
        descriptor: int,
        status: os.stat_result,
        steering: Steering,
        *,
        first: int = 0,
        adapt: bool = True,
        pool: ThreadPoolExecutor | None = None,
        at_once: int = 1,
        sample: FileSample | None = None,
        samples_late: bool = False,
        make_plan: "Callable[[int], SamplePlan] | None" = None,
        sends_sample: bool = False,
        clock_s: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._descriptor, self._status, self._first = descriptor, status, first
        self.steering, self._adapt = steering, adapt
        self._pool, self.files_at_once = pool, at_once
        self._workers = count_usable_cores()
        self._clock_s = clock_s
        self._resumed_s: float | None = None
        self.work = PackingTotals()
        self.sample, self._sends_sample = sample, sends_sample
        self._samples_late = samples_late and status.st_size - first >= OBSERVED_FROM_BYTES
        self._make_plan = make_plan
        self._planning: Future[SamplePlan] | None = None
        self.failure: FileFault | None = None

    def encode_pieces(self) -> Generator[bytes]:
        """Yield the encoded blocks, then the end.

        A file that cannot be read or changes ends with the reason, see `failure`.
        """
        try:
            yield from self._encode_blocks()
        except FileFault as fault:
            self.failure = fault
        except OSError as error:
            self.failure = FileFault(f"it cannot be read: {explain_os_error(error)}", retryable=False)
        if self.failure is not None:
            yield encode_failure(str(self.failure))

    def _encode_blocks(self) -> Generator[bytes]:
        digest = sha256()
        with self._open_pool() as pool:
            queue: deque[Future[_PackedBlock]] = deque()
            looking: Future[FileSample | None] | None = None
            try:
                for plain, hashing_s in self._read(digest.update):
                    if queue and self._is_for_one_core():
                        wait(queue)  # the next is packed while this one is sent
                    self._adopt_plan()
                    queue.append(pool.submit(self._pack, plain, hashing_s, self._planning or self.steering.setting))
                    if self._make_plan is not None and self._planning is None:
                        self._planning = self._run_with_descriptor(pool, self._make_plan)
                    if len(queue) > self._count_blocks_at_once():
                        yield from self._send_block(queue.popleft().result())
                if self._samples_late:
                    looking = self._run_with_descriptor(pool, _try_sample)
                while queue:
                    yield from self._send_block(queue.popleft().result())
                self._await_sample(looking)
            finally:
                for each in (*queue, looking, self._planning):
                    if each is not None:
                        each.cancel()
        started, finished = self._status, os.fstat(self._descriptor)
        if (started.st_size, started.st_mtime_ns) != (finished.st_size, finished.st_mtime_ns):
            raise FileFault("it changed while it was packed; copy it again when it is at rest", retryable=False)
        yield encode_end(
            digest.digest(), self.sample.format() if self.sample is not None and self._sends_sample else ""
        )

    def _await_sample(self, looking: "Future[FileSample | None] | None") -> None:
        """Wait for the sample that is being taken, which is history for other files."""
        if self._planning is not None and not self._is_given_up(self._planning):
            wait([self._planning])
            self._adopt_plan()
        if looking is not None and not self._is_given_up(looking):
            self.sample = looking.result()

    def _is_given_up(self, looking: "Future[Any]") -> bool:
        """Return where other files' blocks are before it for long.

        This one's stream is not to wait for a history's sake.
        """
        wait([looking], timeout=MAX_LOOK_WAIT_S)
        return looking.cancel()

    def _run_with_descriptor(self, pool: ThreadPoolExecutor, work: Callable[[int], Made]) -> "Future[Made]":
        """Run ``work`` with a descriptor of its own: a stream may be given up before that is done."""
        descriptor = os.dup(self._descriptor)
        running = pool.submit(work, descriptor)
        running.add_done_callback(lambda _: os.close(descriptor))
        return running

    def _adopt_plan(self) -> None:
        """Go on by the plan once it is made."""
        if self._planning is not None and self._planning.done():
            self.sample, self.steering = self._planning.result()
            self._planning = self._make_plan = None

    def _open_pool(self) -> AbstractContextManager[ThreadPoolExecutor]:
        if self._pool is not None:
            return nullcontext(self._pool)
        return ThreadPoolExecutor(self._workers, thread_name_prefix="tradewind-pack")

    def _read(self, on_block: Callable[[bytes], None]) -> Iterator[tuple[bytes, float]]:
        """Yield each block after ``on_block``, with the time that this took, s."""
        file_bytes, offset = self._status.st_size, self._first
        while offset < file_bytes:
            requested_bytes = min(self._compute_block_bytes(), file_bytes - offset)
            plain = os.pread(self._descriptor, requested_bytes, offset)
            if len(plain) < requested_bytes:
                raise FileFault("it became shorter while it was packed", retryable=False)
            started_s = self._clock_s()
            on_block(plain)
            offset += requested_bytes
            yield plain, self._clock_s() - started_s

    def _compute_block_bytes(self) -> int:
        """As large as the file's size makes them, unless one core would be busy with it for too long."""
        usual_bytes, setting = compute_block_bytes(self._status.st_size), self.steering.setting
        if setting is None or (core_bps := self._compute_core_bps(setting)) is None:
            return usual_bytes
        return min(usual_bytes, max(int(LONGEST_PACK_S * core_bps / BITS_PER_BYTE), MIN_BLOCK_BYTES))

    def _compute_core_bps(self, setting: CodecSetting) -> float | None:
        """Return the plain bits a second that one core packs, as was seen of this file, or else is expected."""
        if (effort := self.work.efforts.get(setting)) is not None:
            return effort.compress_bps
        expected = self.steering.expected.get(setting)
        cores = self._workers if CODEC_LEVELS[setting.codec].is_parallel else 1
        return None if expected is None else expected.compress_bps / cores

    def _count_blocks_at_once(self) -> int:
        """Return the blocks ahead of the one that is sent.

        As many as cores may pack, one where the codec is for one core.
        """
        return 1 if self._is_for_one_core() else max(self._workers // self.files_at_once, 1)

    def _is_for_one_core(self) -> bool:
        setting = self.steering.setting
        return setting is not None and not CODEC_LEVELS[setting.codec].is_parallel

    def _pack(
        self, plain: bytes, hashing_s: float, decided: "CodecSetting | Future[SamplePlan] | None"
    ) -> _PackedBlock:
        """Pack a block; ``decided`` : the setting, or the plan that is being made and has it."""
        setting = decided.result()[1].setting if isinstance(decided, Future) else decided
        started_s = self._clock_s() - hashing_s
        raw = Block(None, len(plain), crc32(plain), plain)
        if setting is None:
            return self._probe_raw_block(raw)
        packed = _pack_block(plain, setting)
        took_s = self._clock_s() - started_s
        if len(packed) >= len(plain):
            return _PackedBlock(raw, setting, 1.0, took_s)
        block = Block(setting, raw.plain_bytes, raw.plain_crc, packed, took_s)
        return _PackedBlock(block, setting, len(plain) / len(packed), took_s)

    def _probe_raw_block(self, raw: Block) -> _PackedBlock:
        """Return an unpacked block, with a probe from its middle packed to see whether packing would pay."""
        trial = self.steering.trial if self._adapt else None
        if trial is None:
            return _PackedBlock(raw)
        probed_bytes = max(raw.plain_bytes // LOOK_SHARE, LEAST_LOOK_BYTES)
        first = max((raw.plain_bytes - probed_bytes) // 2, 0)
        little = raw.packed[first : first + probed_bytes]
        return _PackedBlock(raw, trial, max(len(little) / len(_pack_block(little, trial)), 1.0))

    def _send_block(self, made: _PackedBlock) -> Iterator[bytes]:
        """One block; how long the caller keeps it is how long the path takes for it."""
        block = made.block
        piece = encode_block(block)
        started_s = self._clock_s()
        yield piece
        resumed_s = self._clock_s()
        waited_s = None if self._resumed_s is None else resumed_s - self._resumed_s
        self._resumed_s = resumed_s
        self.work.count_sent(block.setting, block.plain_bytes)
        self.work.packed_bytes += len(piece)
        if made.tried is not None and made.pack_s > 0:
            packed_bytes = block.plain_bytes / made.ratio
            self.work.count_tried(made.tried, block.plain_bytes, packed_bytes, pack_s=made.pack_s)
            if block.setting is not None:
                self.work.efforts[block.setting].last = block
        if self._adapt and self._make_plan is None:
            self.steering = self.steering.update(self._make_feedback(made, len(piece), resumed_s - started_s, waited_s))

    def _make_feedback(
        self, made: _PackedBlock, piece_bytes: int, sending_s: float, waited_s: float | None
    ) -> PackedBlock:
        """Return ``sending_s`` : of the piece, by the path; ``waited_s`` : since the one before it had left."""
        bits_of_all = self.files_at_once * BITS_PER_BYTE * piece_bytes
        idle = sending_s < LEAST_SEEN_S and waited_s is not None and sending_s < IDLE_SHARE * waited_s
        is_parallel = made.tried is not None and CODEC_LEVELS[made.tried.codec].is_parallel
        bits = BITS_PER_BYTE * made.block.plain_bytes * (self._workers if is_parallel else 1)
        return PackedBlock(
            setting=made.tried,
            ratio=made.ratio,
            compress_bps=bits / made.pack_s if made.pack_s > 0 else None,
            line_bps=bits_of_all / sending_s if sending_s >= LEAST_SEEN_S else None,
            idle_at_bps=bits_of_all / waited_s if idle and waited_s is not None else None,
        )


def _try_sample(descriptor: int) -> FileSample | None:
    """As for a path on which there is no time to look at more; one that cannot be taken is no fault of the file's."""
    with suppress(OSError):
        return sample_descriptor(descriptor, math.inf)
    return None


def _pack_block(plain: bytes, setting: CodecSetting) -> bytes:
    """`pack`, where a codec that fails is no fault of the file's."""
    try:
        return pack(plain, setting)
    except Exception as error:  # each library has errors of its own, and lzop is a program
        why = explain_os_error(error) if isinstance(error, OSError) else str(error)
        raise FileFault(f"{setting} cannot pack it: {why}", retryable=False) from error
