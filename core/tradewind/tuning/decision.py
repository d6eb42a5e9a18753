"""What a tick decides, and why."""

from dataclasses import dataclass
from enum import StrEnum

from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan


class DecisionKind(StrEnum):
    HOLD = "hold"
    """No better setting is known."""
    DWELL = "dwell"
    """The last change has not taken effect yet."""
    CONGESTION = "congestion"
    """Streams are given up because other transfers suffer."""
    RESTORE = "restore"
    """Streams are restored after quiet, or because giving them up did not help."""
    SLA_BELOW = "sla_below"
    """The SLA needs more."""
    SLA_ABOVE = "sla_above"
    """The SLA has room: energy is saved."""
    OPTIMISE = "optimise"
    """A better setting is known."""
    EXPLORE = "explore"
    """A better setting is searched for by trial."""
    CHANGE_DETECTED = "change_detected"
    """The path has changed."""
    FALLBACK = "fallback"
    """The table does not describe this path: from now on the controller searches by trial."""
    REDISTRIBUTE = "redistribute"
    """Channels of a finished chunk, or caps, are redistributed; streams that carry nothing are closed."""
    FINISH = "finish"
    """Nothing is left, or too little for a change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The plan from now on.

    ``sla_bank`` is the lead of the transfer over its SLA (negative: behind): bits for throughput and deadline, J for
    energy and power, 0 for kinds without a target.
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
        return sum(setting.streams for setting in self.settings)
