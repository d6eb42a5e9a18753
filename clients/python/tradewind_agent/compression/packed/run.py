"""Copies whose files are packed in transit, outside the engine: one file a connection at a time, a few at once."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, suppress
from threading import Event, Lock
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from tradewind.units import MIB
from tradewind_agent.compression.codecs import require_codec
from tradewind_agent.compression.cores import LEAST_AT_ONCE, count_usable_cores
from tradewind_agent.compression.observations import observe_codecs
from tradewind_agent.compression.options import PackedOutcome, PackingOptions
from tradewind_agent.compression.packed.connection_pool import ConnectionPool
from tradewind_agent.compression.packed.download import PackedDownload
from tradewind_agent.compression.packed.file_slots import FileSlots, TryCounter
from tradewind_agent.compression.packed.report import PackedReport
from tradewind_agent.compression.packed.upload import upload_packed
from tradewind_agent.compression.planning import FileAdvice, PackingMode
from tradewind_agent.copy.listing import Listing
from tradewind_agent.engine.jobs import DownloadJob, Job
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import AgentError, FileFault, StorageFailed

if TYPE_CHECKING:
    from tradewind.wire.compression import WireObservation

MOST_OBSERVED = 200
OBSERVING_S = 2.0
MOST_HELD_BYTES = 32 * MIB
"""Observations of one copy, the time that they may take after it, and what is held of files for them: more files of a
kind tell nothing more. Assumptions."""

MAX_TRIES = 4
LONGEST_PAUSE_S = 5.0
"""Of a file, and between two tries: a server that was started again is back by then. Assumptions."""


class CopyStopped(FileFault):
    """The copy is over before this file is."""


def copy_packed(
    listing: Listing,
    mode: PackingMode,
    options: EngineOptions,
    *,
    on_outcome: Callable[[PackedOutcome], None] = lambda _: None,
    line_bps: float | None = None,
    files_at_once: int = LEAST_AT_ONCE,
) -> PackedReport:
    """Copy all files of ``listing`` without a service or a log; what goes wrong with one is in the report.

    Raises
    ------
    CodecMissing : this host lacks the codec that was asked for.
    """
    return PackedCopy(
        listing, mode, options, on_outcome=on_outcome, line_bps=line_bps, files_at_once=files_at_once
    ).run()


class PackedCopy:
    """One copy; `stop` may be called from any thread.

    Parameters
    ----------
    files_at_once : connections; their blocks are packed by the same threads, one a core.
    line_bps : rate of the path for all of them, where it is known.
    advised : what files are to be packed with, where that was asked before.
    connections : that are open from before; they are closed in the end.
    on_moved : called with plain bytes, without those of restarted files, and with finished files.
    on_outcome : called with the outcome of each file.

    Attributes
    ----------
    options : of its connections; may be replaced before it runs.

    Raises
    ------
    CodecMissing : this host lacks the codec that was asked for.
    """

    def __init__(
        self,
        listing: Listing,
        mode: PackingMode,
        options: EngineOptions,
        *,
        transfer_id: UUID | None = None,
        files_at_once: int = LEAST_AT_ONCE,
        line_bps: float | None = None,
        advised: Mapping[Job, FileAdvice] | None = None,
        connections: ConnectionPool | None = None,
        on_moved: Callable[[int, int], None] | None = None,
        on_outcome: Callable[[PackedOutcome], None] = lambda _: None,
    ) -> None:
        if mode.setting is not None:
            require_codec(mode.setting.codec)
        self._listing, self._mode, self.options = listing, mode, options
        self._files_at_once = max(min(files_at_once, len(listing.jobs)), 1)
        self._line_bps, self._advised = line_bps, advised or {}
        self._connections = connections or ConnectionPool()
        self._on_moved, self._on_outcome = on_moved, on_outcome
        self.report = PackedReport(transfer_id=transfer_id or uuid4())
        self._observed: list[tuple[Job, PackedOutcome]] = []
        self._held_bytes = 0
        self._lock = Lock()
        self._stop_event = Event()
        self._slots = FileSlots(self._files_at_once, self._stop_event)

    def stop(self) -> None:
        """End it as the user wishes: `run` returns once the files under way have noticed."""
        self.report.cancelled = True
        self._stop_event.set()

    def run(self) -> PackedReport:
        """Copy the files that are not there yet."""
        started_s = time.monotonic()
        with (
            closing(self._connections),
            ThreadPoolExecutor(count_usable_cores(), thread_name_prefix="tradewind-pack") as packers,
            ThreadPoolExecutor(self._files_at_once, thread_name_prefix="tradewind-file") as pool,
        ):
            futures = {pool.submit(self._copy_file, job, packers): job for job in self._listing.jobs}
            try:
                for done in as_completed(futures):
                    self._count_outcome(futures.pop(done), done.result())  # an outcome holds parts of its file
            except KeyboardInterrupt:
                self.stop()
        self.report.permitted_files = self._slots.permitted_files
        self.report.duration_s = time.monotonic() - started_s
        return self.report

    def collect_observations(self) -> "Sequence[WireObservation]":
        """Return what codecs made of the files, for the service; some of it is found out now, within `OBSERVING_S`."""
        found: list[WireObservation] = []
        until_s = time.monotonic() + OBSERVING_S
        try:
            while self._observed and len(found) < MOST_OBSERVED and time.monotonic() < until_s:
                found += self._find_observations(*self._observed.pop())
        except KeyboardInterrupt:
            pass  # the files are there, and what was found is true
        return found[:MOST_OBSERVED]

    def _find_observations(self, job: Job, outcome: PackedOutcome) -> "Sequence[WireObservation]":
        """Nothing, where a codec fails at what it has done before: the file is there all the same."""
        assert outcome.sample is not None
        transfer_id = self.report.transfer_id
        with suppress(Exception):  # each library has errors of its own
            return observe_codecs(outcome.work, outcome.sample, transfer_id, str(job), fetched=outcome.fetched)
        return ()

    def _count_outcome(self, job: Job, outcome: PackedOutcome | str | None) -> None:
        report = self.report
        if outcome is None:
            return
        if isinstance(outcome, str):
            report.failures.append((str(job), outcome))
        elif outcome.skipped:
            report.files_skipped += 1
        else:
            self._on_outcome(outcome)
            self._keep_observation(job, outcome)
            report.files_done += 1
            report.plain_bytes += outcome.work.plain_bytes
            report.packed_bytes += outcome.wire_bytes or outcome.work.packed_bytes
            for setting, plain_bytes in outcome.work.used.items():
                report.used[setting] = report.used.get(setting, 0) + plain_bytes
        self._report_progress()

    def _keep_observation(self, job: Job, outcome: PackedOutcome) -> None:
        """Store an outcome that says something about codecs, while that takes little memory."""
        if outcome.has_observations and self._held_bytes + outcome.held_bytes <= MOST_HELD_BYTES:
            self._held_bytes += outcome.held_bytes
            self._observed.append((job, outcome))

    def _count_moved(self, plain_bytes: int) -> None:
        with self._lock:
            self.report.moved_bytes += plain_bytes
        self._report_progress()
        if self._stop_event.is_set():
            raise CopyStopped("stopped", retryable=False)

    def _report_progress(self) -> None:
        if self._on_moved is not None:
            report = self.report
            with self._lock:
                self._on_moved(report.moved_bytes, report.files_done + report.files_skipped + len(report.failures))

    def _copy_file(self, job: Job, packers: ThreadPoolExecutor) -> PackedOutcome | str | None:
        """One file; why it failed, where it did, and nothing where all of it was stopped.

        A defect of one is no reason to lose the others.
        """
        if self._stop_event.is_set():
            return None
        try:
            return self._copy_with_retries(job, packers)
        except CopyStopped:
            return None
        except StorageFailed as refused:  # no other file could be written either
            with self._lock:
                self.report.stopped = self.report.stopped or refused
            self._stop_event.set()
            return None
        except AgentError as error:
            return str(error)
        except Exception as defect:  # noqa: BLE001 -- it is reported with the file
            return f"cannot be copied: {defect!r}"

    def _raise_if_stopped(self) -> None:
        if self._stop_event.is_set():
            raise CopyStopped("stopped", retryable=False)

    def _copy_with_retries(self, job: Job, packers: ThreadPoolExecutor) -> PackedOutcome:
        """One file, tried again within bounds."""
        packing = PackingOptions(
            mode=self._mode,
            line_bps=self._line_bps,
            advised=self._advised.get(job),
            at_once=self._files_at_once,
            pool=packers,
        )
        how = packing, self.options, self._connections, self._count_moved
        download = PackedDownload(job, *how) if isinstance(job, DownloadJob) else None
        tries = TryCounter(MAX_TRIES, self._slots)
        while True:
            try:
                with self._slots.acquire(alone=tries.needs_to_be_alone) as slot:
                    self._raise_if_stopped()
                    outcome = (
                        download.run() if download is not None else upload_packed(job, *how)  # type: ignore[arg-type]
                    )
            except CopyStopped:
                raise
            except FileFault as fault:
                if not tries.may_go_on(fault, slot, self.options.retry.longest_wait_s):
                    raise
                if self._stop_event.wait(min(2.0 ** (tries.failed - 2), LONGEST_PAUSE_S)):
                    raise CopyStopped("stopped", retryable=False) from fault
            else:
                tries.note_served(slot)
                if download is not None and download.restart_count:
                    with self._lock:
                        self.report.restarted_files.append(str(job))
                return outcome
