"""The journal of transfers: what heartbeats and ends tell of them, on its way to be stored for good."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol, Self
from uuid import UUID

from tradewind.sla.kinds import Sla, SlaKind
from tradewind.transfer import LinkKey, Status
from tradewind.wire.base import Open
from tradewind.wire.heartbeats import SpooledHeartbeat
from tradewind.wire.recommendations import RecommendRequest
from tradewind.wire.records import WireEnergy, WireRecord
from tradewind.wire.transfers import ExpectedOutcome, TransferState, TransferSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What a transfer is to move, and from where to where. ``enquiry`` : where a heartbeat told it."""

    link: LinkKey
    file_count: int
    total_bytes: int
    sla: str | None = None
    enquiry: RecommendRequest | None = None

    @classmethod
    def asked(cls, enquiry: RecommendRequest) -> Self:
        """As the recommendation was asked for."""
        return cls(
            link=LinkKey(enquiry.source, enquiry.destination, enquiry.network, enquiry.mover),
            file_count=enquiry.dataset.file_count,
            total_bytes=enquiry.dataset.total_bytes,
            sla=enquiry.sla.kind,
            enquiry=enquiry,
        )

    @classmethod
    def recorded(cls, whole: WireRecord) -> Self:
        """As the record of its end tells it."""
        return cls(
            link=LinkKey(whole.source, whole.destination, whole.network, whole.mover.name),
            file_count=whole.dataset.file_count,
            total_bytes=whole.dataset.total_bytes,
            sla=whole.sla,
        )


class TransferStart(Open):
    """What the first heartbeat of a transfer brings along: what is expected of it, and the key of its agent."""

    expected: ExpectedOutcome
    key_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferBeats:
    """Heartbeats of one transfer. ``beats`` : one a sequence number. ``owner`` : key that it belongs to, as its session
    or its end says; what is told of another key's transfer is left out. ``None`` where that was checked before.
    """

    transfer_id: UUID
    beats: Mapping[int, SpooledHeartbeat]
    owner: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferNews(TransferBeats):
    """New of one transfer.

    ``started_at`` : kept where nothing was known of it before. ``heard_at`` : of its last heartbeat by the service's
    clock, ``silent_at`` : when it counts as silent unless another one comes; both ``None`` where the heartbeats come
    late. ``begun`` : of its begin, kept where nothing was known of it before.
    """

    workload: Workload
    started_at: datetime
    heard_at: datetime | None
    silent_at: datetime | None
    begun: TransferStart | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferEnd:
    """How a transfer ended: bytes in all, the mean rate, its duration, and the energy of the ends that were metered.

    ``link_id`` : of its record. ``agreement_kept`` : ``None`` where nothing was agreed, or nothing measured tells.
    """

    at: datetime
    status: Status
    bytes_moved: int
    throughput_bps: float
    duration_s: float
    link_id: UUID
    energy: Sequence[WireEnergy] = ()
    agreement_kept: bool | None = None

    @property
    def energy_j(self) -> float | None:
        """Of the ends that were metered together."""
        return sum(each.total_j for each in self.energy) if self.energy else None


class JournalledTransfer(NamedTuple):
    """What is stored of one transfer beside its samples; ``duration_s`` and ``energy`` once it has ended.

    ``owner`` : key that it belongs to, ``None`` where that is not known.
    """

    summary: TransferSummary
    enquiry: dict[str, Any] | None
    expected: ExpectedOutcome | None
    duration_s: float | None
    energy: tuple[WireEnergy, ...]
    owner: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferFilter:
    """Which transfers are looked for; ``None`` : any. ``since`` (included) to ``until`` (not) they began."""

    state: TransferState | None = None
    source: str | None = None
    destination: str | None = None
    sla: SlaKind | None = None
    key_ids: Collection[UUID] | None = None
    since: datetime | None = None
    until: datetime | None = None


ANY_TRANSFER = TransferFilter()


class TransferJournal(Protocol):
    """The transfers of one tenant in an open transaction."""

    def note(self, news: Collection[TransferNews]) -> None:
        """Make transfers known, or bring them up to date; held until the end of the transaction."""

    def add(self, news: Collection[TransferBeats]) -> int:
        """Store samples of noted transfers, the later one where a sequence is there already; how many were new."""

    def advance(self, transfer_ids: Collection[UUID]) -> Mapping[UUID, int]:
        """Up to which sequence all samples are stored, by transfer; a gap stops it."""

    def agreement(self, transfer_id: UUID) -> Sla | None:
        """What was agreed on for a noted transfer, as far as it is known."""

    def is_logged(self, record: WireRecord) -> bool:
        """Whether a row of the logs tells how it ended as the record does."""

    def end(self, transfer_id: UUID, end: TransferEnd) -> datetime:
        """Mark a noted transfer as ended, as it was told first; when it ended first."""

    def end_unlogged(self, transfer_id: UUID, status: Status, *, at: datetime) -> datetime | None:
        """Mark a transfer as ended unless it is; when it ended, ``None`` for one that is not known."""
