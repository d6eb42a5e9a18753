"""The lifecycle of one transfer, whoever moves the bytes: prepare, acquire a share, meter, move, record, report.

Copies by the engine, wrapped tools and packed copies each open one `TransferSession`, and differ only in how they move.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from tradewind.dataset import ChunkKind, DataSet
from tradewind.energy.measured import EnergyReading
from tradewind.failure import Failure
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.transfer import ResourceUsage, Status, TransferOutcome, TransferRecord
from tradewind_agent.errors import AgentError
from tradewind_agent.session.live_ticks import LiveTicks
from tradewind_agent.session.logbook import Logbook
from tradewind_agent.session.records import MovedChunk, TransferIdentity, build_records

if TYPE_CHECKING:
    from tradewind_agent.service.client import Client


class ShareHolder(Protocol):
    """A tuning loop that may hold a share: `Tuning` for the engine, `ToolLoop` for a tool."""

    @property
    def is_service_answering(self) -> bool: ...


@dataclass(slots=True, kw_only=True)
class TransferSession:
    """One transfer from its preparation to its report; use it as a context manager.

    `open_ticks` prepares the file of ticks, `hold_share` says who may hold a share, `build_records` makes the rows, and
    `finish` or `abandon` ends the transfer. Leaving the block without either releases the share.

    Attributes
    ----------
    client : of the service that tunes the transfer; ``None`` where none does.
    logbook : stores the records; ``None`` leaves them to the report.
    status, failure : reported to the service when the share is released; set them once the outcome is known. The row
        of the entire transfer has the failure too.
    live : the ticks of a tuned transfer.
    """

    identity: TransferIdentity
    client: "Client | None" = None
    logbook: Logbook | None = None
    status: Status = Status.CANCELLED
    failure: Failure | None = None
    live: LiveTicks | None = field(default=None, init=False)
    _share_holder: ShareHolder | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release_share()
        if self.live is not None:
            self.live.close()

    def open_ticks(self, dataset: DataSet, parameters: Parameters, path: Path) -> LiveTicks:
        """Return where ticks wait for the service: on disk if there is a service to send them to.

        Parameters
        ----------
        dataset, parameters, path : of the transfer before its first byte.
        """
        nothing_moved = TransferOutcome(
            status=Status.CANCELLED, bytes_moved=0, files_done=0, files_failed=0, throughput_bps=0.0
        )
        now = datetime.now(UTC)
        total = MovedChunk(
            chunk=ChunkKind.WHOLE,
            dataset=dataset,
            parameters=parameters,
            started_at=now,
            ended_at=now,
            outcome=nothing_moved,
        )
        (first_record,) = build_records(self.identity, total, (), path=path)
        folder = self.logbook.transfers.folder if self.client is not None and self.logbook is not None else None
        self.live = LiveTicks(folder, self.identity.transfer_id, first_record)
        return self.live

    def hold_share(self, share_holder: ShareHolder | None) -> None:
        """Remember the tuning loop, whose share is released at the end; ``None`` for a transfer that is not tuned."""
        self._share_holder = share_holder

    def build_records(
        self,
        total: MovedChunk,
        chunks: Sequence[MovedChunk] = (),
        *,
        path: Path,
        energy: tuple[EnergyReading, ...],
        usage: ResourceUsage | None,
    ) -> tuple[TransferRecord, ...]:
        """Return the rows of this transfer; see `tradewind_agent.session.records.build_records`."""
        if self.failure is not None and total.outcome.status is not Status.SUCCEEDED:
            total = replace(total, outcome=replace(total.outcome, failure=self.failure))
        return build_records(self.identity, total, chunks, path=path, energy=energy, usage=usage)

    def finish(self, records: tuple[TransferRecord, ...]) -> str:
        """Store the records and return what became of them; the transfer succeeds even if they cannot be stored.

        With records in a logbook, the completion releases the share; otherwise it is released at once.
        """
        if not (records and self.logbook is not None):
            self._release_share()
        is_tuned = self._share_holder is not None
        self._share_holder = None
        if self.logbook is None:
            return "kept in the report"
        live = self.live if is_tuned else None
        ticks = None if live is None or self.client is None else live.pending
        try:
            result = self.logbook.store(records, ticks)
        except AgentError as failure:
            return f"lost: {failure}"
        if live is not None:
            live.remove()
        return result

    def abandon(self) -> str:
        """Release the share of a transfer without records; its ticks stay on disk for the next command."""
        self._release_share()
        return "is empty"

    def _release_share(self) -> None:
        share_holder, self._share_holder = self._share_holder, None
        if self.client is None or self.live is None or share_holder is None or not share_holder.is_service_answering:
            return
        from tradewind_agent.session.release_share import release_share  # noqa: PLC0415 -- loads the wire models

        release_share(self.client, self.identity.transfer_id, self.live, self.status, self.failure)
