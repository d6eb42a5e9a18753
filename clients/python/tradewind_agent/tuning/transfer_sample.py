"""One sample of a running transfer, as this host takes it.

`tradewind_agent.tuning.wire_ticks` turns it into the heartbeat that a service reads.
"""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, NamedTuple

from tradewind.energy.ends import LivePower
from tradewind.energy.measured import EnergyMethod, EnergyQuality, Host
from tradewind.parameters import Parameters
from tradewind.record_document import format_instant, list_known
from tradewind.transfer import ResourceUsage
from tradewind.tuning.sample import ChunkProgress, TickSample
from tradewind_agent.session.plan_request import PlanRequest


class MeteredEnd(NamedTuple):
    """Power of one metered end in the tick, W."""

    host: Host
    power_w: float
    method: EnergyMethod | None = None
    quality: EnergyQuality | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferSample:
    """One tick; sequence 0 precedes the first byte. Names and units are those of `tradewind.wire.heartbeats.Heartbeat`.

    ``request`` : the request for the recommendation, which goes with each heartbeat.
    ``power_w`` : of this end; ``power_ends`` names it, and the other end where that is metered.
    """

    sequence: int
    at: datetime
    interval_s: float
    bytes_moved: int
    throughput_bps: float
    remaining_bytes: int
    remaining_files: int
    parameters: Parameters
    rtt_s: float | None = None
    min_rtt_s: float | None = None
    settled_rtt_s: float | None = None
    sent_bytes: int | None = None
    retransmitted_bytes: int | None = None
    power_w: float | None = None
    power_method: EnergyMethod | None = None
    power_quality: EnergyQuality | None = None
    power_ends: tuple[MeteredEnd, ...] = ()
    usage: ResourceUsage | None = None
    chunks: tuple[ChunkProgress, ...] = ()
    request: PlanRequest | None = None

    def to_tick_sample(self) -> TickSample:
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
            chunks=self.chunks,
        )

    def _list_live_power(self) -> tuple[LivePower, ...]:
        if self.power_ends:
            return tuple(LivePower(end.host, end.power_w) for end in self.power_ends)
        return () if self.power_w is None else (LivePower(None, self.power_w),)

    def build_document(self) -> dict[str, Any]:
        """Return the sample under its wire names, without the request; what is unknown is left out."""
        flat = {name: value for name in _FLAT if (value := getattr(self, name)) is not None}
        flat |= {
            "at": format_instant(self.at),
            "parameters": self.parameters.list_known(),
            "power_ends": [_drop_unknown(end._asdict()) for end in self.power_ends],
            "chunks": [_describe_chunk(chunk) for chunk in self.chunks],
        }
        if self.usage is not None:
            flat["usage"] = list_known(self.usage)
        return flat


_FLAT = tuple(field.name for field in fields(TransferSample) if field.name != "request")


def _describe_chunk(chunk: ChunkProgress) -> dict[str, Any]:
    return {
        "chunk": chunk.kind,
        "parameters": chunk.parameters.list_known(),
        "throughput_bps": chunk.throughput_bps,
        "remaining_bytes": chunk.remaining_bytes,
    }


def _drop_unknown(fields_by_name: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields_by_name.items() if value is not None}
