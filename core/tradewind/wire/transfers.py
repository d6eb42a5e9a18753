"""``GET /v1/transfers`` and ``/v1/transfers/{id}``: transfers live and past, with samples and decisions."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from tradewind.energy.measured import EnergyMethod, EnergyQuality
from tradewind.failure import FailureKind
from tradewind.recommendation import AnswerSource
from tradewind.transfer import Status
from tradewind.wire.base import Open
from tradewind.wire.heartbeats import ChunkDecision, ChunkSample
from tradewind.wire.recommendations import WirePrediction
from tradewind.wire.records import WireEnergy, WireParameters, WireUsage


class TransferState(StrEnum):
    LIVE = "live"
    """A heartbeat came within the last three ticks."""
    SILENT = "silent"
    """Neither a heartbeat nor its end came; its share of caps went to others."""
    ENDED = "ended"
    """Its agent has reported its end."""


class TransferSummary(Open):
    """A transfer as far as it was reported.

    ``started_at`` : when the service first heard of it, or, where that was its end, the start of its record.
    ``sequence`` : of the last heartbeat, −1 for none; ``journalled_sequence`` : up to which all are stored.
    ``throughput_bps`` : of the last tick, or the mean once it has ended. ``status`` : once it has ended.
    ``energy_j`` : of the ends that were metered, once it has ended. ``agreement_kept`` : of an SLA with a target.
    ``failure_kind``, ``failure`` : why it failed or was cancelled, where its agent says so.
    ``agreement_promised`` : whether the service could promise at its begin what was asked for, where it was asked.
    """

    transfer_id: UUID
    state: TransferState
    source: str
    destination: str
    network: str | None = None
    mover: str
    sla: str | None = None
    file_count: int
    total_bytes: int
    started_at: datetime
    last_heartbeat_at: datetime | None = None
    ended_at: datetime | None = None
    status: Status | None = None
    sequence: int
    journalled_sequence: int
    bytes_moved: int
    throughput_bps: float | None = None
    energy_j: float | None = None
    agreement_kept: bool | None = None
    agreement_promised: bool | None = None
    failure_kind: FailureKind | None = None
    failure: str | None = None


class ExpectedOutcome(Open):
    """What the service expected of a transfer as it started.

    ``probability`` : of keeping what was asked for. ``feasible`` : whether that could be promised.
    ``target_bps`` : what a share of the certifiable maximum came to.
    """

    predicted: WirePrediction
    probability: float
    feasible: bool | None = None
    target_bps: float | None = None
    source: AnswerSource
    release: int | None = None
    rationale: str


class SampleDecision(Open):
    """What was decided on a sample, and why; ``chunks`` are the parameters from then on."""

    chunks: tuple[ChunkDecision, ...]
    changed: bool
    kind: str
    reason: str
    sla_bank: float | None = None


class TransferSample(Open):
    """One tick as its heartbeat reported it.

    ``bytes_moved``, ``sent_bytes`` and ``retransmitted_bytes`` count since the transfer began, ``throughput_bps`` is of
    the tick.
    """

    sequence: int
    at: datetime
    interval_s: float
    bytes_moved: int
    throughput_bps: float
    remaining_bytes: int
    remaining_files: int
    rtt_s: float | None = None
    min_rtt_s: float | None = None
    sent_bytes: int | None = None
    retransmitted_bytes: int | None = None
    power_w: float | None = None
    power_method: EnergyMethod | None = None
    power_quality: EnergyQuality | None = None
    usage: WireUsage | None = None
    parameters: WireParameters
    chunks: tuple[ChunkSample, ...]
    decision: SampleDecision


class TransferTimeline(Open):
    """A transfer, the request that its recommendation answered, and samples in the order of their sequence.

    ``expected`` : absent where no heartbeat reported its start. ``duration_s``, ``energy`` : as its record has
    them, once it has ended; one reading an end that was metered.
    """

    transfer: TransferSummary
    enquiry: dict[str, Any] | None = None
    expected: ExpectedOutcome | None = None
    duration_s: float | None = None
    energy: tuple[WireEnergy, ...] = ()
    samples: tuple[TransferSample, ...]
