"""The controller on this host, which decides while no service answers; it is the same code that the service runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tradewind.dataset import SizeBin
from tradewind.tuning import Basis, prepare_basis
from tradewind_agent.session.plan_request import PlanRequest
from tradewind_agent.session.planning import Plan
from tradewind_agent.tuning.transfer_sample import TransferSample

if TYPE_CHECKING:
    from tradewind.tuning import Decision, TuningState


def build_basis(plan: Plan, request: PlanRequest, bins: Sequence[SizeBin]) -> Basis:
    """Return the basis of tuning: the recommendation's compact tables, or none if the rules made the plan."""
    tables = {} if plan.answer is None else {kind: table.to_table() for kind, table in plan.answer.table.items()}
    return prepare_basis(
        sla=request.sla,
        plan=plan.chunks,
        tables=tables,
        bins=bins,
        path=request.path,
        caps=request.caps,
        rate_limit_bps=request.rate_limit_bps,
        adjustable=request.adjustable,
    )


@dataclass(slots=True)
class LocalController:
    """Decides on this host, and starts from a fresh state after the service has decided in between."""

    basis: Basis
    _state: "TuningState | None" = field(default=None, init=False)

    def decide(self, taken: TransferSample) -> "Decision":
        """Return the decision on one tick.

        Raises
        ------
        InvalidValue : a sample that no transfer can have.
        """
        from tradewind.tuning import begin, resume, step  # noqa: PLC0415 -- not needed while a service answers

        sample = taken.to_tick_sample()
        state = self._state
        if state is None or state.sequence != sample.sequence - 1:
            state = begin(self.basis) if sample.sequence == 0 else resume(self.basis, sample)
        self._state, decision = step(self.basis, state, sample)
        return decision

    def stand_by(self) -> None:
        """Forget the state, since the service decides again."""
        self._state = None
