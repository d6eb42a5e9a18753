"""Today's tools at their defaults by themselves, for a table whose other runs are to come.

A peer's run depends on the testbed alone: taken ahead, it waits for the row of every engine that is measured later.
"""

from collections.abc import Sequence

from benchmarks.testbed.peers import Peer
from benchmarks.wan.arena import Arena, Contender
from benchmarks.wan.cell_row import Plan
from benchmarks.wan.measuring import Measuring
from benchmarks.wan.runs import RunLog


def run_peers(arena: Arena, peers: Sequence[Peer], log: RunLog, plan: Plan) -> None:
    """Measure what ``log`` lacks of them, in turn, from another one on each time."""
    measure = Measuring(arena, log, plan)
    contenders = [Contender(name=peer.name, peer=peer) for peer in peers]
    for repeat in range(plan.repeats):
        for contender in contenders[repeat % len(contenders) :] + contenders[: repeat % len(contenders)]:
            measure.run(contender, f"repeat {repeat}", plan.cut_s)
