"""Run today's tools at their defaults by themselves, for a table whose other runs follow later.

A peer's run depends on the testbed alone: made in advance, it serves the rows of all engines that are measured later.
"""

from benchmarks.wan.arena import Arena, Contender
from benchmarks.wan.cell_row import Plan
from benchmarks.wan.cell_runner import CellRunner
from benchmarks.wan.runs import RunLog


def run_peers(arena: Arena, log: RunLog, plan: Plan) -> None:
    """Measure the peers' runs that ``log`` lacks; each repeat starts with another peer."""
    runner = CellRunner(arena, log, plan)
    contenders = [Contender(name=peer.name, peer=peer) for peer in arena.cell.peers]
    for repeat in range(plan.repeats):
        for contender in contenders[repeat % len(contenders) :] + contenders[: repeat % len(contenders)]:
            runner.run(contender, f"repeat {repeat}", plan.cut_s)
