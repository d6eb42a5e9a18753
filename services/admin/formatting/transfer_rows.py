"""Rows of lists of transfers: how far each is, and how it stands."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from services.application.shared.unit_of_work import UnitOfWork
from services.application.transfers.repository import MovedFiles, StoredTransfer
from tradewind.sla.forecast import Standing, TransferProgress, judge_progress
from tradewind.sla.kinds import BOUNDED_ABOVE, Sla
from tradewind.transfer import Status
from tradewind.units import format_bytes, format_count
from tradewind.wire.recommendations import WireSla
from tradewind.wire.transfers import TransferState, TransferSummary


class TransferRow(NamedTuple):
    """A transfer as a list shows it.

    ``progress``, ``standing`` : of one that has not ended. ``duration_s`` : of one that has.
    """

    transfer: TransferSummary
    progress: TransferProgress | None
    standing: Standing | None
    duration_s: float | None

    @property
    def left_s(self) -> float | None:
        """Time left, s; ``None`` of a transfer that is silent or over, or that does not move."""
        return self.progress.left_s if self.progress and self.transfer.state is TransferState.LIVE else None


def read_sla(known: StoredTransfer) -> Sla | None:
    """Return the SLA of the recommendation, if one was requested."""
    return None if known.request is None else WireSla.model_validate(known.request["sla"]).to_sla()


def find_energy_leads(uow: UnitOfWork, known: Sequence[StoredTransfer]) -> Mapping[UUID, float]:
    """Return the joules below their SLA of the live transfers with one on energy or power that are metered."""
    judged = [
        each.summary for each in known if each.summary.sla in BOUNDED_ABOVE and each.summary.state is TransferState.LIVE
    ]
    return uow.journal.find_energy_leads(judged) if judged else {}


def build_rows(known: Sequence[StoredTransfer], energy_leads_j: Mapping[UUID, float]) -> Sequence[TransferRow]:
    """Return the rows of transfers; ``energy_leads_j`` : of running ones with a metered energy SLA."""
    return [build_row(each, energy_leads_j.get(each.summary.transfer_id)) for each in known]


def build_row(known: StoredTransfer, energy_lead_j: float | None = None) -> TransferRow:
    """Return the row of a transfer."""
    transfer = known.summary
    if transfer.state is TransferState.ENDED:
        return TransferRow(transfer, None, None, known.duration_s)
    progress = TransferProgress(
        total_bytes=transfer.total_bytes,
        moved_bytes=transfer.bytes_moved,
        elapsed_s=_compute_elapsed_s(transfer.started_at, transfer.last_heartbeat_at),
        throughput_bps=transfer.throughput_bps if transfer.sequence > 0 else None,
        energy_lead_j=energy_lead_j,
    )
    sla = read_sla(known)
    share_bps = None if known.expected is None else known.expected.target_bps
    standing = None if sla is None else judge_progress(sla, progress, share_bps=share_bps)
    return TransferRow(transfer, progress, standing, None)


def _compute_elapsed_s(started_at: datetime, heard_at: datetime | None) -> float:
    return 0.0 if heard_at is None else max(0.0, (heard_at - started_at).total_seconds())


def explain_failure(transfer: TransferSummary, files: MovedFiles | None) -> str:
    """Return what became of a transfer that failed or was cancelled, as sentences."""
    verb = "was cancelled" if transfer.status is Status.CANCELLED else "failed"
    moved = f"{format_bytes(transfer.bytes_moved)} of {format_bytes(transfer.total_bytes)} were moved"
    reason = _format_reported(transfer)
    if files is None:
        return f"It {verb} after {moved}.{reason}"
    counted = [f"{format_count(files.done, 'file')} arrived"]
    if files.failed:
        counted.append(f"{files.failed} failed")
    if (left := transfer.file_count - files.done - files.failed) > 0:
        counted.append(f"{left} {'was' if left == 1 else 'were'} not started or not finished")
    named = " Its agent names each file that failed, with the reason, at the end of the command and with --json."
    return f"It {verb}: {', '.join(counted)}; {moved}.{reason}{named if files.failed else ''}"


def _format_reported(transfer: TransferSummary) -> str:
    """Return why it failed, as its agent reported it, as a sentence after another; empty where it did not."""
    if transfer.failure_kind is None:
        return ""
    kind = transfer.failure_kind.replace("_", " ")
    return (
        f" Reported by its agent ({kind}): {transfer.failure.rstrip('.')}."
        if transfer.failure
        else f" Its agent reports: {kind}."
    )
