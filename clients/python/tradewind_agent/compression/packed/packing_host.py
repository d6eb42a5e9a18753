"""What the packed files of one copy share: threads, slots, the limit of the disk, and what packing came to."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from tradewind.compression.codecs import CodecSetting
from tradewind.units import MIB, format_count
from tradewind_agent.compression.cores import count_usable_cores
from tradewind_agent.compression.options import PackedOutcome
from tradewind_agent.compression.packed.report import PackedBytes
from tradewind_agent.compression.packed.slots import PackedFileSlots
from tradewind_agent.engine.file_transfer import FileTransfer
from tradewind_agent.engine.jobs import Job

MOST_HELD_BYTES = 32 * MIB
"""What is held of files for observations of codecs: more files of a kind tell nothing more. An assumption."""

_MOST_STREAMS = 1024
"""Threads that hand over pieces, or take them: more than files can have a slot. They are made as they are needed."""

Made = TypeVar("Made")


@dataclass(slots=True)
class PackedTotals(PackedBytes):
    """What packing came to, of the packed files alone.

    ``moved_bytes`` : plain bytes that went over the path, also of files that are not done, without what was discarded.
    ``used_by_file`` : plain bytes by setting of each file, with its size.
    ``restarted_files`` : files with bytes that were discarded, because they changed on the way or came damaged.
    """

    moved_bytes: int = 0
    used_by_file: list[tuple[int, dict[CodecSetting | None, int]]] = field(default_factory=list)
    restarted_files: list[str] = field(default_factory=list)

    def add_plain_files(self, moved_bytes: int) -> PackedBytes:
        """Return the bytes of a copy that has moved ``moved_bytes`` in all, with its files that went as they are."""
        as_they_are = moved_bytes - self.moved_bytes
        used = dict(self.used)
        if as_they_are:
            used[None] = used.get(None, 0) + as_they_are
        return PackedBytes(
            plain_bytes=self.plain_bytes + as_they_are, packed_bytes=self.packed_bytes + as_they_are, used=used
        )

    def list_notes(self) -> tuple[str, ...]:
        """Return what the user should know in addition to the metrics."""
        if not self.restarted_files:
            return ()
        files, first = format_count(len(self.restarted_files), "file"), self.restarted_files[0]
        return (f"{files} changed on the way or came damaged, and were restarted, first {first}: the time counts",)


class PackingHost:
    """The host of the packed files of one copy; used in the event loop alone.

    Parameters
    ----------
    most_at_once : packed files at once.
    disk_bytes_per_s : limit of the plain bytes that are read or written.
    on_outcome : called with the outcome of each file.

    Attributes
    ----------
    packers : threads that pack, one a core, shared by all files.
    streams : threads of bodies on their way, one each.
    observed : files whose outcome says something about codecs, as far as little is held of them.
    """

    def __init__(
        self,
        most_at_once: int,
        *,
        disk_bytes_per_s: float | None = None,
        on_outcome: Callable[[PackedOutcome], None] = lambda _: None,
    ) -> None:
        self.slots = PackedFileSlots(most_at_once)
        self.packers = ThreadPoolExecutor(count_usable_cores(), thread_name_prefix="tradewind-pack")
        self.streams = ThreadPoolExecutor(_MOST_STREAMS, thread_name_prefix="tradewind-stream")
        self.totals = PackedTotals()
        self.observed: list[tuple[Job, PackedOutcome]] = []
        self._held_bytes = 0
        self._disk_bytes_per_s, self._on_outcome = disk_bytes_per_s, on_outcome

    def close(self) -> None:
        """End the threads; nothing is on its way any more."""
        self.streams.shutdown()
        self.packers.shutdown(cancel_futures=True)

    def run(self, work: Callable[[], Made], on_done: "Callable[[asyncio.Future[Made]], None]") -> None:
        """Run ``work`` in a thread, then ``on_done`` in the event loop."""
        asyncio.get_running_loop().run_in_executor(self.streams, work).add_done_callback(on_done)

    def count_moved(self, file: FileTransfer, plain_bytes: int, packed_bytes: int) -> None:
        """Count bytes that went over the path as ``packed_bytes``; a negative number of those that are discarded.

        The connections charge the rate limit with what they carry. A limit of the disk holds for plain bytes, and
        those are more.
        """
        self.totals.moved_bytes += plain_bytes
        rate_bytes_per_s = file.host.options.rate_bytes_per_s
        if self._disk_bytes_per_s is not None and rate_bytes_per_s is not None and plain_bytes > 0:
            charged_bytes = plain_bytes * rate_bytes_per_s / self._disk_bytes_per_s
            file.host.charge_rate(max(charged_bytes - packed_bytes, 0.0))

    def note_file(self, job: Job, outcome: PackedOutcome) -> None:
        """Note that a file is done."""
        totals = self.totals
        totals.plain_bytes += outcome.work.plain_bytes
        totals.packed_bytes += outcome.wire_bytes or outcome.work.packed_bytes
        for setting, plain_bytes in outcome.work.used.items():
            totals.used[setting] = totals.used.get(setting, 0) + plain_bytes
        totals.used_by_file.append((outcome.work.plain_bytes, outcome.work.used))
        self._on_outcome(outcome)
        if outcome.has_observations and self._held_bytes + outcome.held_bytes <= MOST_HELD_BYTES:
            self._held_bytes += outcome.held_bytes
            self.observed.append((job, outcome))

    def note_restart(self, job: Job) -> None:
        """Note that received bytes of a file were discarded."""
        if str(job) not in self.totals.restarted_files:
            self.totals.restarted_files.append(str(job))
