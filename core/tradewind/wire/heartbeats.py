"""``POST /v1/transfers/{id}/heartbeats`` and ``…/complete``: samples of a live transfer, the answers, and its end."""

from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from tradewind.dataset import ChunkKind
from tradewind.energy.ends import LivePower
from tradewind.energy.measured import EnergyMethod, EnergyQuality, Host
from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.transfer import Status
from tradewind.tuning import ChunkProgress, TickSample
from tradewind.wire.base import AtLeastOne, Count, Instant, Name, NonNegative, Open, Positive, Strict, Text
from tradewind.wire.recommendations import RecommendRequest
from tradewind.wire.records import WireFailure, WireParameters, WireRecord, WireUsage

MAX_CHUNKS = 4
MAX_ENDS = len(Host)
MAX_LATE_HEARTBEATS = 20_000
"""Heartbeats that may come with a completion; more come in several."""

MAX_SEQUENCE = 50_000_000
"""A heartbeat a second for a year and a half."""

CACHED_SETTINGS = 10_000
"""Settings that are made ready once for all heartbeats that tell them."""

Sequence = Annotated[int, Field(ge=0, le=MAX_SEQUENCE)]


class ChunkSample(Strict):
    chunk: ChunkKind
    parameters: WireParameters
    throughput_bps: NonNegative
    remaining_bytes: Count


class EndPowerSample(Strict):
    """Power of one metered end in the tick, W; an end without one was not measured, which is never zero."""

    host: Host
    power_w: NonNegative
    method: EnergyMethod | None = None
    quality: EnergyQuality | None = None


class RequestedShare(Strict):
    """Files and streams at once that a transfer keeps to, because its user has set them."""

    concurrency: AtLeastOne
    streams: AtLeastOne


class GrantedShare(Open):
    """Files and streams at once that a transfer may use now; ``None`` where no cap is set."""

    concurrency: int | None = None
    streams: int | None = None


class Heartbeat(Strict):
    """One tick; sequence 0 precedes the first byte and claims the share. Top-level concurrency sums the chunks.

    ``bytes_moved``, ``sent_bytes`` and ``retransmitted_bytes`` count since the transfer began, ``throughput_bps`` is of
    the tick.

    ``enquiry`` is what the recommendation answered. With it each heartbeat stands for itself: a session that the
    service lost is made again from it. ``wanted`` is claimed whatever is decided. A transfer that follows no decision
    names no ``chunks``: it asks for its share alone.

    ``power_w`` is of the end that sends the heartbeat. ``power_ends`` names that end, and the other one where its
    server reports its meter; without it ``power_w`` is of one end, nobody knows which.

    ``settled_rtt_s`` is the round trip that half of the samples within the tick share to 1 %: that of the path without
    a queue. It is absent where they differ.
    """

    sequence: Sequence
    at: Instant
    interval_s: NonNegative
    bytes_moved: Count
    throughput_bps: NonNegative
    remaining_bytes: Count
    remaining_files: Count
    parameters: WireParameters
    rtt_s: Positive | None = None
    min_rtt_s: Positive | None = None
    settled_rtt_s: Positive | None = None
    sent_bytes: Count | None = None
    retransmitted_bytes: Count | None = None
    power_w: NonNegative | None = None
    power_method: EnergyMethod | None = None
    power_quality: EnergyQuality | None = None
    power_ends: tuple[EndPowerSample, ...] = Field(default=(), max_length=MAX_ENDS)
    usage: WireUsage | None = None
    chunks: tuple[ChunkSample, ...] = Field(default=(), max_length=MAX_CHUNKS)
    wanted: RequestedShare | None = None
    enquiry: RecommendRequest | None = None

    def to_sample(self) -> TickSample:
        """Return the tick in the words of the controller.

        Raises
        ------
        InvalidValue : a value that no transfer can have.
        """
        return TickSample(
            sequence=self.sequence,
            at_s=self.at.timestamp(),
            interval_s=self.interval_s,
            bytes_moved=self.bytes_moved,
            throughput_bps=self.throughput_bps,
            remaining_bytes=self.remaining_bytes,
            remaining_files=self.remaining_files,
            rtt_s=self.rtt_s,
            min_rtt_s=self.min_rtt_s,
            settled_rtt_s=self.settled_rtt_s,
            sent_bytes=self.sent_bytes,
            retransmitted_bytes=self.retransmitted_bytes,
            power_w=self.power_w,
            power_ends=self._list_live_power(),
            chunks=tuple(
                [
                    ChunkProgress(
                        kind=chunk.chunk,
                        parameters=_build_setting(*vars(chunk.parameters).values()),
                        throughput_bps=chunk.throughput_bps,
                        remaining_bytes=chunk.remaining_bytes,
                    )
                    for chunk in self.chunks
                ]
            ),
        )

    def _list_live_power(self) -> tuple[LivePower, ...]:
        if self.power_ends:
            return tuple([LivePower(end.host, end.power_w) for end in self.power_ends])
        return () if self.power_w is None else (LivePower(None, self.power_w),)


@lru_cache(maxsize=CACHED_SETTINGS)
def _build_setting(*values: Any) -> Parameters:
    """Parameters in the order of their fields; transfers tell the same few tick after tick."""
    return Parameters(**dict(zip(WireParameters.model_fields, values, strict=True)))


class ChunkDecision(Open):
    chunk: ChunkKind
    parameters: WireParameters


class HeartbeatAnswer(Open):
    """What to do until the next tick.

    ``granted`` : whether the transfer may run; until then it waits before its first byte. ``share`` : what it may use;
    what its user has set beyond it is cut.
    ``journalled_sequence`` : every heartbeat up to this one is stored for good; −1 for none. Later ones are kept by the
    agent and come again with the completion.
    """

    sequence: int
    parameters: WireParameters
    chunks: tuple[ChunkDecision, ...]
    changed: bool
    kind: str
    reason: str
    sla_bank: float
    granted: bool
    share: GrantedShare = GrantedShare()
    journalled_sequence: int
    next_heartbeat_s: float


class SpooledHeartbeat(Strict):
    """A heartbeat that the service may not have stored, and what was decided on it, by whomever."""

    heartbeat: Heartbeat
    chunks: tuple[ChunkDecision, ...] = Field(default=(), max_length=MAX_CHUNKS)
    changed: bool = False
    kind: Name = "hold"
    reason: Text = ""
    sla_bank: float | None = None


class Completion(Strict):
    """The end of a transfer: its records, of the chunks and of the whole, and the heartbeats not stored for good.

    Without records it has nothing to log; ``status`` is how it ended then, as far as heartbeats reported it, and
    ``failure`` why. With records, the outcome of the record has the failure.
    """

    records: tuple[WireRecord, ...] = Field(default=(), max_length=MAX_CHUNKS + 1)
    heartbeats: tuple[SpooledHeartbeat, ...] = Field(default=(), max_length=MAX_LATE_HEARTBEATS)
    status: Status = Status.CANCELLED
    failure: WireFailure | None = None

    @model_validator(mode="after")
    def _check_one_transfer(self) -> Self:
        if len({record.transfer_id for record in self.records}) > 1:
            raise InvalidValue("records", "are of more than one transfer")
        return self


class CompletionReceipt(Open):
    """What was stored: ``accepted`` records, and ``heartbeats`` that were new; ``rejected`` ones are in quarantine."""

    accepted: int
    rejected: int
    heartbeats: int
    ended_at: datetime
