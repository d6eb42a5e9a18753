"""The online controller: what a running transfer should do next, decided from one sample a tick.

`begin` a transfer, `step` once a tick, `resume` when the state was lost; see `tradewind.tuning.controller`.
"""

from typing import TYPE_CHECKING

from tradewind.public_names import load_lazily

if TYPE_CHECKING:
    from tradewind.tuning.basis import Basis, ChunkBasis
    from tradewind.tuning.controller import begin, resume, step
    from tradewind.tuning.decision import Decision, DecisionKind
    from tradewind.tuning.recommended_basis import prepare_basis
    from tradewind.tuning.sample import ChunkProgress, TickSample
    from tradewind.tuning.state import TuningState

__all__ = [
    "Basis",
    "ChunkBasis",
    "ChunkProgress",
    "Decision",
    "DecisionKind",
    "TickSample",
    "TuningState",
    "begin",
    "prepare_basis",
    "resume",
    "step",
]

# Who only carries samples to a service needs no controller.
__getattr__ = load_lazily(
    __name__,
    {
        "basis": ("Basis", "ChunkBasis"),
        "controller": ("begin", "resume", "step"),
        "decision": ("Decision", "DecisionKind"),
        "recommended_basis": ("prepare_basis",),
        "sample": ("ChunkProgress", "TickSample"),
        "state": ("TuningState",),
    },
)
