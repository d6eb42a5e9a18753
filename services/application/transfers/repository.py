"""The journal of transfers: values from heartbeats and ends, and the port that stores them for good."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, Self
from uuid import UUID

from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tiers.demand import RequestedSla
from tradewind.transfer import LinkKey, Status
from tradewind.wire.base import Open
from tradewind.wire.heartbeats import SpooledHeartbeat
from tradewind.wire.recommendations import RecommendRequest
from tradewind.wire.records import WireEnergy, WireFailure, WireRecord
from tradewind.wire.transfers import ExpectedOutcome, TransferState, TransferSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What a transfer moves, and from where to where; ``request`` : where a heartbeat carried it."""

    link: LinkKey
    file_count: int
    total_bytes: int
    sla: str | None = None
    request: RecommendRequest | None = None

    @classmethod
    def from_request(cls, request: RecommendRequest) -> Self:
        """Return the workload of a request for a recommendation."""
        return cls(
            link=LinkKey(request.source, request.destination, request.network, request.mover),
            file_count=request.dataset.file_count,
            total_bytes=request.dataset.total_bytes,
            sla=request.sla.kind,
            request=request,
        )

    @classmethod
    def from_record(cls, record: WireRecord) -> Self:
        """Return the workload of a final record."""
        return cls(
            link=LinkKey(record.source, record.destination, record.network, record.mover.name),
            file_count=record.dataset.file_count,
            total_bytes=record.dataset.total_bytes,
            sla=record.sla,
        )


class TransferStart(Open):
    """The start of a transfer, stored with its first heartbeat: what is expected of it, and the key of its agent."""

    expected: ExpectedOutcome
    key_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferBeats:
    """Heartbeats of one transfer.

    ``beats`` : by sequence number. ``owner`` : key of its session or of its end; heartbeats for a transfer of another
    key are left out. ``None`` where the owner was checked before.
    """

    transfer_id: UUID
    beats: Mapping[int, SpooledHeartbeat]
    owner: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferNews(TransferBeats):
    """New information on one transfer.

    ``started_at``, ``start`` : stored only where the transfer was unknown. ``heard_at`` : time of its last heartbeat by
    the service's clock. ``silent_at`` : when it counts as silent unless another one comes. Both are ``None`` for
    heartbeats that come late.
    """

    workload: Workload
    started_at: datetime
    heard_at: datetime | None
    silent_at: datetime | None
    start: TransferStart | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferEnd:
    """How a transfer ended: total bytes, mean rate, duration, and the energy of the metered ends.

    ``link_id`` : of its record. ``is_sla_met`` : whether it met its SLA; ``None`` without an SLA or measurement.
    """

    at: datetime
    status: Status
    bytes_moved: int
    throughput_bps: float
    duration_s: float
    link_id: UUID
    energy: Sequence[WireEnergy] = ()
    is_sla_met: bool | None = None
    failure: WireFailure | None = None

    @property
    def energy_j(self) -> float | None:
        """Energy of all metered ends together, J."""
        return sum(reading.total_j for reading in self.energy) if self.energy else None


class MovedFiles(NamedTuple):
    """The files of a finished transfer, counted by its log."""

    done: int
    failed: int


class StoredTransfer(NamedTuple):
    """A stored transfer without its samples; ``duration_s`` and ``energy`` are set once it has ended.

    ``owner`` : key that it belongs to, ``None`` where it is unknown.
    """

    summary: TransferSummary
    request: dict[str, Any] | None
    expected: ExpectedOutcome | None
    duration_s: float | None
    energy: tuple[WireEnergy, ...]
    owner: UUID | None


class TransferResult(StrEnum):
    """What came of a finished transfer, or of its SLA."""

    MET = "met"
    MISSED = "missed"
    """An SLA that was promised."""
    NOT_PROMISED = "not_promised"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class TransferOrder(StrEnum):
    """What transfers are sorted by."""

    STARTED = "started"
    THROUGHPUT = "throughput"
    MOVED = "moved"
    DURATION = "duration"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferFilter:
    """A filter of transfers; ``None`` : any. They started from ``since`` (included) to ``until`` (excluded).

    ``sources``, ``destinations`` : names of endpoints; a transfer has one of them.
    """

    state: TransferState | None = None
    sources: Collection[str] | None = None
    destinations: Collection[str] | None = None
    sla: SlaKind | None = None
    result: TransferResult | None = None
    key_ids: Collection[UUID] | None = None
    since: datetime | None = None
    until: datetime | None = None


ANY_TRANSFER = TransferFilter()

MOST_SORTED = 50_000
"""Newest transfers that a list sorts by a value: it has no index, and the cost of a page stays bounded."""


class TransferRepository(Protocol):
    """Transfers of one tenant and their samples; a port because the application may not import persistence."""

    def note(self, news: Collection[TransferNews]) -> None:
        """Add or update transfers, and lock them until the end of the transaction."""

    def add(self, news: Collection[TransferBeats]) -> int:
        """Store samples of noted transfers; return how many were new.

        A later sample replaces an earlier one of the same sequence.
        """

    def advance(self, transfer_ids: Collection[UUID]) -> Mapping[UUID, int]:
        """Return by transfer the sequence up to which all samples are stored; a gap stops it."""

    def find_sla(self, transfer_id: UUID) -> Sla | None:
        """Return the SLA of a noted transfer, if it is known."""

    def list_requests(self, link_id: UUID, since: datetime) -> Sequence[RequestedSla]:
        """Return the SLAs of the newest transfers over a link that have ended and began since then."""

    def is_logged(self, record: WireRecord) -> bool:
        """Return whether a row of the logs has the same end as the record."""

    def end(self, transfer_id: UUID, end: TransferEnd) -> datetime:
        """Mark a noted transfer as ended, unless it is; return when it first ended."""

    def end_unlogged(
        self, transfer_id: UUID, status: Status, failure: WireFailure | None = None, *, at: datetime
    ) -> datetime | None:
        """Mark a transfer as ended, unless it is; return when it ended, ``None`` for an unknown one."""

    def find_energy_leads(self, known: Collection[TransferSummary]) -> Mapping[UUID, float]:
        """Return the joules below their energy SLA, of those of the transfers whose last stored tick was metered."""
