"""The controller on this host alone, for as long as no service answers: the same code that the service runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tradewind.dataset import SizeBin
from tradewind.parameters import NO_CAPS
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.sla.kinds import Sla
from tradewind.tuning import Basis, opened
from tradewind.wire.heartbeats import Heartbeat
from tradewind.wire.recommendations import RecommendRequest
from tradewind_agent.session.planning import Plan

if TYPE_CHECKING:
    from tradewind.tuning import Decision, TuningState


def build_basis(plan: Plan, enquiry: RecommendRequest, bins: Sequence[SizeBin]) -> Basis:
    """What a transfer is tuned on: the recommendation's compact tables, or none where the rules made the plan."""
    tables = {} if plan.answer is None else {kind: table.to_table() for kind, table in plan.answer.table.items()}
    sla: Sla = enquiry.sla.to_sla()
    path: Path = enquiry.to_path() if enquiry.path is not None else UNKNOWN_PATH
    return opened(
        sla=sla,
        plan=plan.chunks,
        tables=tables,
        bins=bins,
        path=path,
        caps=NO_CAPS if enquiry.limits is None else enquiry.limits.to_caps(),
        rate_limit_bps=enquiry.rate_limit_bps,
    )


@dataclass(slots=True)
class LocalController:
    """Decides by itself; forgets what it believed when the service has decided in between."""

    basis: Basis
    _state: "TuningState | None" = field(default=None, init=False)

    def decide(self, heartbeat: Heartbeat) -> "Decision":
        """The decision on one tick.

        Raises
        ------
        InvalidValue : a sample that no transfer can have.
        """
        from tradewind.tuning import begin, resume, step  # noqa: PLC0415 -- where a service answers it is never needed

        sample = heartbeat.to_sample()
        state = self._state
        if state is None or state.sequence != sample.sequence - 1:
            state = begin(self.basis) if sample.sequence == 0 else resume(self.basis, sample)
        self._state, decision = step(self.basis, state, sample)
        return decision

    def stand_by(self) -> None:
        """The service decides again."""
        self._state = None
