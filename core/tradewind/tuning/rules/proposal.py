"""What one rule of the controller proposes, before it is cut to the limits."""

from collections.abc import Sequence
from typing import NamedTuple

from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind.tuning.basis import Basis
from tradewind.tuning.decision import DecisionKind
from tradewind.tuning.forecast import ActiveChunk
from tradewind.tuning.limits import First, SettingLimits
from tradewind.tuning.observation import Observation
from tradewind.tuning.state import TuningState

DWELL_S = 3.0
DWELL_ROUND_TRIPS = 10


class Proposal(NamedTuple):
    """Settings of the active chunks in their order, why, and what to remember.

    ``first`` is the axis that gives way where the settings exceed the limits.
    """

    state: TuningState
    kind: DecisionKind
    reason: str
    settings: tuple[Parameters, ...]
    first: First = First.PARALLELISM


def compute_dwell_s(seen: Observation) -> float:
    """Return the least time between two changes, and between a change and conclusions from it, s."""
    return max(DWELL_S, DWELL_ROUND_TRIPS * seen.rtt_s)


def build_limits(basis: Basis, state: TuningState, seen: Observation) -> SettingLimits:
    return SettingLimits(basis.caps, seen.files_left, state.limit.streams)


def build_plan(basis: Basis, active: Sequence[ActiveChunk], settings: Sequence[Parameters]) -> tuple[ChunkPlan, ...]:
    """Return the plan of the active chunks; the last one has no upper end."""
    plans = [
        ChunkPlan(chunk.basis.kind, chunk.basis.plan.max_file_bytes, parameters)
        for chunk, parameters in zip(active, settings, strict=True)
    ]
    if plans and plans[-1].chunk is not basis.chunks[-1].kind:
        plans[-1] = ChunkPlan(plans[-1].chunk, None, plans[-1].parameters)
    return tuple(plans)


def format_settings(settings: Sequence[Parameters]) -> str:
    """Format settings for a reason, such as ``8 × 2 streams`` or ``4 × 1 + 2 × 2 streams``."""
    return " + ".join([f"{setting.concurrency or 1} × {setting.parallelism or 1}" for setting in settings]) + " streams"
