"""A finished transfer, as the log describes it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from tradewind.dataset import ChunkKind, DataSet
from tradewind.energy.measured import EnergyReading
from tradewind.failure import Failure
from tradewind.parameters import UNKNOWN_PARAMETERS, Parameters
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.quick_init import add_quick_init

RATE_TOLERANCE = 1.05
"""A measured rate may exceed the stated bandwidth by this much (rounding, buffers) before the row is refused."""


class Direction(StrEnum):
    DOWNLOAD = "download"
    UPLOAD = "upload"
    THIRD_PARTY = "third_party"


class Status(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Mover:
    """The program that moved the bytes; settings of one mover say little about another's."""

    name: str
    version: str | None = None


@add_quick_init
@dataclass(frozen=True, slots=True, kw_only=True)
class TransferOutcome:
    """How a transfer ended; ``failure`` : why it failed or was cancelled, where its agent says so."""

    status: Status
    bytes_moved: int
    files_done: int
    files_failed: int
    throughput_bps: float
    retransmitted_bytes: int | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceUsage:
    """Mean utilisation of the reporting host during the transfer, 0..1 each."""

    cpu: float | None = None
    memory: float | None = None
    disk: float | None = None
    nic: float | None = None


class LinkKey(NamedTuple):
    """The key that models are fitted for: source, destination, network label and mover."""

    source: str
    destination: str
    network: str | None
    mover: str


@add_quick_init
@dataclass(frozen=True, slots=True, kw_only=True)
class TransferRecord:
    """One row of the log. Rows of chunks and the row of their entire transfer are joined by ``transfer_id``.

    ``store`` : kind of the remote end, such as ``http``, ``s3`` or ``webdav``; ``None`` where it is not known.
    """

    id: UUID
    started_at: datetime
    ended_at: datetime
    source: str
    destination: str
    mover: Mover
    protocol: str
    direction: Direction
    dataset: DataSet
    outcome: TransferOutcome
    path: Path = UNKNOWN_PATH
    parameters: Parameters = UNKNOWN_PARAMETERS
    store: str | None = None
    network: str | None = None
    usage: ResourceUsage | None = None
    energy: tuple[EnergyReading, ...] = ()
    chunk: ChunkKind | None = None
    transfer_id: UUID | None = None
    sla: str | None = None
    quote: str | None = None

    @property
    def duration_s(self) -> float:
        return (self.ended_at - self.started_at).total_seconds()

    @property
    def link(self) -> LinkKey:
        return LinkKey(self.source, self.destination, self.network, self.mover.name)
