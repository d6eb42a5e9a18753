"""Move the files of a copy within this host, log it, and report it in the words of other copies."""

import socket
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from tradewind.dataset import ChunkKind, DataSet
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.record_document import to_document
from tradewind.transfer import Direction, Mover, Status, TransferOutcome, TransferRecord
from tradewind.units import compute_throughput_bps, format_bps, format_bytes, format_count, format_elapsed_seconds
from tradewind_agent.copy.removal import Removal, remove_planned
from tradewind_agent.copy.reporting.failures import format_failures, list_further_failures
from tradewind_agent.copy.reporting.omissions_report import build_omissions_document, describe_omissions
from tradewind_agent.copy.within_host.listing import LocalListing
from tradewind_agent.copy.within_host.moving import LocalCopy, LocalOutcome, OnProgress
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import AgentError
from tradewind_agent.session.logbook import Logbook
from tradewind_agent.session.records import LEAST_DURATION, MovedChunk, TransferIdentity, build_records
from tradewind_agent.version import get_agent_version

PROTOCOL = STORE = "file"
"""Of the records, whose link leads from this host to itself: no network path has such a model."""

_ONE_BY_ONE = Parameters(concurrency=1, parallelism=1, pipelining=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalReport:
    """The outcome of a copy within this host; fields as in `CopyReport`."""

    host: str
    listing: LocalListing
    outcome: LocalOutcome
    records: tuple[TransferRecord, ...]
    log: str
    removal: Removal | None = None

    @property
    def status(self) -> Status:
        return _find_status(self.outcome)

    @property
    def is_complete(self) -> bool:
        is_removed = self.removal is None or self.removal.succeeded
        return self.status is Status.SUCCEEDED and not self.listing.left_out and is_removed

    def list_further_failures(self) -> list[str]:
        """Return a line for each of the next failures after the first, which the closing line names."""
        return list_further_failures(self.outcome.failures)

    def format_line(self) -> str:
        """Format the closing line."""
        outcome = self.outcome
        skipped = f" ({outcome.files_skipped} already there)" if outcome.files_skipped else ""
        done = f"moved nothing{skipped}"
        if outcome.files_done:
            rate = format_bps(compute_throughput_bps(outcome.bytes_moved, max(outcome.duration_s, 1e-6)))
            files = format_count(outcome.files_done, "file")
            elapsed = format_elapsed_seconds(outcome.duration_s)
            done = f"moved {format_bytes(outcome.bytes_moved)} in {files}{skipped} in {elapsed}: {rate}"
        prefix = "interrupted; run the same command again; " if outcome.is_cancelled else ""
        removed = "" if self.removal is None else self.removal.format_part()
        rest = f"{format_failures(outcome.failures)}{describe_omissions(self.listing)}{removed}"
        return f"{prefix}{done}, within this host{rest}; log {self.log}"

    def build_document(self) -> dict[str, Any]:
        """Return the report in the names and units of the wire."""
        outcome = self.outcome
        return {
            "status": str(self.status),
            "source": self.host,
            "destination": self.host,
            "bytes_moved": outcome.bytes_moved,
            "files_done": outcome.files_done,
            "files_skipped": outcome.files_skipped,
            "files_failed": len(outcome.failures),
            "failures": [{"file": each.file, "reason": each.reason} for each in outcome.failures],
            **build_omissions_document(self.listing),
            **({} if self.removal is None else self.removal.build_document()),
            "duration_s": outcome.duration_s,
            "records": [to_document(record) for record in self.records],
            "log": self.log,
        }


def copy_within_host(
    listing: LocalListing,
    options: EngineOptions,
    *,
    logbook: Logbook | None = None,
    on_progress: OnProgress | None = None,
) -> LocalReport:
    """Copy the files, log the copy, and remove what is to be removed if all was copied."""
    host, started_at = socket.gethostname(), datetime.now(UTC)
    outcome = LocalCopy(options, on_progress).run(listing.jobs)
    records = _build_records(host, started_at, outcome)
    log = "is not stored"
    if logbook is not None:
        try:
            log = logbook.store(records)
        except AgentError as failure:  # the files are there all the same
            log = f"lost: {failure}"
    report = LocalReport(host=host, listing=listing, outcome=outcome, records=records, log=log)
    if listing.removal is None:
        return report
    return replace(report, removal=remove_planned(listing.removal, is_complete=report.is_complete))


def _find_status(outcome: LocalOutcome) -> Status:
    if outcome.is_cancelled:
        return Status.CANCELLED
    return Status.FAILED if outcome.failures else Status.SUCCEEDED


def _build_records(host: str, started_at: datetime, outcome: LocalOutcome) -> tuple[TransferRecord, ...]:
    """Return the row to log; none where no file was copied, as parts alone measure nothing."""
    if not outcome.files_done:
        return ()
    duration = max(timedelta(seconds=outcome.duration_s), LEAST_DURATION)
    total = MovedChunk(
        chunk=ChunkKind.WHOLE,
        dataset=DataSet(file_count=outcome.files_done, total_bytes=outcome.bytes_moved),
        parameters=_ONE_BY_ONE,
        started_at=started_at,
        ended_at=started_at + duration,
        outcome=TransferOutcome(
            status=_find_status(outcome),
            bytes_moved=outcome.bytes_moved,
            files_done=outcome.files_done,
            files_failed=len(outcome.failures),
            throughput_bps=compute_throughput_bps(outcome.bytes_moved, duration.total_seconds()),
        ),
    )
    identity = TransferIdentity(
        transfer_id=uuid4(),
        source=host,
        destination=host,
        mover=Mover("tradewind", get_agent_version()),
        protocol=PROTOCOL,
        direction=Direction.DOWNLOAD,
        store=STORE,
    )
    return build_records(identity, total, (), path=Path())
