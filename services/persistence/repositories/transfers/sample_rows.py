"""Convert a heartbeat with its decision to a row of ``transfer_samples``, and back."""

from typing import Any

from sqlalchemy import Row

from tradewind.wire.heartbeats import SpooledHeartbeat
from tradewind.wire.transfers import SampleDecision, TransferSample

_SAME_IN_A_HEARTBEAT = (
    "sequence", "at", "interval_s", "bytes_moved", "throughput_bps", "remaining_bytes", "remaining_files",
    "rtt_s", "min_rtt_s", "sent_bytes", "retransmitted_bytes", "power_w", "power_method", "power_quality",
)  # fmt: skip
_USAGE = ("cpu", "memory", "disk", "nic")


def to_sample_values(beat: SpooledHeartbeat) -> dict[str, Any]:
    heartbeat = beat.heartbeat
    return {
        **{name: getattr(heartbeat, name) for name in _SAME_IN_A_HEARTBEAT},
        **{f"usage_{part}": getattr(heartbeat.usage, part, None) for part in _USAGE},
        "parameters": heartbeat.parameters.model_dump(exclude_none=True),
        "chunks": [each.model_dump(mode="json", exclude_none=True) for each in heartbeat.chunks],
        "decided_chunks": [each.model_dump(mode="json", exclude_none=True) for each in beat.chunks],
        "changed": beat.changed,
        "kind": beat.kind,
        "reason": beat.reason,
        "sla_bank": beat.sla_bank,
    }


def to_sample(row: Row[Any]) -> TransferSample:
    usage = {part: getattr(row, f"usage_{part}") for part in _USAGE}
    decision = SampleDecision(
        chunks=row.decided_chunks, changed=row.changed, kind=row.kind, reason=row.reason, sla_bank=row.sla_bank
    )
    return TransferSample(
        **{name: getattr(row, name) for name in _SAME_IN_A_HEARTBEAT},
        usage=usage if any(value is not None for value in usage.values()) else None,
        parameters=row.parameters,
        chunks=row.chunks,
        decision=decision,
    )
