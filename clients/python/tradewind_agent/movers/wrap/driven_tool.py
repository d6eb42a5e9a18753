"""A tool as the tuning loop sees it: it has a plan, reports its progress and accepts another plan.

A tool has one setting and one queue for all files. What it has moved is dealt to the chunks by their bytes, as if files
of all sizes progressed equally.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan, combine_settings
from tradewind_agent.engine.path_sample import PathSample
from tradewind_agent.engine.progress import ChunkSnapshot, Snapshot
from tradewind_agent.movers.port import ToolProgress, ToolRun
from tradewind_agent.movers.wrap.tool_connections import ToolConnections
from tradewind_agent.session.planning import find_chunk

_UNKNOWN_PATH = PathSample(
    rtt_s=None, min_rtt_s=None, first_byte_s=None, min_first_byte_s=None, sent_bytes=0, retransmitted_bytes=0
)
"""The connections are the tool's own, and are not watched."""


@dataclass(frozen=True, slots=True)
class _Share:
    """What of the work falls to a chunk."""

    files: int
    total_bytes: int


class DrivenTool:
    """One run of a tool, before and after its start.

    Parameters
    ----------
    plan : the run is to begin with; each retuning before the beginning replaces it.
    sizes_bytes : of the files to move.
    connections : of the tool, where they can be looked at.
    """

    def __init__(
        self,
        plan: Sequence[ChunkPlan],
        sizes_bytes: Sequence[int],
        connections: ToolConnections | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.plan = tuple(plan)
        self._connections = connections
        self._next: tuple[ChunkPlan, ...] | None = None
        self._clock_s = clock_s
        self._run: ToolRun | None = None
        self._started_s = 0.0
        sizes: dict[ChunkKind, list[int]] = {each.chunk: [] for each in plan}
        for size in sizes_bytes:
            sizes[find_chunk(plan, size).chunk].append(size)
        self._shares = {kind: _Share(len(each), sum(each)) for kind, each in sizes.items()}
        self._total = _Share(len(sizes_bytes), sum(sizes_bytes))

    @property
    def setting(self) -> Parameters:
        """Return the one setting that ``plan`` comes to."""
        return combine_settings([each.parameters for each in self.plan])

    def note_started(self, run: ToolRun) -> None:
        """``run`` starts now, with ``setting``."""
        self._run, self._started_s = run, self._clock_s()

    def retune(self, plan: Sequence[ChunkPlan]) -> bool:
        """Go on with ``plan``, as soon as the tool can; false where it cannot."""
        if self._run is None:
            self.plan = tuple(plan)
        elif self._run.retune(plan):
            self._next = tuple(plan)
        else:
            return False
        return True

    def take_snapshot(self) -> Snapshot:
        """Return the progress, with the current plan."""
        self._adopt_plan()
        run = self._run
        progress = run.measure_progress() if run is not None else ToolProgress(0, self._total.files)
        moved_share = min(progress.bytes_moved / self._total.total_bytes, 1.0) if self._total.total_bytes else 0.0
        files = self._total.files
        left = progress.files_left if progress.files_left is not None else round(files * (1 - moved_share))
        path, connections = (_UNKNOWN_PATH, 0) if self._connections is None else self._connections.sample()
        return Snapshot(
            elapsed_s=self._clock_s() - self._started_s if run is not None else 0.0,
            chunks=tuple(
                self._build_chunk(each, moved_share, min(left / files, 1.0) if files else 0.0) for each in self.plan
            ),
            path=path,
            open_connections=connections,
        )

    def _adopt_plan(self) -> None:
        """Adopt a plan that waited for the tool's next run, once the tool runs with it."""
        if self._next is None or self._run is None:
            return
        new_parameters = combine_settings([each.parameters for each in self._next])
        if all(
            getattr(new_parameters, name) == value for name, value in self._run.current_parameters.list_known().items()
        ):
            self.plan, self._next = self._next, None

    def _build_chunk(self, plan: ChunkPlan, moved_share: float, left_share: float) -> ChunkSnapshot:
        share = self._shares.get(plan.chunk, _Share(0, 0))
        moved_bytes = round(share.total_bytes * moved_share)
        remaining_files = round(share.files * left_share)
        return ChunkSnapshot(
            chunk=plan.chunk,
            parameters=plan.parameters,
            moved_bytes=moved_bytes,
            remaining_bytes=share.total_bytes - moved_bytes,
            remaining_files=remaining_files,
            files_done=share.files - remaining_files,
            files_skipped=0,
            files_failed=0,
            finished_s=None,
        )
