"""Rounds of several tools, which take turns, and what each cost."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

from benchmarks.engine.running import Cost
from benchmarks.support.report import Value

Costs = Mapping[str, Sequence[Cost]]
"""The cost of each round by the tool's name."""


def run_alternately(runs: Mapping[str, Callable[[], Cost]], rounds: int) -> Costs:
    """Run each tool once a round, and return what it cost in each."""
    tools = list(runs.items())
    costs: dict[str, list[Cost]] = {name: [] for name in runs}
    for number in range(rounds + 1):  # the first round fills caches and is not counted
        first = number % len(tools)
        for name, run in (*tools[first:], *tools[:first]):  # none always runs behind the same other
            costs[name].append(run())
    return {name: found[1:] for name, found in costs.items()}


def make_cost_rows(case: str, costs: Costs) -> Iterator[dict[str, Value]]:
    """Yield the medians of each tool, and the most memory that it held."""
    for name, found in costs.items():
        yield {
            "case": f"{case}: {name}",
            "cpu_s": statistics.median(each.cpu_s for each in found),
            "wall_s": statistics.median(each.wall_s for each in found),
            "peak_rss_mb": max((each.peak_rss_mb for each in found if each.peak_rss_mb is not None), default=None),
        }
