"""Read each file and write it under its new name, which it gets when all of it is safe on the disk."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tradewind_agent.copy.reporting.failures import ENTIRE_TRANSFER, Failure
from tradewind_agent.copy.within_host.listing import LocalDecision, LocalJob, decide
from tradewind_agent.engine.local.checksums import compute_checksum
from tradewind_agent.engine.local.identity import FileIdentity
from tradewind_agent.engine.local.local_files import reject_special_file
from tradewind_agent.engine.local.publishing import Publication, publish_together
from tradewind_agent.engine.local.regular_file import open_regular_file
from tradewind_agent.engine.local.storage import PartFile
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import AgentError, FileFault, StorageFailed
from tradewind_agent.system_errors import explain_os_error

BLOCK_BYTES = 4 << 20
_TOGETHER, _TOGETHER_BYTES = 64, 64 << 20
"""Files, and bytes of them, that wait for the disk together: a wait a file would be most of the time."""

_VERIFIED_SUM = "sha256"

OnProgress = Callable[[int, int], None]
"""Called with the bytes that were written, and the number of files that were dealt with."""


@dataclass(slots=True, kw_only=True)
class LocalOutcome:
    """What became of the files; ``duration_s`` : from the first to the last of them."""

    bytes_moved: int = 0
    files_done: int = 0
    files_skipped: int = 0
    failures: list[Failure] = field(default_factory=list)
    duration_s: float = 0.0
    is_cancelled: bool = False

    def count_files(self) -> int:
        """Return the number of files that were dealt with."""
        return self.files_done + self.files_skipped + len(self.failures)


class LocalCopy:
    """Copies files one after the other, and names them in small groups.

    Attributes
    ----------
    outcome : until now.
    """

    def __init__(self, options: EngineOptions, on_progress: OnProgress | None) -> None:
        self._options, self._on_progress = options, on_progress
        self._written: list[tuple[LocalJob, Publication]] = []
        self.outcome = LocalOutcome()

    def run(self, jobs: Sequence[LocalJob]) -> LocalOutcome:
        """Copy files; an interrupt ends it cleanly, and a full disk at once."""
        started_s = time.monotonic()
        try:
            for job in jobs:
                self._copy(job)
                self._report()
            self._publish()
        except KeyboardInterrupt:
            self.outcome.is_cancelled = True
        except StorageFailed as failure:
            self.outcome.failures.insert(0, Failure(ENTIRE_TRANSFER, str(failure), failure.retryable))
        finally:
            for _, publication in self._written:
                with suppress(AgentError):  # what went wrong before is what the user has to know
                    publication.part.discard()
            self.outcome.duration_s = time.monotonic() - started_s
        self._report()
        return self.outcome

    def _report(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self.outcome.bytes_moved, self.outcome.count_files())

    def _copy(self, job: LocalJob) -> None:
        """Write the part of one file, unless it is there already."""
        try:
            decision = decide(job, self._options.skip, compares_bytes=self._options.checksum)
            if decision is LocalDecision.REFUSED:
                self._fail(job, FileFault(f"{decision.value} ({job.destination})", retryable=False))
            elif decision is LocalDecision.STAYS:
                self.outcome.files_skipped += 1
            else:
                self._written.append((job, self._write(job)))
        except OSError as failure:
            self._fail(job, FileFault(f"cannot be read: {explain_os_error(failure)}", retryable=False))
        except FileFault as failure:
            self._fail(job, failure)
        if len(self._written) >= _TOGETHER or sum(job.found.st_size for job, _ in self._written) >= _TOGETHER_BYTES:
            self._publish()

    def _fail(self, job: LocalJob, failure: AgentError) -> None:
        self.outcome.failures.append(Failure(str(job), str(failure), failure.retryable))

    def _write(self, job: LocalJob) -> Publication:
        """Return the part of a file with all of its bytes.

        Raises
        ------
        FileFault : it changes meanwhile, or the part cannot be written.
        OSError : it cannot be read.
        """
        reject_special_file(job.destination)
        with _open_part(job) as part, os.fdopen(open_regular_file(job.source), "rb", buffering=0) as source:
            position = 0
            while position <= job.found.st_size and (block := source.read(BLOCK_BYTES)):
                part.write(position, block)
                position += len(block)
                self.outcome.bytes_moved += len(block)
                self._report()
            part.write(position, b"")  # an empty file, too, has a part
            now = os.fstat(source.fileno())
            if position != job.found.st_size or now.st_mtime_ns != job.found.st_mtime_ns:
                raise FileFault("changed while it was copied")
            checksum = compute_checksum(job.source, _VERIFIED_SUM) if self._options.checksum else None
        return Publication(part, FileIdentity(size_bytes=position), checksum)

    def _publish(self) -> None:
        """Give the files that were written their names, times and permissions."""
        written, self._written = self._written, []
        outcomes = publish_together([each for _, each in written], durable=self._options.durable)
        for (job, _), failure in zip(written, outcomes, strict=True):
            if isinstance(failure, StorageFailed):
                raise failure
            if failure is not None:
                self._fail(job, failure)
                continue
            try:
                job.destination.chmod(job.found.st_mode & 0o777)
                os.utime(job.destination, ns=(job.found.st_atime_ns, job.found.st_mtime_ns))
            except OSError as error:
                self._fail(job, FileFault(f"its time cannot be set: {explain_os_error(error)}", retryable=False))
            else:
                self.outcome.files_done += 1


@contextmanager
def _open_part(job: LocalJob) -> Iterator[PartFile]:
    """Yield the part of a file; it is discarded if what follows fails."""
    part = PartFile(job.destination, str(job.source))
    part.discard()  # of an earlier run: bytes of another source, perhaps
    try:
        yield part
    except BaseException:
        part.discard()
        raise
