"""The online controller: what a running transfer should do next, decided from one sample a tick.

`begin` a transfer, `step` once a tick, `resume` when the state was lost; see `tradewind.tuning.controller`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tradewind.tuning.basis import Basis, ChunkBasis
    from tradewind.tuning.controller import begin, resume, step
    from tradewind.tuning.decision import Decision, DecisionKind
    from tradewind.tuning.opening import opened
    from tradewind.tuning.sample import ChunkProgress, Sample
    from tradewind.tuning.state import TuningState

__all__ = [
    "Basis",
    "ChunkBasis",
    "ChunkProgress",
    "Decision",
    "DecisionKind",
    "Sample",
    "TuningState",
    "begin",
    "opened",
    "resume",
    "step",
]

_HOME = {
    "Basis": "basis",
    "ChunkBasis": "basis",
    "ChunkProgress": "sample",
    "Decision": "decision",
    "DecisionKind": "decision",
    "Sample": "sample",
    "TuningState": "state",
    "begin": "controller",
    "opened": "opening",
    "resume": "controller",
    "step": "controller",
}


def __getattr__(name: str) -> Any:
    """Load public names when they are first used: who only carries samples to a service needs no controller."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
