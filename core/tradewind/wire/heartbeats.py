"""``POST /v1/transfers/{id}/heartbeats``: a sample of a live transfer, and the answer to it."""

from pydantic import Field

from tradewind.dataset import ChunkKind
from tradewind.energy import EnergyMethod, EnergyQuality
from tradewind.wire.base import Count, Instant, NonNegative, Open, Positive, Strict, Text
from tradewind.wire.records import WireParameters, WireUsage


class ChunkSample(Strict):
    chunk: ChunkKind
    parameters: WireParameters
    throughput_bps: NonNegative
    remaining_bytes: Count


class Heartbeat(Strict):
    """One tick; sequence 0 precedes the first byte and claims the share. Top-level concurrency sums the chunks."""

    sequence: Count
    at: Instant
    interval_s: NonNegative
    bytes_moved: Count
    throughput_bps: NonNegative
    remaining_bytes: Count
    remaining_files: Count
    parameters: WireParameters
    rtt_s: Positive | None = None
    min_rtt_s: Positive | None = None
    sent_bytes: Count | None = None
    retransmitted_bytes: Count | None = None
    power_w: NonNegative | None = None
    power_method: EnergyMethod | None = None
    power_quality: EnergyQuality | None = None
    usage: WireUsage | None = None
    chunks: tuple[ChunkSample, ...] = Field(default=(), max_length=4)


class ChunkDecision(Open):
    chunk: ChunkKind
    parameters: WireParameters


class HeartbeatAnswer(Open):
    parameters: WireParameters
    chunks: tuple[ChunkDecision, ...]
    changed: bool
    reason: Text
    sla_bank: float
    granted: bool
    journalled_sequence: int
    next_heartbeat_s: float
