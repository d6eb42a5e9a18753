"""The agent's tuning loop on a wrapped tool."""

from collections.abc import Callable
from dataclasses import dataclass

from tradewind.dataset import DataSet
from tradewind.path import Path
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.plan import PlannedCopy
from tradewind_agent.copy.tuning import build_tuning_for_sizes
from tradewind_agent.meters import MeterSession
from tradewind_agent.movers.port import ToolRun, Workload
from tradewind_agent.movers.wrap.driven_tool import DrivenTool
from tradewind_agent.movers.wrap.tool_connections import ToolConnections
from tradewind_agent.session.transfer_session import TransferSession
from tradewind_agent.tuning.loop import Tuning
from tradewind_agent.tuning.ticks import Tick


@dataclass(frozen=True, slots=True)
class TunedWork:
    """The work to tune: the plan with its request, the files, the options and the path.

    ``connections`` : of the tool, where they can be looked at, and end at the other end of the path.
    """

    planned: PlannedCopy
    workload: Workload
    options: CopyOptions
    path: Path
    connections: ToolConnections | None = None


class ToolLoop:
    """A loop and the tool that it drives."""

    def __init__(self, tuning: Tuning, driven: DrivenTool, connections: ToolConnections | None) -> None:
        self.driven, self.connections = driven, connections
        self._tuning = tuning

    @property
    def ticks(self) -> tuple[Tick, ...]:
        return tuple(self._tuning.ticks)

    @property
    def is_service_answering(self) -> bool:
        """Return whether the service has answered last, and so holds a share for the run."""
        return self._tuning.is_service_answering

    async def begin(self) -> None:
        """Claim a share, and begin with the plan that is granted."""
        await self._tuning.start(self.driven)

    def note_started(self, run: ToolRun) -> None:
        self.driven.note_started(run)

    async def run(self, meter: MeterSession | None) -> None:
        await self._tuning.run(self.driven, meter)

    def end(self, meter: MeterSession | None) -> None:
        self._tuning.finish(self.driven.take_snapshot(), meter)


def make_loop(work: TunedWork | None, session: TransferSession, *, say: Callable[[str], None]) -> ToolLoop | None:
    """Return the loop of a run before it starts; ``None`` if nothing is to be tuned."""
    if work is None:
        return None
    plan = work.planned.plan
    live = session.open_ticks(DataSet.of_sizes(work.workload.sizes_bytes), plan.parameters, work.path)
    tuning = build_tuning_for_sizes(
        work.planned,
        work.workload.sizes_bytes,
        work.options,
        sees_path=work.connections is not None,
        service=session.client,
        live=live,
        say=say,
    )
    if tuning is None:
        return None
    driven = DrivenTool(plan.chunks, work.workload.sizes_bytes, work.connections)
    return ToolLoop(tuning, driven, work.connections)
