"""A tool as the tuning loop sees it."""

from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.movers.port import ToolProgress
from tradewind_agent.movers.wrap.driven_tool import DrivenTool


def plan(small, large):
    return (
        ChunkPlan(ChunkKind.SMALL, 1000, Parameters(concurrency=small, parallelism=1)),
        ChunkPlan(ChunkKind.LARGE, None, Parameters(concurrency=large, parallelism=4)),
    )


class Tool:
    """A run that has come half-way, and whose setting changes when its next command begins."""

    def __init__(self, setting):
        self.current_parameters, self.wanted = setting, None
        self.done = ToolProgress(0, 10)

    def measure_progress(self):
        return self.done

    def retune(self, chunks):
        self.wanted = Parameters(concurrency=sum(each.parameters.concurrency for each in chunks), parallelism=2)
        return True


def driven():
    clock = iter(range(100))
    return DrivenTool(plan(2, 1), [500] * 8 + [3000] * 2, clock_s=lambda: float(next(clock)))


def test_before_the_beginning_a_plan_is_simply_replaced():
    tool = driven()
    assert tool.setting == Parameters(concurrency=3, parallelism=2)
    tool.retune(plan(4, 2))
    assert tool.setting == Parameters(concurrency=6, parallelism=2)
    assert tool.take_snapshot().remaining_files == 10
    assert tool.take_snapshot().elapsed_s == 0.0


def test_moved_bytes_are_divided_among_chunks_by_their_bytes():
    tool, run = driven(), Tool(Parameters(concurrency=3))
    tool.note_started(run)
    run.done = ToolProgress(5000, 5)
    seen = tool.take_snapshot()
    assert [chunk.moved_bytes for chunk in seen.chunks] == [2000, 3000]
    assert [chunk.remaining_bytes for chunk in seen.chunks] == [2000, 3000]
    assert [chunk.remaining_files for chunk in seen.chunks] == [4, 1]
    run.done = ToolProgress(11_000, None)  # more than was listed
    assert (tool.take_snapshot().remaining_bytes, tool.take_snapshot().remaining_files) == (0, 0)


def test_plan_becomes_current_when_tool_runs_with_it():
    tool, run = driven(), Tool(Parameters(concurrency=3))
    tool.note_started(run)
    tool.retune(plan(4, 2))
    assert [chunk.parameters.concurrency for chunk in tool.take_snapshot().chunks] == [2, 1]
    run.current_parameters = run.wanted
    assert [chunk.parameters.concurrency for chunk in tool.take_snapshot().chunks] == [4, 2]
