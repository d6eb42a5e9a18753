"""Samples and ticks of this host as the service reads them; only a copy with a service loads this module."""

from typing import Any

from tradewind.wire.heartbeats import (
    ChunkDecision,
    ChunkSample,
    EndPowerSample,
    Heartbeat,
    RequestedShare,
    SpooledHeartbeat,
)
from tradewind.wire.recommendations import to_wire_parameters
from tradewind.wire.records import WireUsage
from tradewind_agent.tuning.share import ShareOfUser
from tradewind_agent.tuning.ticks import Tick
from tradewind_agent.tuning.transfer_sample import TransferSample

_SAME = (
    "sequence",
    "at",
    "interval_s",
    "bytes_moved",
    "throughput_bps",
    "remaining_bytes",
    "remaining_files",
    "rtt_s",
    "min_rtt_s",
    "settled_rtt_s",
    "sent_bytes",
    "retransmitted_bytes",
    "power_w",
    "power_method",
    "power_quality",
)
_USAGE = ("cpu", "memory", "disk", "nic")


def to_heartbeat(sample: TransferSample, *, claimed: ShareOfUser | None = None, has_request: bool = True) -> Heartbeat:
    """Return the heartbeat of one sample.

    Parameters
    ----------
    claimed : the share that the user's settings need, whatever is decided.
    has_request : whether the request for the recommendation goes with it.
    """
    fields: dict[str, Any] = {name: value for name in _SAME if (value := getattr(sample, name)) is not None}
    if sample.usage is not None:
        fields["usage"] = WireUsage(**{name: getattr(sample.usage, name) for name in _USAGE})
    if claimed is not None:
        fields["wanted"] = RequestedShare(concurrency=claimed.concurrency, streams=claimed.streams)
    if has_request and sample.request is not None:
        fields["enquiry"] = sample.request.to_wire()
    return Heartbeat(
        parameters=to_wire_parameters(sample.parameters),
        power_ends=tuple(EndPowerSample(**end._asdict()) for end in sample.power_ends),
        chunks=tuple(
            ChunkSample(
                chunk=chunk.kind,
                parameters=to_wire_parameters(chunk.parameters),
                throughput_bps=chunk.throughput_bps,
                remaining_bytes=chunk.remaining_bytes,
            )
            for chunk in (() if claimed is not None and claimed.is_all else sample.chunks)
        ),
        **fields,
    )


def to_spooled(tick: Tick) -> SpooledHeartbeat:
    """Return the tick as the spool stores it for the service; only the first one carries the request."""
    return SpooledHeartbeat(
        heartbeat=to_heartbeat(tick.sample, has_request=tick.sequence == 0),
        chunks=tuple(
            ChunkDecision(chunk=chunk.chunk, parameters=to_wire_parameters(chunk.parameters))
            for chunk in tick.verdict.chunks
        ),
        changed=tick.verdict.changed,
        kind=tick.verdict.kind,
        reason=tick.verdict.reason,
        sla_bank=tick.verdict.sla_bank,
    )
