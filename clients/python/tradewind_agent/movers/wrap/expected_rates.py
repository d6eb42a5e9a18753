"""What each setting of a tool is expected to move: by the recommendation's table, else by the prior."""

from collections.abc import Callable

from tradewind.dataset import DataSet
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.tuning.expectation import Expectation, to_point
from tradewind.unknown_path import prior
from tradewind.unknown_path.rules import fill_in_assumptions
from tradewind_agent.movers.port import Workload
from tradewind_agent.session.planning import Plan


def build_expected_rates(plan: Plan, workload: Workload, path: Path) -> Callable[[Parameters], float]:
    """Return the expected throughput of a setting for all files, bit/s.

    A table is of one chunk; where the plan has several, a tool's one setting for all of them is in none.
    """
    tables = [] if plan.answer is None else [each.to_table() for each in plan.answer.table.values()]
    if len(plan.chunks) == 1 and len(tables) == 1 and tables[0].predicted.settings:
        expectation = Expectation(tables[0].predicted)
        return lambda parameters: expectation.predict_performance(*to_point(parameters)).throughput_bps
    known, dataset = fill_in_assumptions(path), DataSet.of_sizes(workload.sizes_bytes)
    return lambda parameters: prior.predict_throughput_bps(known, dataset, parameters, 0.0)
