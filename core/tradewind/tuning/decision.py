"""What a tick decides, and why."""

from dataclasses import dataclass
from enum import StrEnum

from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan


class DecisionKind(StrEnum):
    HOLD = "hold"
    """Nothing better is in sight."""
    DWELL = "dwell"
    """The last change has not had its time yet."""
    CONGESTION = "congestion"
    """Streams given up because others suffer."""
    RESTORE = "restore"
    """Streams taken back after quiet, or because giving them up did not help."""
    SLA_BELOW = "sla_below"
    """More is needed to keep the agreement."""
    SLA_ABOVE = "sla_above"
    """The agreement has room: energy is saved."""
    OPTIMISE = "optimise"
    """A better setting is known."""
    EXPLORE = "explore"
    """A better setting is sought by trying."""
    CHANGE_DETECTED = "change_detected"
    """The path is no longer what it was."""
    FALLBACK = "fallback"
    """The table does not describe this path: from here on by trying."""
    REDISTRIBUTE = "redistribute"
    """Channels of a finished chunk, or caps, are dealt anew; streams that carry nothing are retired."""
    FINISH = "finish"
    """Nothing is left, or too little to change anything for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The plan from now on.

    ``sla_bank`` is what the transfer is ahead of its agreement (below 0: behind): bits for throughput and deadline,
    J for energy and power, 0 for kinds without a target.
    """

    chunks: tuple[ChunkPlan, ...]
    changed: bool
    reason: str
    kind: DecisionKind
    sla_bank: float = 0.0

    @property
    def settings(self) -> tuple[Parameters, ...]:
        return tuple(chunk.parameters for chunk in self.chunks)

    @property
    def streams(self) -> int:
        return sum(each.streams for each in self.settings)
