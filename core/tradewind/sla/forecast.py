"""How a running transfer stands against its SLA: the time left at its present rate, and what that means."""

from enum import StrEnum
from typing import NamedTuple

from tradewind.sla.kinds import BOUNDED_ABOVE, Sla, SlaKind
from tradewind.sla.outcome import compute_required_throughput_bps
from tradewind.units import BITS_PER_BYTE


class Standing(StrEnum):
    """How a running transfer stands."""

    ON_TRACK = "on_track"
    AT_RISK = "at_risk"
    """At its present rate it misses the SLA."""
    LATE = "late"
    """Its deadline has passed."""


class TransferProgress(NamedTuple):
    """What a running transfer has reported last.

    ``elapsed_s`` : from its start to this report. ``throughput_bps`` : of its last tick, ``None`` before the first.
    ``energy_lead_j`` : joules below its energy budget so far, negative above it; ``None`` where nothing was metered.
    """

    total_bytes: int
    moved_bytes: int
    elapsed_s: float
    throughput_bps: float | None
    energy_lead_j: float | None = None

    @property
    def share(self) -> float:
        """Share of the bytes that were moved, 0 … 1."""
        return min(1.0, self.moved_bytes / self.total_bytes) if self.total_bytes else 1.0

    @property
    def left_s(self) -> float | None:
        """Time for the other bytes at the rate of the last tick, s; ``None`` where nothing moves."""
        left_bytes = max(0, self.total_bytes - self.moved_bytes)
        if not left_bytes:
            return 0.0
        return BITS_PER_BYTE * left_bytes / self.throughput_bps if self.throughput_bps else None


def judge_progress(sla: Sla, progress: TransferProgress, *, share_bps: float | None = None) -> Standing | None:
    """Return how a running transfer stands; ``None`` without a target, and before its first tick.

    A target of throughput or time counts for the entire transfer, so that the bytes to come are taken at the present
    rate. One of energy or power is judged by what was used so far.

    Parameters
    ----------
    share_bps : the rate that a share of the certifiable maximum stands for.
    """
    if sla.kind in BOUNDED_ABOVE:
        if progress.energy_lead_j is None:
            return None
        return Standing.ON_TRACK if progress.energy_lead_j >= 0 else Standing.AT_RISK
    required_bps = compute_required_throughput_bps(sla, total_bytes=progress.total_bytes, share_bps=share_bps)
    if required_bps is None or progress.throughput_bps is None:
        return None
    if sla.kind is SlaKind.DEADLINE and sla.target is not None and progress.elapsed_s > sla.target:
        return Standing.LATE
    left_s = progress.left_s
    if left_s is None:
        return Standing.AT_RISK
    total_s = progress.elapsed_s + left_s
    mean_bps = BITS_PER_BYTE * progress.total_bytes / total_s if total_s > 0 else progress.throughput_bps
    return Standing.ON_TRACK if mean_bps >= required_bps else Standing.AT_RISK
